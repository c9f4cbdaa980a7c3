//! Decides whether a designer prepares a task before its coder begins: it touches a user interface, or its phase
//! requires the role.

use switchboard_protocol::role::{RoleName, Zone};

use crate::roles::zone_of;
use crate::settings::Settings;

/// Extensions of files that describe a user interface.
const ENDINGS: [&str; 11] = ["astro", "css", "htm", "html", "jsx", "less", "sass", "scss", "svelte", "tsx", "vue"];

/// Folders with code of a user interface, by the conventions of web and mobile frameworks.
const FOLDERS: [&str; 7] = ["components", "layouts", "pages", "screens", "templates", "ui", "views"];

/// Returns true if a designer is asked before the work on a task. A command needs none, and `turbo` leaves it out
/// unless the phase requires the role.
#[must_use]
pub fn is_wanted(settings: &Settings) -> bool {
    let is_required = settings.required_roles.contains(&RoleName::Designer);
    let touches_interface = settings.files_touched.iter().any(|path| is_interface(path));
    settings.team && settings.command.is_none() && (is_required || (touches_interface && !settings.turbo))
}

/// Returns true if a path belongs to a user interface.
#[must_use]
pub fn is_interface(path: &str) -> bool {
    let lower = path.replace('\\', "/").to_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_named = ENDINGS.contains(&ending) || folders.split('/').any(|folder| FOLDERS.contains(&folder));
    is_named && zone_of(path) == Zone::Production
}

#[cfg(test)]
mod tests {
    use super::is_interface;

    #[test]
    fn an_interface_is_told_by_its_ending_or_its_folder_and_tests_and_documents_are_none() {
        for path in ["src/App.tsx", "site/style.css", "lib/ui/button.dart", "app/views/users/index.erb", "Page.vue"] {
            assert!(is_interface(path), "{path}");
        }
        for path in ["src/lib.rs", "views.py", "tests/pages/login.ts", "docs/index.html", "src/App.test.tsx", "css"] {
            assert!(!is_interface(path), "{path}");
        }
    }
}
