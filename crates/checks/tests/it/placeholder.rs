//! `placeholder_scan`: what only pretends to be finished, and what is legally empty.

use protocol::finding::{CheckName, CheckVerdict};

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
    assert_eq!(rules("a.py", "def f(x):\n    pass\n"), ["placeholder/code-stub-body"]);
}

#[test]
fn comments_in_place_of_code_fire() {
    for text in [
        "// TODO: implement the parser\n",
        "// your code goes here\n",
        "// ... rest of the code\n",
        "/* ... existing code ... */\n",
        "// omitted for brevity\n",
        "// In a real implementation this would ask the server\n",
        "// placeholder implementation\n",
    ] {
        assert_eq!(rules("a.js", text), ["placeholder/comment-text"], "{text}");
    }
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
