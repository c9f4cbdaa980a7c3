//! `placeholder_scan`: what only pretends to be finished, and what is legally empty.

use switchboard_protocol::finding::{CheckName, CheckVerdict, Severity};

use crate::scratch::{Scratch, findings};

fn rules(path: &str, text: &str) -> Vec<String> {
    let scratch = Scratch::plain();
    scratch.write(path, text);
    findings(&scratch.check_only(CheckName::PlaceholderScan)).iter().map(|finding| finding.rule.clone()).collect()
}

#[test]
fn code_that_says_it_is_not_written_fires() {
    for (path, text) in [
        ("a.rs", "fn f() -> u32 { todo!() }"),
        ("a.rs", "fn f() -> u32 { unimplemented!(\"later\") }"),
        ("a.rs", "fn f() -> u32 { panic!(\"not yet implemented\") }"),
        ("a.py", "def f(x):\n    raise NotImplementedError\n"),
        ("a.py", "def f(x):\n    \"\"\"Adds.\"\"\"\n    raise NotImplementedError('not implemented yet')\n"),
        ("a.js", "function f() { throw new Error('Not implemented'); }"),
        ("a.ts", "class A { m(): void { throw new Error(\"Method not implemented.\"); } }"),
        ("A.java", "class A { int m() { throw new UnsupportedOperationException(\"Not implemented yet\"); } }"),
        ("a.cs", "class A { int M() => throw new NotImplementedException(); }"),
        ("a.kt", "fun f(): Int = TODO()"),
        ("a.swift", "func f() -> Int { fatalError(\"not implemented\") }"),
        ("a.go", "package a\n\nfunc f() { panic(\"not implemented\") }\n"),
        ("a.rb", "def f\n  raise('not implemented')\nend\n"),
        ("a.php", "<?php function f() { throw new \\Exception('TODO'); }"),
    ] {
        assert_eq!(rules(path, text), ["placeholder/code-throw-todo"], "{path}: {text}");
    }
    assert_eq!(rules("a.py", "def save_all(x):\n    pass\n"), ["placeholder/code-stub-body"]);
}

#[test]
fn comments_in_place_of_code_fire() {
    for text in [
        "// TODO: implement the parser\n",
        "// your code goes here\n",
        "// ... rest of the code\n",
        "/* ... existing code ... */\n",
        "// omitted for brevity\n",
        "// Error handling is omitted for brevity.\n",
        "// In a real implementation this would ask the server\n",
        "// placeholder implementation\n",
        "// hard-coded for now\n",
        "// return a dummy value until the server is there\n",
        "// still to be implemented\n",
        "// stub\n",
        "// add the validation logic here\n",
    ] {
        assert_eq!(rules("a.js", text), ["placeholder/comment-text"], "{text}");
    }
}

#[test]
fn a_function_that_only_looks_like_one_fires() {
    for (path, text) in [
        ("a.js", "export function saveUser(user) {\n}\n"),
        ("a.ts", "function saveUser(user: User): void {}\n"),
        ("a.go", "package a\n\nfunc SaveUser(u User) {\n}\n"),
        ("a.rs", "pub fn save_user(user: &User) {}\n"),
        ("a.php", "<?php function save_user($user) {}\n"),
        ("a.rb", "def save_user(user)\nend\n"),
    ] {
        assert_eq!(rules(path, text), ["placeholder/code-stub-body"], "{path}: {text}");
    }
    for (path, text) in [
        ("a.py", "def calculate_total(items):\n    \"\"\"Adds them up.\"\"\"\n    return 0\n"),
        ("a.js", "export function fetchUsers(filter) { return []; }\n"),
        ("a.go", "package a\n\nfunc parseHeader(line string) error {\n\treturn nil\n}\n"),
        ("a.rs", "fn compute_hash(text: &str) -> String {\n    String::new()\n}\n"),
        ("a.php", "<?php function load_orders($id) { return array(); }\n"),
    ] {
        assert_eq!(rules(path, text), ["placeholder/code-stub-return"], "{path}: {text}");
    }
    for (path, text) in [
        ("a.py", "def title():\n    return 'placeholder'\n"),
        ("a.ts", "const text = 'Lorem ipsum dolor sit amet';\n"),
        ("a.go", "package a\n\nvar help = \"TODO: write the help\"\n"),
        ("a.js", "const name = () => 'not implemented yet';\n"),
    ] {
        assert_eq!(rules(path, text), ["placeholder/text-placeholder"], "{path}: {text}");
    }
    assert_eq!(rules(".swarm/plan.md", "# [Project]\n- [x] 1.1: [task]\n[link](x) [task](y)\n").len(), 2);
}

#[test]
fn what_only_resembles_a_stub_stays_silent() {
    for (path, text) in [
        (
            "a.js",
            "function noop(a) {}\nfunction Codec(options) {}\nfunction onClose() {}\nitems.forEach(function (x) {});\nclass A { constructor(x) {} save(x) {} }\n",
        ),
        ("a.js", "function isReady(x) { return true; }\nfunction parse(x) { if (!x) { return null; } return x.y; }\n"),
        (
            "a.ts",
            "switch (s) { case 'todo': break; }\nconst k = { placeholder: 1, 'todo': 2 };\nif (s === 'placeholder') { run(); }\n",
        ),
        (
            "a.go",
            "package a\n\nfunc init() {}\nfunc (t T) Save(u User) {}\nfunc ignore(err error) {}\nfunc f(_ int) {}\n",
        ),
        (
            "a.rs",
            "fn assert_send<T: Send>(_: T) {}\nimpl T { fn save(&self, x: u8) {} fn find(&self, x: u8) -> Option<u8> { None } }\n",
        ),
        (
            "a.py",
            "def save(x):\n    # nothing is kept here on purpose\n    return None\nclass A:\n    def load(self, x):\n        return None\nstatus = 'todo'\n",
        ),
        ("a.rb", "class A\n  def save(x)\n  end\nend\ndef empty(x)\nend\n"),
        ("test/a.js", "function saveUser(user) {}\n"),
        ("a.yaml", "stub: placeholder # the placeholder of the form\nurl: http://x/#todo\n"),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn comments_of_files_without_a_grammar_are_read() {
    let scratch = Scratch::repository();
    scratch.write("a.sql", "select 1;\n").commit();
    scratch.write("a.sql", "select 1; -- FIXME: the index\n").write("b.yaml", "# TODO: the port\nport: 1\n");

    let reply = scratch.check_only(CheckName::PlaceholderScan);

    let found: Vec<(&str, &str)> = findings(&reply).iter().map(|f| (f.path.as_str(), f.rule.as_str())).collect();
    assert_eq!(found, [("a.sql", "placeholder/comment-fixme"), ("b.yaml", "placeholder/comment-todo")]);
}

#[test]
fn one_more_of_a_kind_does_not_rename_the_others() {
    let scratch = Scratch::plain();
    let names = |text: &str| -> Vec<String> {
        scratch.write("a.rs", text);
        findings(&scratch.check_only(CheckName::PlaceholderScan)).iter().map(|f| f.fingerprint.clone()).collect()
    };
    let before = names("fn a() { todo!(\"a\") }\nfn b() { todo!(\"b\") }\n");

    let after = names("fn c() { todo!(\"c\") }\n\nfn a() { todo!(\"a\") }\nfn b() { todo!(\"b\") }\n");

    assert_eq!(before, after[1..]);
}

#[test]
fn what_is_legally_empty_stays_silent() {
    for (path, text) in [
        (
            "a.js",
            "function f(x) { if (!x) { return null; } return x; }\nconst noop = () => {};\nconst placeholder = 'Enter a stub';\n",
        ),
        ("a.tsx", "const a = <input placeholder=\"TODO list\" />;\n"),
        (
            "a.rs",
            "trait T { fn a(&self) {} fn b(&self) -> Option<u8> { None } }\n/// The todo!() macro.\nstruct Todo;\n",
        ),
        (
            "a.py",
            "class A(Protocol):\n    def f(self) -> int: ...\n\nclass B(ABC):\n    @abstractmethod\n    def g(self):\n        raise NotImplementedError\n\ndef h():\n    try:\n        run()\n    except OSError:\n        pass\n\n@overload\ndef i(x: int) -> int: ...\n",
        ),
        (
            "a.py",
            "class Base:\n    def f(self):\n        raise NotImplementedError()\n    def hook(self):\n        pass\n\ndef noop():\n    \"\"\"Does nothing on purpose.\"\"\"\n",
        ),
        ("tests/a.py", "def f():\n    pass\n"),
        ("a.go", "package a\n\nfunc (t *T) Close() error { return nil }\n\nfunc f() { panic(\"unreachable\") }\n"),
        (
            "A.java",
            "interface A { default void m() {} }\nclass B { void n() { throw new UnsupportedOperationException(\"read only\"); } }\n",
        ),
        ("a.py", "# XXX this could be faster\n# TODO(anna): cache\nstub = Stub('todo')\n"),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn a_mark_that_a_change_brings_blocks_and_an_old_one_does_not() {
    let scratch = Scratch::repository();
    scratch.write("a.rs", "// TODO: cache\nfn a() {}\n").commit();
    scratch.write("a.rs", "// TODO: cache\nfn a() {}\nfn b() {}\n");
    let old = scratch.check_only(CheckName::PlaceholderScan);

    scratch.write("a.rs", "// TODO: cache\nfn a() {}\nfn b() {} // FIXME\n");
    let new = scratch.check_only(CheckName::PlaceholderScan);

    assert_eq!(old.verdict, CheckVerdict::Pass);
    assert_eq!(new.verdict, CheckVerdict::Fail);
    let blocking: Vec<u32> = findings(&new).iter().filter(|f| f.blocks).map(|f| f.span.start_line).collect();
    assert_eq!(blocking, [3]);
}

#[test]
fn functions_of_typed_languages_that_only_look_like_one_fire() {
    let (body, gives) = ("placeholder/code-stub-body", "placeholder/code-stub-return");
    for (path, text, rule) in [
        ("A.java", "class A { private static void saveUser(User u) {\n } }", body),
        ("A.java", "public class A { public User findUser(String id) { return null; } }", gives),
        ("A.java", "class A { private int parseAmount(String s) { return 0; } }", gives),
        ("A.cs", "class A { private void SaveUser(User u) { } }", body),
        ("A.cs", "class A : IUsers { static User FindUser(string id) => null; }", gives),
        ("a.kt", "fun saveUser(user: User) {\n}\n", body),
        ("a.kt", "fun parseAmount(text: String): Int = 0\n", gives),
        ("a.swift", "func saveUser(_ user: User) {\n}\n", body),
        ("a.swift", "func findUser(id: String) -> User? {\n    return nil\n}\n", gives),
        ("a.c", "static void save_user(const struct user *u)\n{\n}\n", body),
        ("a.c", "int parse_header(const char *text) { return 0; }\n", gives),
        ("a.cpp", "namespace app { void saveUser(const User& u) {} }\n", body),
        ("a.cpp", "User* findUser(int id) { return nullptr; }\n", gives),
    ] {
        assert_eq!(rules(path, text), [rule], "{path}: {text}");
    }
}

#[test]
fn tests_in_a_file_visitors_and_minified_code_stay_silent() {
    for (path, text) in [
        ("a.rs", "mod tests {\n    fn f() { write(\"lorem ipsum\"); }\n}\n"),
        ("a.rs", "pub fn visit_lit<V>(v: &mut V, node: &Lit) {}\n"),
        ("a.min.js", "function f(){throw new Error('Not implemented')}\n"),
        ("a.rs", "// `Key` has to be implemented on every type.\n"),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn what_a_typed_language_leaves_empty_by_right_stays_silent() {
    for (path, text) in [
        (
            "A.java",
            "class A extends B { @Override public void updateView(View v) {} public User findUser(int i) { return null; } }",
        ),
        (
            "A.java",
            "class A { protected void processEvent(E e) {} private void save(User u) { /* kept in memory */ } }",
        ),
        (
            "A.java",
            "interface A { default void saveUser(User u) {} }\nclass B { public boolean filterRow(Row r) { return true; } }",
        ),
        ("A.java", "class A { private User find(int id) { if (id < 0) { return null; } return users.get(id); } }"),
        ("A.cs", "class A : B { public override void Update(int x) {} public User Find(int i) => null; }"),
        ("A.cs", "class A { protected virtual void ProcessRow(Row r) {} private void Save() {} }"),
        ("a.kt", "open class A { open fun updateView(v: View) {} }\ninterface I { fun saveAll(x: Int) {} }\n"),
        ("a.kt", "interface I {\n    fun saveAll(x: Int) {}\n}\n"),
        ("a.kt", "class A : B() { override fun load(x: Int): String? = null }\nfun find(id: Int): U? = users[id]\n"),
        ("a.swift", "extension A { func updateView(_ v: View) {} }\nclass C: D { func loadView(_ v: View) {} }\n"),
        ("a.swift", "func find(id: Int) -> User? {\n    guard id > 0 else { return nil }\n    return users[id]\n}\n"),
        (
            "a.c",
            "static inline void update_stats(int x) {}\nstatic void on_signal(int sig) {}\nvoid send_all(void) {}\n",
        ),
        ("a.c", "#ifdef NO_STATS\nvoid update_stats(int x) {}\nint parse_stats(int x) { return 0; }\n#endif\n"),
        (
            "a.cpp",
            "void A::updateView(View v) {}\nstruct S { virtual void saveAll(int x) {} };\nvoid sendAll(int /*x*/) {}\n",
        ),
        (
            "a.cpp",
            "int parse(const char* s) { if (!s) return 0; return go(s); }\n__attribute__((weak)) void loadAll(int x) {}\n",
        ),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn what_subclasses_owe_and_what_a_sentence_is_about_do_not_fire() {
    for (path, text) in [
        (
            "a.py",
            "class A:\n    def f(self):\n        raise NotImplementedError('Subclasses must implement this method.')\n",
        ),
        ("A.java", "class A { int m() { throw new E(\"Derived classes have to implement this\"); } }"),
        ("a.py", "def _f(): pass\nFunction = type(_f)\n"),
        ("a.py", "# the final NEWLINE is omitted for brevity\nx = 1\n"),
        ("a.py", "# This list is intentionally omitted for simplicity\nx = 1\n"),
    ] {
        assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.py", "class A:\n    def f(self):\n        raise NotImplementedError('TODO: implement this')\n"),
        ("a.js", "function f() { throw new Error('not implemented'); }"),
    ] {
        assert_eq!(rules(path, text), ["placeholder/code-throw-todo"], "{path}: {text}");
    }
}

/// The rules of what blocks when the file is named as a change.
pub(crate) fn blocking(path: &str, text: &str) -> Vec<String> {
    let scratch = Scratch::repository();
    scratch.write("start", "").commit();
    scratch.write(path, text);
    let reply = scratch.check_only(CheckName::PlaceholderScan);
    findings(&reply).iter().filter(|finding| finding.blocks).map(|finding| finding.rule.clone()).collect()
}

/// The severities and rules of what is found when the file is a change.
fn told(path: &str, text: &str) -> Vec<(Severity, String)> {
    let scratch = Scratch::repository();
    scratch.write("start", "").commit();
    scratch.write(path, text);
    let reply = scratch.check_only(CheckName::PlaceholderScan);
    findings(&reply).iter().map(|finding| (finding.severity, finding.rule.clone())).collect()
}

#[test]
fn kinds_that_are_right_in_part_ask_a_person() {
    for (path, text) in [
        // A function that does nothing, or returns a dummy.
        ("a.py", "def save_all(x):\n    pass\n"),
        ("a.js", "function saveUser(user) {}\n"),
        ("a.py", "def apply_shape(operator):\n    pass\n\na = apply_shape('Pipe')\n"),
        ("a.js", "export function fetchUsers(filter) { return []; }\n"),
        ("a.c", "static int parse_header(const char *text) { return 0; }\n"),
        ("a.py", "def f():\n    return 'Not implemented'\n"),
        // A method that may be what subclasses owe.
        ("a.py", "class A:\n    def find(self):\n        raise NotImplementedError('not implemented')\n"),
        ("a.py", "class A:\n    def f(self):\n        raise NotImplementedError('Please implement this method')\n"),
        (
            "a.py",
            "class A(B):\n    def f(self):\n        raise NotImplementedError('This method is not implemented')\n",
        ),
        ("a.py", "class A(B):\n    def f(self):\n        raise NotImplementedError('MMR search not implemented')\n"),
        // The real code, in front of code that works.
        ("a.js", "// TODO: replace with real API calls\nf();\n"),
        ("a.js", "// TODO: needs proper error handling\nf();\n"),
        (
            "a.js",
            "function f(x) {\n  // TODO: replace with the real API call\n  const a = load(x);\n  return a.b;\n}\n",
        ),
        // Behind the head of a block.
        ("a.js", "A.isSupported = function () { // TODO: only for some\n  return false;\n};\n"),
        ("a.py", "if f():\n    g()\nelse:  # FIXME: a stricter one\n    pass\n"),
    ] {
        let told = told(path, text);
        assert_eq!(
            told.iter().map(|(severity, _)| *severity).collect::<Vec<_>>(),
            [Severity::Medium],
            "{path}: {text}"
        );
    }
    let scratch = Scratch::repository();
    scratch.write("a.py", "x = 1\n").commit();
    scratch.write("a.py", "x = 1\ndef save_all(x):\n    pass\n");
    assert_eq!(scratch.check_only(CheckName::PlaceholderScan).verdict, CheckVerdict::Warn);
}

#[test]
fn remarks_about_a_language_a_value_or_a_platform_are_listed() {
    for (path, text) in [
        ("a.rs", "// (... rest parameters are only valid in function types\nfn f() {}\n"),
        ("a.stories.tsx", "const press = () => {\n  // In a real app: navigate('Home')\n};\n"),
        ("a.rs", "fn f() -> Option<u8> {\n    // XXX there's no such concept here.\n    None\n}\n"),
        ("a.go", "package a\n\nfunc F() {\n\t// XXX: later on\n}\n"),
        ("a.rs", "impl Raw for A {\n    fn f(a: u8) -> A {\n        panic!(\"unimplemented\");\n    }\n}\n"),
        ("a.swift", "func f(a: A) {\n    // For now let's just log data.\n    print(a)\n}\n"),
    ] {
        let told = told(path, text);
        assert_eq!(told.iter().map(|(severity, _)| *severity).collect::<Vec<_>>(), [Severity::Low], "{path}: {text}");
    }
    let to_come = "impl Raw for A {\n    fn f(a: u8) -> A {\n        panic!(\"f is not implemented yet\");\n    }\n}\n";
    assert_eq!(blocking("a.rs", to_come), ["placeholder/code-throw-todo"]);
}

#[test]
fn what_agents_leave_out_blocks() {
    for (path, text) in [
        ("a.py", "import os\n# ... rest unchanged\n"),
        ("a.py", "import os\n# \u{2026} rest of the file unchanged\n"),
        ("a.ts", "class A {\n  // ... existing methods ...\n}\n"),
        ("a.js", "// existing code here\n"),
        ("a.go", "package a\n\n// (the rest of the code remains the same)\n"),
        ("a.rb", "# rest stays the same\n"),
        ("tests/a.py", "# ... other tests remain unchanged\n"),
        ("a.py", "def f(x):\n    # For now, just return True\n    return True\n"),
        ("a.js", "// Simulate API call\nawait sleep(10);\n"),
        ("a.ts", "// In production, you would ask the server\n"),
    ] {
        assert_eq!(blocking(path, text), ["placeholder/comment-text"], "{path}: {text}");
    }
}

#[test]
fn errors_that_say_not_implemented_block_in_every_language() {
    for (path, text) in [
        ("a.go", "package a\n\nimport \"errors\"\n\nfunc F() error {\n\treturn errors.New(\"not implemented\")\n}\n"),
        ("a.cpp", "int f() {\n  throw std::runtime_error(\"not implemented\");\n}\n"),
        ("a.dart", "int f() {\n  throw UnimplementedError();\n}\n"),
        ("a.rb", "class Cart\n  def total(items)\n    raise NotImplementedError\n  end\nend\n"),
    ] {
        assert_eq!(blocking(path, text), ["placeholder/code-throw-todo"], "{path}: {text}");
    }
    let described = "class Cart:\n    def total(self, items):\n        \"\"\"Adds up.\"\"\"\n        ...\n";
    assert_eq!(told("a.py", described), [(Severity::Low, "placeholder/code-stub-body".to_owned())]);
}

#[test]
fn sentences_and_shown_code_do_not_block() {
    for (path, text) in [
        ("a.c", "/*\n * rest of the headers anywhere (pure mode changes,\n */\n"),
        ("a.c", "/* The rest are the same as the parent */\n"),
        ("a.c", "/* use f() in a real application. */\n"),
        ("a.rb", "#   class A\n#     # Your code here\n#   end\nA = 1\n"),
        ("a.go", "package a\n\n// to replace any code with a temporary placeholder.\nvar a = 1\n"),
        ("a.py", "# Add better logic here when a third one shows up.\n"),
        ("a.py", "# pipes, where get_terminal_size() returns a dummy value.\nf()\n"),
        ("a.sh", "# Simulate that the server initially reports $2\n"),
        ("a.go", "package a\n\nfunc f(n N) { panic(\"escaping \" + n.String() + \" is unimplemented\") }\n"),
        (
            "a.rb",
            "module A\n  def b\n    raise NotImplementedError, 'b is not implemented'\n  end\n  def c\n    raise NotImplementedError, 'c is not implemented'\n  end\nend\n",
        ),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for text in [
        "# rest of the file unchanged\n",
        "# the rest stays the same as before\n",
        "# The rest is the same\n",
        "# in a real application this would ask\n",
        "# simulate an API call\n",
    ] {
        assert_eq!(blocking("a.py", text), ["placeholder/comment-text"], "{text}");
    }
}

#[test]
fn a_mark_blocks_where_it_says_that_code_is_missing_or_stands_in_its_place() {
    for (path, text) in [
        ("a.py", "def f(x):\n    # TODO: implement retries\n    return None\n"),
        ("a.py", "x = 5  # FIXME: this is hard-coded\n"),
        ("a.py", "x = 1\n# TODO\n"),
        ("a.py", "def f(x):\n    # TODO: faster\n    pass\n"),
        ("a.js", "function f(x) {\n  // TODO: ask ann\n  return null;\n}\n"),
        ("a.c", "void f(int a) {\n  g(a);\n  /* HACK: not done yet */\n  return;\n}\n"),
        ("a.yaml", "ports:\n  # TODO: add the port\nname: x\n"),
        ("a.py", "def f(x):\n    g(x)\n    # TODO: handle network errors properly.\n"),
        ("a.py", "def f(x):\n    # TODO:\n    # implement retries\n    return None\n"),
        ("a.js", "function f() {\n  g();\n  // TODO\n}\n"),
        ("a.html", "<p>\n<!-- TODO: add the form -->\n</p>\n"),
        ("a.rs", "fn f(a: bool) {\n    if a {\n        // TODO: check the sum\n    }\n    g();\n}\n"),
        ("a.rs", "fn f(a: bool) -> bool {\n    // TODO: ask the server\n    true\n}\n"),
        ("a.js", "function f(x) {\n  return []; // TODO: implement\n}\n"),
        ("a_test.py", "def test_f():\n    # TODO: write it\n    pass\n"),
    ] {
        assert!(!blocking(path, text).is_empty(), "{path}: {text}");
    }
    for (path, text) in [
        ("a.py", "x = 1  # TODO: could be cached\n"),
        ("a.cc", "void f() {\n  g();  // TODO: Remove after the next release\n}\n"),
        ("a.c", "/* XXX */\nint a;\n"),
        ("a.rs", "fn f() -> u32 {\n    // TODO(#12): is this the right place?\n    g()\n}\n"),
        ("a.php", "<?php\ntry { f(); } catch (E $e) {\n  // TODO: print it to the log?\n}\n"),
        ("a.js", "const a = {\n  // FIXME: should we accept more hosts?\n};\n"),
        ("a.py", "x = 1\n# TODO: add support for nested playlists so each shelf is processed\n"),
        ("a.py", "x = 1\n# TODO: add support for\n# nested lists of playlists\n"),
        ("a.py", "x = 1\n# TODO: implement a check in policies?\n"),
        ("a.py", "import cv2  # TODO: add type stubs for OpenCV\n"),
        ("a.py", "x = 1\n# TODO: add docstring\n"),
        ("a.py", "# TODO\n# Images of the car, as the page shows them\nx = 1\n"),
        ("a.ts", "/** Features (structure TBD). */\nconst a = {};\n"),
        ("a.js", "// TODO: is a stub needed?\nconst a = 1;\n"),
        ("a.js", "const a = b.c; // TODO\n"),
        ("a.js", "/**\n * TODO: add class description.\n */\nclass A {}\n"),
        ("a.js", "// TODO: this should be a hardcoded list of names\nconst a = f();\n"),
        (
            "a.js",
            "// FIXME: the pages seem off compared to the actual js implementation, and nobody knows whether it was ever so\nf();\n",
        ),
        ("a.rs", "/// Reads.\n///\n/// # TODO\n///\n/// - more formats\npub fn f() {\n    g();\n}\n"),
        ("a.rs", "fn f() {\n    h();\n    // // TODO\n    // g();\n}\n"),
        ("a.rs", "fn f() {\n    h();\n    // g(); // TODO: add the port\n}\n"),
        ("a.rs", "// TODO: implement `TrustedLen` when stabilized\nfn f() {\n    g();\n}\n"),
        (
            "a.c",
            "int f(int a) {\n  if (!a) {\n    // TODO: this check is absent elsewhere\n    return 0;\n  }\n  return g(a);\n}\n",
        ),
        ("a.c", "void f(int a) {\n  if (g(a)) {\n    // HACK: reuse the first one\n  } else {\n    h(a);\n  }\n}\n"),
        ("a.js", "function f(x) {\n  // TODO\n  return g(x);\n}\n"),
        ("a.js", "function f(x) {\n  // TODO: maybe make this a setting\n  return {};\n}\n"),
        ("a.js", "f(x); // TODO: do this in the package's own file\n"),
        ("a.ts", "// @ts-expect-error -- TODO: add a guard\nf(x);\n"),
        ("tests/a.py", "def test_f():\n    # TODO: add the second case\n    assert f()\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
        assert_eq!(marks(path, text).len(), 1, "{path}: {text}");
    }
}

/// The rules of the marks that are listed when the file is a change.
fn marks(path: &str, text: &str) -> Vec<String> {
    let scratch = Scratch::repository();
    scratch.write("start", "").commit();
    scratch.write(path, text);
    let reply = scratch.check_only(CheckName::PlaceholderScan);
    let found = findings(&reply);
    let rules = found.iter().map(|finding| finding.rule.clone());
    rules.filter(|rule| rule.starts_with("placeholder/comment-")).collect()
}

#[test]
fn what_describes_a_double_or_is_owed_by_others_does_not_block() {
    let packed = format!("{}function f() {{ throw new Error('not implemented'); }}", "f();".repeat(300));
    for (path, text) in [
        ("a.rs", "/// Mock implementation of `std::sync::Mutex`.\nstruct M;\n"),
        ("a.rs", "///\n///     ... more fields\nstruct M;\n"),
        ("a.rs", "impl Upgrade for Never {\n    fn new(&self) -> u8 { unimplemented!() }\n}\n"),
        ("a.rs", "fn f() -> u8 { unimplemented!(\"nobody should ask for it\") }\n"),
        ("a.js", "/* Example:\n *   // your code here\n */\nf();\n"),
        ("a.js", "// used as a placeholder until the texture is ready\nf();\n"),
        ("a.js", "// Returns a placeholder value for changing data at once.\nf();\n"),
        ("a.js", "/** An abstract cursor. */\nclass Cursor { next() { throw new Error('Not implemented.'); } }\n"),
        (
            "a.js",
            "class A { get() { throw new Error('get not implemented'); } put() { throw new Error('put not implemented'); } }\n",
        ),
        ("a.py", "# In production, it should always be false.\nx = 1\n"),
        ("a.py", "if a == b:\n    # Existing field unchanged.\n    pass\n"),
        ("a.py", "if TYPE_CHECKING:\n    def f(x):\n        \"\"\"Adds.\"\"\"\n        ...\n"),
        ("a.py", "class A(B):\n    def f(self): ...\n    def g(self):\n        \"\"\"Adds.\"\"\"\n        ...\n"),
        ("a.py", "class A:\n    def find(self):\n        raise NotImplementedError('find is not implemented')\n"),
        ("a.js", packed.as_str()),
        ("a.rs", "trait T {\n    fn f(&self) -> u8 { unimplemented!() }\n}\n"),
        ("a.rs", "fn f() {\n    let _a: u8 = todo!();\n}\n"),
        ("a.rs", "#[deprecated(note = \"g\")]\npub fn f() -> u8 { unimplemented!() }\n"),
        ("a.js", "const notImplemented = () => { throw new Error('not implemented'); };\n"),
        ("a.js", "function f(x) { if (x) return 1; throw new Error('not implemented'); }\n"),
        ("a.js", "class A {\n  /** @abstract */\n  next() { throw new Error('Not implemented.'); }\n}\n"),
        ("a.js", "// Original implementation continues below...\nf();\n"),
        ("src/macro_tests/a.rs", "fn f() -> u8 { todo!() }\n"),
        ("a.js", "function f(x) { throw new Error(`${x} is not implemented`); }\n"),
        ("a.rs", "#[cfg(not(feature = \"std\"))]\nmod m {\n    pub fn f() -> u8 { unimplemented!() }\n}\n"),
        ("a.py", "def f(x):\n    \"\"\"Adds.\"\"\"\n    ...\nif not TYPE_CHECKING:\n    def f(x):\n        return x\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.rs", "// Mock implementation\nstruct M;\n"),
        ("a.js", "// return a mock response for now\nf();\n"),
        ("a.js", "class A { get() { throw new Error('not implemented'); } }\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn what_others_override_and_what_a_manual_describes_does_not_block() {
    for (path, text) in [
        (
            "a.js",
            "class A { get() { throw new Error('not implemented'); } }\nclass B extends A { get() { return 1; } }\n",
        ),
        ("a.js", "class A {\n  get() {\n    throw new Error('not implemented');\n    // Override\n  }\n}\n"),
        ("a.js", "BaseCurve.prototype.add = function () { throw new Error('not implemented'); };\n"),
        (
            "a.js",
            "if (typeof fetch === 'function') { g(fetch); } else { f = function () { throw new Error('not implemented'); }; }\n",
        ),
        ("a.js", "/**\n * Returns the kinds. Hard-coded for now.\n */\nf();\n"),
        ("a.js", "// For now it only returns the first.\nf();\n"),
        ("a.js", "// replace it with an empty dummy list for now\nf();\n"),
        (
            "a.py",
            "class A:\n    def f(self):\n        raise NotImplementedError('not implemented')\nclass B(A):\n    pass\n",
        ),
        (
            "a.py",
            "class A:\n    def f(self):\n        raise NotImplementedError('not implemented')\n    @abstractmethod\n    def g(self): ...\n",
        ),
        ("a.py", "def f(node):\n    raise NotImplementedError(f'{node} is not implemented')\n"),
        ("a.py", "class A:\n    def f(self):\n        \"\"\"Sends.\"\"\"\n        ...  # made at start\n"),
        ("a.py", "def depart_table(self, node):\n    ...\n"),
        ("a.rs", "fn f() { unimplemented!(\"this can only read structs\") }\n"),
        ("a.rs", "fn not_implemented() { panic!(\"not implemented\") }\n"),
        ("a.rs", "trait T {\n    fn f(&self) -> u8 { panic!(\"implement this or g\") }\n}\n"),
        ("a.rs", "/// Stub\nmod log {}\n"),
        ("a.cpp", "int f() {\n  throw std::runtime_error(\"Not implemented: use g() instead.\");\n}\n"),
        ("a.rs", "/// # // ... rest of setup goes here\nfn f() {}\n"),
        (
            "a.rs",
            "#[cfg(test)]\nmod checks {\n    fn f() {\n        // In a real scenario, this would ask\n        todo!()\n    }\n}\n",
        ),
        ("a.rs", "#[test]\nfn f() { g(|| unimplemented!()); }\n"),
        ("benches/a.rs", "fn f() { unimplemented!() }\n"),
        ("a.rs", "fn unimplemented_stub() { unimplemented!(\"{TEXT}\"); }\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.rs", "fn f() { unimplemented!(\"shared memory is not yet there\") }\n"),
        ("a.js", "class Ab { get() { throw new Error('not implemented'); } }\nclass D extends Abc {}\n"),
        ("a.js", "// dummy implementations for now\nf();\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn doubles_limits_and_contracts_do_not_block() {
    for (path, text) in [
        ("src/FakeClock.cs", "class FakeClock { int Now() => throw new NotImplementedException(); }"),
        ("a_test.go", "package a\n\nfunc (f fake) F() { panic(\"not implemented\") }\n"),
        ("a.kt", "class MockStore { fun f(): Int = TODO() }"),
        ("a.js", "function f(x) { switch (x) { default: throw new Error('not implemented'); } }"),
        ("A.java", "class A { int m() { throw new E(\"Not implemented for bridgeless mode\"); } }"),
        ("a.rb", "class AbstractStore\n  def load(key)\n    raise NotImplementedError\n  end\nend\n"),
        ("a.py", "class A(Protocol):\n    def f(self) -> int:\n        \"\"\"Adds.\"\"\"\n        ...\n"),
        ("a.dart", "int f() => throw UnimplementedError('f() has not been implemented.');\n"),
        ("a.c", "void f(Dummy /* dummy */ a) {}\n/* Not implemented yet. */\n"),
        ("a.ts", "const text = 'Lorem ipsum dolor sit amet';\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn choices_first_values_and_what_only_some_calls_reach_do_not_block() {
    for (path, text) in [
        ("a.rs", "fn f(a: Option<u8>) -> u8 {\n    let Some(a) = a else { unimplemented!() };\n    a\n}\n"),
        ("a.rs", "fn f(a: Option<u8>) -> u8 { a.unwrap_or_else(|| unimplemented!(\"support for others\")) }\n"),
        ("a.rs", "fn f() {\n    #[cfg(target_arch = \"wasm32\")]\n    {\n        unimplemented!()\n    }\n}\n"),
        ("a.rs", "// For now, return None if a name has a dot.\nfn f() {}\n"),
        ("a.rs", "// for now, we just return whatever the system says. If\nfn f() {}\n"),
        ("a.rs", "// The actual code here is necessarily abstract.\nfn f() {}\n"),
        ("a.rs", "// it has none, so use placeholders for now?\nfn f() {}\n"),
        ("a.py", "# Placeholder until self.draw\nf()\n"),
        ("a.rs", "//! # struct A {\n//! #    // other fields...\n//! # }\nfn f() {}\n"),
        ("a.rs", "fn f() {\n    // They change places, which leaves the\n    // rest unchanged.\n    g()\n}\n"),
        ("a.rs", "fn f() {\n    g(a.id); // Other fields unchanged\n}\n"),
        ("a.c", "/* fill it in */\nint a;\n"),
        ("a.js", "// If you add matching logic here, add it there as well.\nf();\n"),
        ("a.rs", "impl T for A {\n    fn f(&self, a: &str) -> u8 { panic!(\"f not implemented: {:?}\", a) }\n}\n"),
        ("a.yaml", "# groups:\n#  - name: a\n#        ... other fields\na: 1\n"),
        (
            "a.py",
            "class A:\n    def f(self):\n        \"\"\"Raises NotImplementedError.\"\"\"\n        raise NotImplementedError('x is not implemented')\n",
        ),
        ("a.rs", "#[cfg(doc)]\n#[b]\n/// Says why.\npub fn f(&self) {\n    unimplemented!()\n}\n"),
        (
            "a.rs",
            "fn f() {\n    // Its body is unlike all others, so that\n    // it keeps a place of its own.\n    unimplemented!(a!(b));\n}\n",
        ),
        ("a.rs", "//=====\n// Stub\n//=====\n\n#[derive(Debug)]\npub struct A(pub B);\n"),
        (
            "a.rs",
            "// For now, just returns the outer one\npub fn f(a: &str) -> usize {\n    let b = g(a);\n    let c = h(b);\n    k(c);\n    c\n}\n",
        ),
        ("a.py", "a = \"\"  # placeholder until b makes one\n"),
        ("a.js", "var notImplementedCallback = function () {\n  throw new Error('not implemented');\n};\n"),
        ("a.py", "# A folder with\n#   a.json\n#   [...] other files of the run\nf()\n"),
        ("a.cc", "//   select (a) {\n//     /* omitted for brevity */\n//   }\nint a;\n"),
        (
            "a.h",
            "// This is for a caller that wants\n// to fill in an argument and then return a canned value:\nint a;\n",
        ),
        ("a.rs", "fn f(a: &str) {\n    g();\n    unimplemented!(\"the call of `{a}`\")\n}\n"),
        ("examples/a.rs", "fn f() {\n    g();\n    // The rest of the loop goes here...\n}\n"),
        ("a.js", "class A {\n  get b() { throw new Error(\"Mixin: C not implemented.\"); }\n}\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.rs", "// For now, just returns the outer one\npub fn f(a: &str) -> usize {\n    0\n}\n"),
        ("a.rs", "fn f() {\n    // Not implemented yet, the parser comes first.\n    unimplemented!(a!(b));\n}\n"),
        ("examples/a.rs", "fn f() {\n    g();\n    // ... rest of the code\n}\n"),
        ("a.rs", "fn f(a: u8) -> u8 { g(|| unimplemented!()) }\n"),
        ("a.rs", "// But for now, we just return Ok.\nfn f() {}\n"),
        ("a.rs", "// For now, return None until the index is there.\nfn f() {}\n"),
        ("a.rs", "// The actual code here.\nfn f() {}\n"),
        ("a.py", "# Placeholder until the server is there\nf()\n"),
        ("a.py", "# stub until done.\nf()\n"),
        ("a.rs", "// The parser follows.\n// ... rest of the code\nfn f() {}\n"),
        ("a.rs", "fn f() {\n    // rest unchanged\n}\n"),
        ("a.yaml", "# ... other fields\na: 1\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn a_function_that_is_said_to_do_nothing_does_not_block() {
    for (path, text) in [
        ("a.py", "def summary_noop(*args):\n    pass\n"),
        ("a.py", "def do_nothing():\n    pass\n"),
        ("a.js", "function require(name) {};\nfunction define(name, all, f) {};\n"),
        (
            "a.js",
            "class A {\n  load(url) { // eslint-disable-line no-unused-vars\n    throw new Error('load not implemented');\n  }\n}\n",
        ),
        (
            "a.js",
            "class A {\n  /**\n   * Called for each key.\n   * @protected\n   */\n  onKey(event) {\n    // To be implemented.\n  }\n}\n",
        ),
        ("a.js", "f(x);\n// Not known yet; store a placeholder for now\nheads.push(0);\n"),
        ("a.js", "// eslint-disable-next-line no-unused-vars\nfunction logMissing(all) {}\n"),
        ("files/index-browser.js", "function findUpwards(folder) {\n  return null;\n}\n"),
        ("a.js", "const methodUnimplemented = () => {\n  throw create('Method unimplemented')\n};\n"),
        ("motor-stubs/core.py", "def coroutine(f):\n    ...\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    let empty = "function logMissing(all) {}\n";
    assert_eq!(told("a.js", empty), [(Severity::Low, "placeholder/code-stub-body".to_owned())]);
}

#[test]
fn an_order_in_front_of_code_that_does_its_work_does_not_block() {
    for (path, text) in [
        ("a.py", "def f(x):\n    # TODO: handle special cases\n    return g(x) + 1\n"),
        ("a.rs", "fn f(a: u8) -> u8 {\n    // TODO: Handle pure properties.\n    let b = g(a);\n    h(b)\n}\n"),
        ("a.go", "package a\n\nfunc F(a int) int {\n\t// TODO: implement this iteratively\n\treturn g(a)\n}\n"),
        (
            "a.js",
            "function f(x) {\n  const all = [];\n  // TODO: add the requireStack as well\n  all.push(x);\n  return all;\n}\n",
        ),
        ("a.py", "# TODO, implement quaternion type\ndef f(x):\n    return g(x)\n"),
        ("a.js", "const a = [\n  // TODO: Properly handle this\n  b,\n];\n"),
        ("a.yaml", "# TODO: add the port\nport: 1\n"),
        // A limit that is written down.
        ("a.js", "function f(x) {\n  // TODO: not implemented (not used yet)\n  return g(x);\n}\n"),
        ("a.py", "class A:\n    # TODO: nested types not implemented\n    def f(self, x):\n        return g(x)\n"),
        ("a.py", "def f(rule):\n    # XXX `a` is hardcoded\n    a, b = rule.split()\n    return g(a, b)\n"),
        // A gap with its reason.
        (
            "a.rs",
            "fn f(a: bool) {\n    if a {\n        // TODO: Handle more threads.\n        // There is one only,\n        // so this is safe.\n    }\n    g();\n}\n",
        ),
        ("a.py", "class A(B):\n    # TODO: deprecated\n    pass\n"),
        ("a.cpp", "void f(int a) {\n  if (a) {\n    // TODO: log a warning if there are more\n  }\n  g(a);\n}\n"),
        ("a.py", "#    TODO: write this\n#    def f():\n#        pass\nx = 1\n"),
        (
            "a.py",
            "def f(x):\n    # TODO: it is not the same object\n    # for c in (x, x):\n    #     check(c)\n    pass\n",
        ),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn an_order_blocks_where_the_place_shows_a_gap() {
    for (path, text) in [
        // The block ends.
        (
            "a.js",
            "function f(a) {\n  switch (a) {\n    case 1:\n      g(a);\n      // TODO: handle the superior\n      break;\n  }\n}\n",
        ),
        ("a.rs", "fn f(a: u8) {\n    g(a);\n    // TODO: handle the other types\n}\n"),
        // A statement that does nothing.
        (
            "a.rs",
            "fn f(a: u8) {\n    match a {\n        1 => g(),\n        // TODO: handle the other types here.\n        _ => (),\n    }\n}\n",
        ),
        (
            "a.py",
            "def f(x):\n    if g(x):\n        return A\n    elif h(x):\n        # TODO: handle failing ones\n        return Result.PASSED\n",
        ),
        (
            "a.py",
            "def f(all):\n    for x in all:\n        if x.odd:\n            # TODO: add validation here\n            continue\n        g(x)\n",
        ),
        (
            "a.py",
            "class A:\n    def __init__(self):\n        self.zone = \"\"  # TODO implement this\n        self.name = g()\n",
        ),
        // All of the code.
        ("a.py", "def f(x):\n    # TODO: finish the implementation\n    return g(x) + 1\n"),
        ("a.js", "function f(x) {\n  // TODO: implement me\n  check(x);\n  return g(x);\n}\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn a_name_for_a_stand_in_blocks_where_little_code_follows() {
    let (few, many) = ("    return g(x)\n", "    a = g(x)\n    b = h(a)\n    return a + b\n");
    for said in ["placeholder implementation", "this is just a stub for now"] {
        assert_eq!(blocking("a.py", &format!("def f(x):\n    # {said}\n{few}")).len(), 1, "{said}");
        assert_eq!(blocking("a.py", &format!("def f(x):\n    # {said}\n{many}")), [""; 0], "{said}");
    }
    // What is set for now by code that does its work.
    assert_eq!(blocking("a.py", &format!("def f(x):\n    # hard-coded list for now\n{few}")), [""; 0]);
    // What a template leaves behind in finished code.
    assert_eq!(blocking("a.py", &format!("def f(x):\n    # implement here\n{few}")), [""; 0]);
    assert_eq!(blocking("a.py", "def f(x):\n    # implement here\n    return None\n").len(), 1);
    assert_eq!(blocking("a.js", "// Replace placeholder code objects with the built ones.\nf();\n"), [""; 0]);
}

#[test]
fn constructors_and_names_of_a_status_do_not_block() {
    for (path, text) in [
        ("a.cpp", "FormatTemplate(const char* s) : Base(s) {}\n"),
        (
            "a.cpp",
            "const char* f(int a) {\n  switch (a) {\n    case 501:\n      return \"Not Implemented\";\n  }\n  return g(a);\n}\n",
        ),
        (
            "a.js",
            "function f(a) {\n  switch (a) {\n    case 501:\n      return 'Not Implemented';\n  }\n  return g(a);\n}\n",
        ),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
}

#[test]
fn remarks_conditions_and_hooks_do_not_block() {
    for (path, text) in [
        (
            "a.rs",
            "impl A {\n    fn f(&self) -> bool {\n        // TODO: this is a candidate for a constant\n        true\n    }\n}\n",
        ),
        ("a.js", "function f(a) {\n  if (g(a)) {\n    // TODO: implement when it is there in Firefox\n  }\n}\n"),
        ("a.js", "function f(a) {\n  if (g(a)) {\n    // FIXME: send a request here if we add support\n  }\n}\n"),
        ("a.py", "def f(x):  # noqa # FIXME Ann\n    pass\n"),
        ("a.rs", "fn f() -> bool {\n    // see the issue (TODO)\n    false\n}\n"),
        ("a.py", "class A:\n    def f(self):\n        # TODO: implement f\n        pass  # pragma: no cover\n"),
        ("a.py", "def stop(win, ctx):\n    pass\n"),
        ("a.py", "def f(b):\n    raise NotImplementedError\n\n@overload(f)\ndef f_impl(b):\n    return g(b)\n"),
        ("a.py", "# Nobody calls it: never reached\ndef f():\n    raise NotImplementedError('f is not implemented')\n"),
        (
            "a.py",
            "class A(B):\n    def run(self):\n        return self.poll()\n    def poll(self):\n        raise NotImplementedError('Method not implemented')\n",
        ),
        (
            "a.js",
            "function f(method) {\n  return function () {\n    throw new Error('a.' + method + ' not implemented');\n  };\n}\n",
        ),
        ("lib/base.js", "class Step {\n  run() {\n    throw new Error('Not implemented');\n  }\n}\n"),
        (
            "a.ts",
            "class A {\n  /**\n   * @throws {Error} A not implemented error.\n   */\n  send(): never {\n    throw new Error('Not implemented.');\n  }\n}\n",
        ),
        ("a.ts", "B.create = (a) => {\n  /* c8 ignore next */\n  throw new Error('unimplemented yet');\n};\n"),
        (
            "A.cs",
            "class A : B { public override int F() { throw new NotImplementedException(); } public override int G() { throw new NotImplementedException(); } }",
        ),
        (
            "a.rb",
            "class A\n  def to_c(ref)\n    raise NotImplementedError.new('#to_c is not implemented')\n  end\nend\n",
        ),
        ("a.rs", "const A: [fn(u8); 1] = [|_| unimplemented!()];\n"),
        ("null-loader.ts", "function parseSync(a: A): null {\n  return null;\n}\n"),
        ("a.py", "def f(x):\n    # For now, always return a copy.\n    y = g(x)\n    z = h(y)\n    return z\n"),
        ("a.toml", "[a]\nignore = true # TODO: implement me\nname = \"b\"\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.py", "class A(B):\n    def poll(self):\n        raise NotImplementedError('Method not implemented')\n"),
        ("a.rs", "impl A {\n    fn f(&self, a: u8) -> u8 {\n        // TODO: implement\n        a\n    }\n}\n"),
        ("A.cs", "class A : B { public override int F() { throw new NotImplementedException(); } }"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}
