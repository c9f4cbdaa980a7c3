//! `switchboard man`

use std::path::PathBuf;

use switchboard_protocol::error::Failure;

use crate::context::Context;
use crate::report::Outcome;

/// Write the manual pages of all commands into a folder
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder, such as ~/.local/share/man/man1; created if it is missing
    folder: PathBuf,
}

/// Writes one page for the program and one for each command.
pub(crate) fn run(args: &Args, command: clap::Command, context: &mut Context) -> Outcome {
    let folder = context.resolve(&args.folder);
    let denied = |error: &std::io::Error| {
        Failure::new("io.denied", "the manual pages can't be written").at(folder.display().to_string()).because(error)
    };
    std::fs::create_dir_all(&folder).map_err(|error| denied(&error))?;
    clap_mangen::generate_to(command, &folder).map_err(|error| denied(&error))?;
    context.out.line(match folder.parent() {
        Some(above) if folder.ends_with("man1") => format!("man -M {} switchboard", above.display()),
        _ => format!("man -l {}", folder.join("switchboard.1").display()),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory as _;

    use crate::args::Args;

    /// Collects the long flags of each page from the command line's definition.
    fn wanted(command: &clap::Command, page: &str, into: &mut BTreeMap<String, Vec<String>>) {
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let flags = shown.filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
        into.insert(format!("{page}.1"), flags);
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            wanted(below, &format!("{page}-{}", below.get_name()), into);
        }
    }

    #[test]
    fn every_command_has_a_page_that_names_its_flags_and_no_page_is_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Args::command().disable_help_subcommand(true);
        // Building copies the flags that all commands share to each command.
        command.build();
        let mut wanted_pages = BTreeMap::new();
        wanted(&command, "switchboard", &mut wanted_pages);

        clap_mangen::generate_to(Args::command(), folder.path()).unwrap();

        let pages =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages: std::collections::BTreeSet<_> = pages.collect();
        assert_eq!(pages, wanted_pages.keys().cloned().collect());
        assert!(pages.len() > 40 && pages.contains("switchboard-run.1"), "{pages:?}");
        for (page, flags) in wanted_pages {
            let text = std::fs::read_to_string(folder.path().join(&page)).unwrap().replace('\\', "");
            for flag in flags {
                assert!(text.contains(&flag), "{page} does not name {flag}");
            }
        }
    }
}
