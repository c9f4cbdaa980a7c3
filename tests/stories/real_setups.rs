//! Work trees that are set up by the real package managers, each with one small package of its registry or of the
//! project itself. Those of npm and PyPI are installed below the target folder, once; bundler, composer and mix come
//! from Debian's packages, which root installs where the machine lacks them.
//!
//! With `SWITCHBOARD_REAL_SETUPS=1` a manager that can't be installed is a failure; with `CI=true` alone it is skipped
//! with a line.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use switchboard_process::env::{Env, var};
use switchboard_process::spawn::{Spawn, which};

use super::sandbox::Sandbox;

/// Managers from npm's registry.
const OF_NPM: [&str; 4] = ["pnpm@10.34.9", "yarn@1.22.22", "bun@1.3.14", "deno@2.9.6"];

/// Managers from PyPI.
const OF_PYPI: [&str; 5] = ["uv==0.13.9", "poetry==2.5.1", "pdm==2.29.4", "hishel[httpx2]==1.4.0", "pipenv==2026.10.3"];

/// Their programs.
const PROGRAMS_OF_PYPI: [&str; 4] = ["uv", "poetry", "pdm", "pipenv"];

/// Programs, and the packages of Debian that contain them.
const OF_DEBIAN: [(&str, &str); 3] = [("bundle", "bundler"), ("composer", "composer"), ("mix", "elixir")];

/// Time limit of an installation.
const INSTALL: Duration = Duration::from_secs(300);

const PACKAGE_JSON: &str =
    "{ \"name\": \"x\", \"version\": \"1.0.0\", \"private\": true, \"dependencies\": { \"is-number\": \"7.0.0\" } }\n";

const PIPFILE: &str = "[packages]\niniconfig = \"==2.1.0\"\n";

const PYPROJECT: &str = "[project]\nname = \"x\"\nversion = \"1.0.0\"\nrequires-python = \">=3.9\"\ndependencies = [\"iniconfig==2.1.0\"]\n";

/// A poetry project that installs a wheel inside it: poetry queries its registry in a way that not every mirror
/// supports.
const OF_POETRY: &str = "[project]\nname = \"x\"\nversion = \"1.0.0\"\nrequires-python = \">=3.9\"\ndynamic = [\"dependencies\"]\n\n\
                         [tool.poetry]\npackage-mode = false\n\n\
                         [tool.poetry.dependencies]\nown = { path = \"own-1.0.0-py3-none-any.whl\" }\n";

/// Script that makes that wheel.
const WHEEL: &str = "python3 - <<'END'
import base64, hashlib, zipfile
info = 'own-1.0.0.dist-info/'
files = {
    'own.py': '',
    info + 'METADATA': 'Metadata-Version: 2.1\\nName: own\\nVersion: 1.0.0\\n',
    info + 'WHEEL': 'Wheel-Version: 1.0\\nGenerator: story\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
}
digest = lambda text: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()
record = [f'{name},sha256={digest(text)},{len(text)}' for name, text in files.items()]
files[info + 'RECORD'] = '\\n'.join([*record, info + 'RECORD,,'])
with zipfile.ZipFile('own-1.0.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
END
poetry lock";

/// Script that makes a gem inside the project, and the lock file.
const GEM: &str = "mkdir -p own/lib && echo 'OWN = 1' > own/lib/own.rb
cat > own/own.gemspec <<'END'
Gem::Specification.new do |spec|
  spec.name = 'own'
  spec.version = '1.0.0'
  spec.summary = 'own'
  spec.authors = ['own']
  spec.files = ['lib/own.rb']
end
END
bundle lock";

const COMPOSER_JSON: &str = "{ \"name\": \"x/x\", \"require\": { \"own/own\": \"1.0.0\" },\n  \
                             \"repositories\": [{ \"type\": \"path\", \"url\": \"own\" }, { \"packagist.org\": false }] }\n";

/// Script that makes a PHP package inside the project, and the lock file.
const PACKAGE: &str = "mkdir -p own/src && echo '<?php namespace Own; class Own { const ONE = 1; }' > own/src/Own.php
cat > own/composer.json <<'END'
{ \"name\": \"own/own\", \"version\": \"1.0.0\", \"autoload\": { \"psr-4\": { \"Own\\\\\": \"src/\" } } }
END
echo /vendor/ >> .gitignore
composer update --no-install --no-interaction";

const MIX_EXS: &str = "defmodule X.MixProject do
  use Mix.Project
  def project, do: [app: :x, version: \"1.0.0\", deps: [{:own, git: \"OWN\"}]]
end
";

/// Script that makes a repository beside the project with a package of Elixir, and the lock file: mix fetches no
/// package that is inside the project.
const REPOSITORY: &str = "mkdir -p ../own/lib && echo 'defmodule Own do def one, do: 1 end' > ../own/lib/own.ex
cat > ../own/mix.exs <<'END'
defmodule Own.MixProject do
  use Mix.Project
  def project, do: [app: :own, version: \"1.0.0\"]
end
END
sed -i \"s|OWN|file://$(realpath ../own)|\" mix.exs
git -C ../own init --quiet && git -C ../own add --all
git -C ../own -c user.name=Own -c user.email=own@localhost commit --quiet --message own
printf '/_build/\n/deps/\n' >> .gitignore
mix deps.get && rm -rf deps";

/// A manager: how its lock file is made, and what proves that its packages are in a work tree.
struct Manager {
    name: &'static str,
    project: (&'static str, String),
    lock: (&'static str, &'static str),
    proof: &'static str,
}

fn managers() -> [Manager; 11] {
    let node = |name, lock| {
        let project = ("package.json", PACKAGE_JSON.to_owned());
        Manager { name, project, lock, proof: "node -e \"require('is-number')\"" }
    };
    let python = |name, text: &str, lock, proof| {
        let project = ("pyproject.toml", text.to_owned());
        Manager { name, project, lock, proof }
    };
    [
        node("pnpm", ("pnpm-lock.yaml", "pnpm install --lockfile-only")),
        node("yarn", ("yarn.lock", "yarn install --ignore-scripts")),
        node("bun", ("bun.lock", "bun install --lockfile-only")),
        node("deno", ("deno.lock", "deno install --quiet")),
        python("uv", PYPROJECT, ("uv.lock", "uv lock"), ".venv/bin/python -c 'import iniconfig'"),
        python("poetry", OF_POETRY, ("poetry.lock", WHEEL), ".venv/bin/python -c 'import own'"),
        python("pdm", PYPROJECT, ("pdm.lock", "pdm lock && rm .pdm-python"), ".venv/bin/python -c 'import iniconfig'"),
        Manager {
            name: "pipenv",
            project: ("Pipfile", PIPFILE.to_owned()),
            lock: ("Pipfile.lock", "pipenv lock"),
            proof: ".venv/bin/python -c 'import iniconfig'",
        },
        Manager {
            name: "bundle",
            project: ("Gemfile", "gem \"own\", path: \"own\"\n".to_owned()),
            lock: ("Gemfile.lock", GEM),
            proof: "bundle exec ruby -e \"require 'own'\" && test -d vendor/bundle",
        },
        Manager {
            name: "composer",
            project: ("composer.json", COMPOSER_JSON.to_owned()),
            lock: ("composer.lock", PACKAGE),
            proof: "php -r \"require 'vendor/autoload.php'; exit(Own\\Own::ONE - 1);\"",
        },
        Manager {
            name: "mix",
            project: ("mix.exs", MIX_EXS.to_owned()),
            lock: ("mix.lock", REPOSITORY),
            proof: "mix run -e '1 = Own.one()'",
        },
    ]
}

#[test]
fn every_package_manager_that_the_registries_carry_sets_up_a_work_tree() {
    let is_asked_for = var("SWITCHBOARD_REAL_SETUPS").is_some();
    if !is_asked_for && var("CI").as_deref() != Some("true") {
        return said("SWITCHBOARD_REAL_SETUPS=1 installs them");
    }
    let or_said = |why: String| {
        assert!(!is_asked_for, "{why}");
        said(&why);
    };
    let folders: Vec<_> = [of_npm(), of_pypi()].into_iter().filter_map(|there| there.map_err(or_said).ok()).collect();
    of_debian().unwrap_or_else(or_said);
    let path = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":");
    for manager in managers() {
        if folders.iter().any(|folder| folder.join(manager.name).exists()) || which(manager.name).is_some() {
            set_up(&manager, &path, is_asked_for);
        } else {
            or_said(format!("{} is neither on PATH nor installed from a registry", manager.name));
        }
    }
}

fn set_up(manager: &Manager, path: &str, is_asked_for: bool) {
    let Manager { name, project: (file, text), lock: (lock, make), proof } = manager;
    let mut sandbox = Sandbox::new();
    sandbox.set("PATH", &format!("{path}:{}", var("PATH").unwrap_or_default()));
    sandbox.write(".gitignore", "node_modules/\n.venv/\n.yarn/\n*.egg-info/\n");
    sandbox.write(file, text);
    let made = sandbox.run(["sh", "-c", make], &sandbox.root(), "");
    if made.code != 0 && !is_asked_for {
        // Its registry sends an unexpected answer, or none.
        return said(&format!("{name}: {}{}", made.out, made.err));
    }
    assert!(sandbox.root().join(lock).exists(), "{name} made no {lock}: {}{}", made.out, made.err);
    for made in ["node_modules", ".venv"] {
        let made = sandbox.root().join(made);
        if made.exists() {
            fs::remove_dir_all(made).unwrap();
        }
    }
    sandbox.commit("a project");
    let line = format!("{proof} && echo {name} > found.txt");
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["sh", "-c", line] } }]));

    let shown = sandbox.switchboard(&["run", &plan, "--dry-run"]).ends_with(0);
    let done = sandbox.switchboard(&["run", &plan, "--yes", "--merge"]).ends_with(0);

    assert!(shown.out.contains(name), "{name}: {}", shown.out);
    assert_eq!(sandbox.read("found.txt"), format!("{name}\n"), "{}", done.out);
    let tracked = sandbox.git(&["status", "--porcelain"]);
    assert_eq!(tracked, "", "{name} leaves what git does not ignore");
}

fn said(why: &str) {
    writeln!(std::io::stderr(), "skipped real set-ups: {why}").unwrap();
}

// === Where they are ===

/// Installs the managers of npm's registry; returns the folder of their programs.
fn of_npm() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("setup-npm");
    if which("npm").is_none() {
        return Err("npm is not on PATH".to_owned());
    }
    once(&folder, &OF_NPM, || {
        let options = ["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", "."];
        run(&folder, &[&options[..], &OF_NPM].concat())?;
        // The only script that must run: it installs the binary for this machine.
        run(&folder, &["node", "node_modules/bun/install.js"])
    })?;
    Ok(folder.join("node_modules/.bin"))
}

/// Installs the managers of PyPI; returns the folder of their programs.
fn of_pypi() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("setup-pypi");
    if which("python3").is_none() {
        return Err("python3 is not on PATH".to_owned());
    }
    once(&folder, &OF_PYPI, || {
        run(&folder, &["python3", "-m", "venv", "--clear", "venv"])?;
        run(&folder, &[&["venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"][..], &OF_PYPI].concat())?;
        // Separate from the interpreter of the environment, which must not become the project's.
        fs::create_dir_all(folder.join("bin")).map_err(|error| error.to_string())?;
        for program in PROGRAMS_OF_PYPI {
            let link = folder.join("bin").join(program);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(folder.join("venv/bin").join(program), link)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    })?;
    Ok(folder.join("bin"))
}

/// Installs the packages of Debian that the machine lacks.
fn of_debian() -> Result<(), String> {
    let lacks: Vec<_> =
        OF_DEBIAN.into_iter().filter(|(program, _)| which(program).is_none()).map(|(_, package)| package).collect();
    if lacks.is_empty() {
        return Ok(());
    }
    if which("apt-get").is_none() || !rustix::process::getuid().is_root() {
        return Err(format!("{} can be installed by root and apt-get only", lacks.join(", ")));
    }
    let apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--yes", "-o", "DPkg::Lock::Timeout=120"];
    let here = Path::new("/");
    run(here, &[&apt[..], &["update"]].concat())?;
    run(here, &[&apt[..], &["install", "--no-install-recommends"], &lacks].concat())
}

/// Runs an installation unless it was done for the same packages.
fn once(folder: &Path, packages: &[&str], install: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _installing = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (stamp, wanted) = (folder.join("installed"), packages.join(" "));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    install()?;
    fs::write(stamp, wanted).map_err(|error| error.to_string())
}

fn run(folder: &Path, argv: &[&str]) -> Result<(), String> {
    let proxies = ["HTTPS_PROXY", "NO_PROXY", "npm_config_registry", "npm_config_userconfig", "PIP_INDEX_URL"];
    let env = Env::plain().inherit(proxies);
    let output = Spawn::new(argv.iter().copied()).cwd(folder).env_only(env).wall(INSTALL).output();
    let output = output.map_err(|error| format!("{argv:?}: {error}"))?;
    match output.exit.code() {
        Some(0) => Ok(()),
        _ => Err(format!("{argv:?} failed: {}", output.stderr.text())),
    }
}
