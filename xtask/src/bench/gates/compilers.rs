//! Compilers that decide which code is broken, and the location of code in their languages on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::library::files;
use super::setup::Bench;
use crate::command::{command, output};

/// A language with a compiler to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiler {
    Python,
    Node,
    Tsc,
    Rustc,
    Javac,
    Gofmt,
}

/// Python program that prints the names of the files of a folder that do not compile.
const PYTHON: &str = "import os, sys, warnings
warnings.simplefilter('ignore')
for name in os.listdir('.'):
    try:
        compile(open(name, 'rb').read(), name, 'exec', dont_inherit=True)
    except (SyntaxError, ValueError):
        print(name)";
/// Node program that prints the files that do not compile; Node wraps a script into a function.
const NODE: &str = "const fs = require('fs'), vm = require('vm');
for (const name of fs.readdirSync('.')) {
  try { vm.compileFunction(fs.readFileSync(name, 'utf8').replace(/^#!/, '//'), ['exports', 'require', 'module']); }
  catch (error) { console.log(name); }
}";
/// Node program that prints the TypeScript files with errors of the parser, and grammar errors of the checker.
const TSC: &str = "const ts = require(process.argv[1]), fs = require('fs');
const options = { noResolve: true, noLib: true, noEmit: true, target: 99, module: 99, moduleResolution: 100, types: [] };
for (const name of fs.readdirSync('.')) {
  const program = ts.createProgram([name], options), file = program.getSourceFile(name);
  const grammar = () => program.getSemanticDiagnostics(file).filter((found) => found.code >= 1000 && found.code < 2000);
  if (program.getSyntacticDiagnostics(file).length || grammar().length) console.log(name);
}";
/// Java program that prints the Java files that do not parse, each by itself.
const JAVAC: &str = "import com.sun.source.util.JavacTask;
import java.nio.file.*;
import java.util.*;
import javax.tools.*;
public class Parse {
    public static void main(String[] none) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        try (var files = Files.list(Path.of(\".\"))) {
            for (Path file : (Iterable<Path>) files::iterator) {
                var found = new DiagnosticCollector<JavaFileObject>();
                var sources = manager.getJavaFileObjects(file);
                ((JavacTask) compiler.getTask(null, manager, found, null, null, sources)).parse();
                if (found.getDiagnostics().stream().anyMatch(one -> one.getKind() == Diagnostic.Kind.ERROR))
                    System.out.println(file.getFileName());
            }
        }
    }
}";

// === impl Compiler ===

impl Compiler {
    pub(crate) const ALL: [Self; 6] = [Self::Python, Self::Node, Self::Tsc, Self::Rustc, Self::Javac, Self::Gofmt];

    /// Returns the language and the ending of its files.
    pub(crate) const fn language(self) -> (&'static str, &'static str) {
        match self {
            Self::Python => ("python", "py"),
            Self::Node => ("javascript", "js"),
            Self::Tsc => ("typescript", "ts"),
            Self::Rustc => ("rust", "rs"),
            Self::Javac => ("java", "java"),
            Self::Gofmt => ("go", "go"),
        }
    }

    /// Lists real files of the language; an error holds the reason that there are none.
    pub(crate) fn samples(self, bench: &Bench<'_>) -> anyhow::Result<Vec<PathBuf>> {
        let here = Path::new("/");
        let folder = match self {
            Self::Python => {
                first_line(here, "python3", &["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])?
            }
            Self::Node => first_line(here, "npm", &["root", "--global"])?,
            Self::Tsc => typescript(bench)?.join("rxjs/src"),
            Self::Rustc => std::env::home_dir().context("no home")?.join(".cargo/registry/src"),
            Self::Javac => java_sources(bench)?,
            Self::Gofmt => first_line(here, "go", &["env", "GOROOT"])?.join("src"),
        };
        files(&folder, self.language().1)
    }

    /// Returns the names of the files in a folder that do not parse.
    pub(crate) fn broken(self, bench: &Bench<'_>, folder: &Path) -> anyhow::Result<BTreeSet<String>> {
        let listed = |program: &str, args: &[&str]| lines(output(command(program, folder).args(args))?);
        match self {
            Self::Python => listed("python3", &["-c", PYTHON]),
            Self::Node => listed("node", &["-e", NODE]),
            Self::Tsc => listed("node", &["-e", TSC, &typescript(bench)?.join("typescript").display().to_string()]),
            Self::Rustc => one_by_one(folder, |name| {
                let mut rustc = command("rustc", folder);
                rustc.args(["-Zunpretty=normal", "--edition", "2021", name]).env("RUSTC_BOOTSTRAP", "1");
                rustc
            }),
            Self::Javac => {
                let source = bench.peers.join("Parse.java");
                fs::write(&source, JAVAC)?;
                listed("java", &[&source.display().to_string()])
            }
            Self::Gofmt => one_by_one(folder, |name| {
                let mut gofmt = command("gofmt", folder);
                gofmt.args(["-e", "-l", name]);
                gofmt
            }),
        }
    }
}

/// Returns the first line that a program prints, as a path.
fn first_line(folder: &Path, program: &str, args: &[&str]) -> anyhow::Result<PathBuf> {
    let out = String::from_utf8(output(command(program, folder).args(args))?)?;
    Ok(PathBuf::from(out.lines().next().context("it printed nothing")?))
}

fn lines(out: Vec<u8>) -> anyhow::Result<BTreeSet<String>> {
    Ok(String::from_utf8(out)?.lines().map(str::to_owned).collect())
}

fn one_by_one(folder: &Path, compile: impl Fn(&str) -> std::process::Command) -> anyhow::Result<BTreeSet<String>> {
    let mut broken = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !compile(&name).output()?.status.success() {
            broken.insert(name);
        }
    }
    Ok(broken)
}

/// Finds TypeScript, and a library written in it, where an earlier run put them, or installs both.
fn typescript(bench: &Bench<'_>) -> anyhow::Result<PathBuf> {
    let modules = bench.peers.join("npm/node_modules");
    if !modules.join("typescript").exists() {
        anyhow::ensure!(!bench.args.offline, "not in {}", modules.display());
        let folder = bench.peers.join("npm");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("package.json"), "{\"private\": true}")?;
        let packages = ["install", "--silent", "--ignore-scripts", "typescript@5", "rxjs@7"];
        output(command("npm", &folder).args(packages))?;
    }
    Ok(modules)
}

/// Unpacks the sources that come with a Java development kit.
fn java_sources(bench: &Bench<'_>) -> anyhow::Result<PathBuf> {
    let folder = bench.peers.join("java");
    if !folder.exists() {
        let java = output(command("sh", Path::new("/")).args(["-c", "readlink -f \"$(command -v javac)\""]))?;
        let javac = PathBuf::from(String::from_utf8(java)?.trim());
        let home = javac.ancestors().nth(2).context("javac lies in no development kit")?;
        let sources = home.join("lib/src.zip").canonicalize().context("no src.zip beside javac")?;
        fs::create_dir_all(&folder)?;
        output(command("unzip", &folder).args(["-q"]).arg(sources).arg("java.base/java/*"))?;
    }
    Ok(folder)
}
