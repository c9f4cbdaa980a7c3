//! Imports of Python.

use tree_sitter::Node;

use super::found::{Found, Import};
use super::manifests::{Manifests, plain};
use super::tree::{Tree, folder, join};

/// Modules whose packages have another name, with that name.
const PACKAGE_NAMES: [(&str, &str); 26] = [
    ("yaml", "pyyaml"),
    ("PIL", "pillow"),
    ("bs4", "beautifulsoup4"),
    ("sklearn", "scikit_learn"),
    ("skimage", "scikit_image"),
    ("cv2", "opencv_python"),
    ("dateutil", "python_dateutil"),
    ("dotenv", "python_dotenv"),
    ("jose", "python_jose"),
    ("jwt", "pyjwt"),
    ("OpenSSL", "pyopenssl"),
    ("Crypto", "pycryptodome"),
    ("MySQLdb", "mysqlclient"),
    ("psycopg2", "psycopg2_binary"),
    ("magic", "python_magic"),
    ("serial", "pyserial"),
    ("usb", "pyusb"),
    ("zmq", "pyzmq"),
    ("git", "gitpython"),
    ("github", "pygithub"),
    ("attr", "attrs"),
    ("pkg_resources", "setuptools"),
    ("google", "protobuf"),
    ("rest_framework", "djangorestframework"),
    ("_pytest", "pytest"),
    ("docx", "python_docx"),
];
/// Modules of the standard library, versions 3.8 to 3.14 (`sys.stdlib_module_names`).
const BUILT_IN: &[&str] = &[
    "__future__",
    "abc",
    "aifc",
    "annotationlib",
    "antigravity",
    "argparse",
    "array",
    "ast",
    "asynchat",
    "asyncio",
    "asyncore",
    "atexit",
    "audioop",
    "base64",
    "bdb",
    "binascii",
    "bisect",
    "builtins",
    "bz2",
    "cProfile",
    "calendar",
    "cgi",
    "cgitb",
    "chunk",
    "cmath",
    "cmd",
    "code",
    "codecs",
    "codeop",
    "collections",
    "colorsys",
    "compileall",
    "compression",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "crypt",
    "csv",
    "ctypes",
    "curses",
    "dataclasses",
    "datetime",
    "dbm",
    "decimal",
    "difflib",
    "dis",
    "distutils",
    "doctest",
    "email",
    "encodings",
    "ensurepip",
    "enum",
    "errno",
    "faulthandler",
    "fcntl",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "gc",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "graphlib",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "idlelib",
    "imaplib",
    "imghdr",
    "imp",
    "importlib",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "lib2to3",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "mailbox",
    "mailcap",
    "marshal",
    "math",
    "mimetypes",
    "mmap",
    "modulefinder",
    "msilib",
    "msvcrt",
    "multiprocessing",
    "netrc",
    "nis",
    "nntplib",
    "nt",
    "ntpath",
    "nturl2path",
    "numbers",
    "opcode",
    "operator",
    "optparse",
    "os",
    "ossaudiodev",
    "pathlib",
    "pdb",
    "pickle",
    "pickletools",
    "pipes",
    "pkgutil",
    "platform",
    "plistlib",
    "poplib",
    "posix",
    "posixpath",
    "pprint",
    "profile",
    "pstats",
    "pty",
    "pwd",
    "py_compile",
    "pyclbr",
    "pydoc",
    "pydoc_data",
    "pyexpat",
    "queue",
    "quopri",
    "random",
    "re",
    "readline",
    "reprlib",
    "resource",
    "rlcompleter",
    "runpy",
    "sched",
    "secrets",
    "select",
    "selectors",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "site",
    "smtpd",
    "smtplib",
    "sndhdr",
    "socket",
    "socketserver",
    "spwd",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "stringprep",
    "struct",
    "subprocess",
    "sunau",
    "symtable",
    "sys",
    "sysconfig",
    "syslog",
    "tabnanny",
    "tarfile",
    "telnetlib",
    "tempfile",
    "termios",
    "textwrap",
    "this",
    "threading",
    "time",
    "timeit",
    "tkinter",
    "token",
    "tokenize",
    "tomllib",
    "trace",
    "traceback",
    "tracemalloc",
    "tty",
    "turtle",
    "turtledemo",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "uu",
    "uuid",
    "venv",
    "warnings",
    "wave",
    "weakref",
    "webbrowser",
    "winreg",
    "winsound",
    "wsgiref",
    "xdrlib",
    "xml",
    "xmlrpc",
    "zipapp",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
];

pub(super) fn imports(root: Node<'_>, source: &str) -> Vec<Import> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        let text = |of: Node<'_>| source.get(of.byte_range()).unwrap_or("").to_owned();
        match node.kind() {
            // A failed import is caught here, or only a type checker reads it.
            "try_statement" => continue,
            "if_statement"
                if node.child_by_field_name("condition").is_some_and(|of| text(of).contains("TYPE_CHECKING")) =>
            {
                continue;
            }
            "import_statement" => {
                let mut cursor = node.walk();
                for one in node.named_children(&mut cursor) {
                    let name = one.child_by_field_name("name").unwrap_or(one);
                    found.push(Import { name: text(name), range: one.byte_range() });
                }
            }
            "import_from_statement" => {
                if let Some(module) = node.child_by_field_name("module_name") {
                    // For `from . import x` only the package is looked up: `x` may be any name in it.
                    found.push(Import { name: text(module), range: module.byte_range() });
                }
            }
            _ => {}
        }
        let mut cursor = node.walk();
        open.extend(node.named_children(&mut cursor));
    }
    found.sort_by_key(|import| import.range.start);
    found
}

pub(super) fn resolve(path: &str, name: &str, tree: &Tree, manifests: &Manifests) -> Found {
    let dots = name.bytes().take_while(|byte| *byte == b'.').count();
    if dots > 0 {
        return of_path(path, dots, &name[dots..], tree);
    }
    let top = name.split('.').next().unwrap_or(name);
    let is_named = |name: &str| manifests.python.contains(&plain(name));
    let otherwise = || PACKAGE_NAMES.iter().any(|(module, package)| *module == top && is_named(package));
    let is_known = BUILT_IN.contains(&top)
        || tree.has_named(top)
        || !manifests.has_python
        || is_named(top)
        || otherwise()
        || manifests.python.iter().any(|package| is_like(package, &plain(top)));
    if is_known { Found::Yes } else { Found::NotNamed }
}

/// Returns whether a package may provide a module: its name is a part of `django_rest`, `python_slugify` or
/// `types_requests`.
fn is_like(package: &str, module: &str) -> bool {
    package.split('_').any(|part| part == module) || package.strip_prefix("py").is_some_and(|rest| rest == module)
}

fn of_path(path: &str, dots: usize, rest: &str, tree: &Tree) -> Found {
    let above = "../".repeat(dots - 1);
    let Some(package) = join(folder(path), &above) else { return Found::NoFile };
    let module = rest.replace('.', "/");
    let Some(target) = join(&package, &module) else { return Found::NoFile };
    let is_there = target.is_empty()
        || tree.has_folder(&target)
        || ["py", "pyi", "pyx", "so", "pyd"].iter().any(|ending| tree.has_file(&format!("{target}.{ending}")));
    // Generated files are not in the tree.
    let last = target.rsplit('/').next().unwrap_or(&target);
    let is_made = last.starts_with('_') || last.contains("_pb2") || last.contains("version");
    if is_there || is_made { Found::Yes } else { Found::NoFile }
}
