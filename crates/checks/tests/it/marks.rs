//! `placeholder_scan`: comments that express a wish, comments that say that code is missing, and code that is
//! deliberately empty.

use switchboard_protocol::finding::{Base, CheckName};

use crate::placeholder::blocking;
use crate::scratch::{Scratch, report};

#[test]
fn a_mark_that_wishes_for_more_or_for_something_better_does_not_block() {
    for (path, text) in [
        ("a.rs", "fn f(a: &str) -> u8 {\n    // TODO: add small string optimization here\n    g(a)\n}\n"),
        ("a.rs", "// TODO(core): Add `_mm_cvtpd_epi64`.\nfn f() {\n    g();\n}\n"),
        ("a.c", "// TODO: add AVX10 detection.\nint a;\n"),
        ("a.py", "def f(a):\n    b = g(a)\n    # TODO: Add more basic checks\n    return b\n"),
        ("a.py", "class A:\n    # TODO: Implement __repr__\n    def f(self):\n        return g(self)\n"),
        ("a.rs", "// TODO: implement Display\npub struct A(u8);\n"),
        ("a.py", "# TODO: Implement new compression methods\ndef f(a):\n    return g(a)\n"),
        ("a.py", "def f(a):\n    # TODO: implement something better if necessary\n    return True\n"),
        ("a.rs", "fn f(a: A) -> A {\n    a.b = C::D; // TODO Validate\n    a\n}\n"),
        ("a.rs", "fn f(_: A) {\n    // TODO: could re-use the allocations\n}\n"),
        ("a.rs", "// TODO: should we rename it\nfn f() {}\n"),
        ("a.js", "// TODO: this should have a proper API endpoint\nf();\n"),
        ("a.js", "// TODO: Make this function proper tail calls friendly.\nf();\n"),
        ("a.rs", "// FIXME: this dummy argument should not be needed\nf(1);\n"),
        ("a.rs", "// XXX: a workaround for what is not implemented here\nf(1);\n"),
        ("a.rs", "fn f(a: A) -> A {\n    // TODO(jo): create sharable util\n    g(a)\n}\n"),
        ("a.py", "f(a)  # TODO: `` `this` ``\n"),
        ("a.py", "if f():\n    # TODO decide whether to keep it\n    pass\n"),
        (
            "a.rs",
            "fn f() {\n    // TODO: Does this need a barrier for the actual data,\n    // or is that done by others?\n    g();\n}\n",
        ),
        ("a.rs", "// TODO: Add this to libc\nconst A: u8 = 1;\n"),
        ("a.rs", "fn f(a: u8) {\n    if g(a) {\n        // TODO: This optimization is skipped.\n    }\n}\n"),
        ("a.d.ts", "export declare function f(a: A): boolean;\n// TODO: implement for more colors\n"),
        (
            "a.rs",
            "fn f() {\n    // Skip to the end. The rest of the code here\n    // tried to parse it.\n    g();\n}\n",
        ),
        ("a.js", "f();\n// TODO(i): this should be g(), so that we set the\n// actual attr value\nf();\n"),
        (
            "a.rs",
            "fn f(a: u8) {\n    if g(a) {\n        // TODO when we throw an error here we have a problem where several classes extend one base, and then it is done more than once\n    }\n}\n",
        ),
        ("a.rs", "fn f() {\n    // TODO: implement this less wasteful\n    g();\n}\n"),
        ("a.rs", "fn f(a: u8) {\n    if g(a) {\n        // TODO: figure out if it does more\n    }\n}\n"),
        ("a.rs", "// TODO: Add checked implementation\nfn f() {\n    g();\n}\n"),
        ("a.py", "# TODO: add remaining validation fields\nf()\n"),
        ("a.rs", "// TODO: Implement ExactSizeIterator\nimpl Iterator for A {}\n"),
        (
            "a.rs",
            "fn f() {\n    // FIXME: we can print fewer digits than the actual value being printed.\n    g();\n}\n",
        ),
        ("a.js", "const a = f(); // TODO: hard-coded\n"),
        ("a.js", "const a = f(b); // TODO validate --project-id\n"),
        ("a.rs", "// TODO: log it, as it is not written until the vote is committed.\nfn f() {}\n"),
        ("a.py", "def f(a):\n    # TODO: add validation\n    return g(a)\n"),
        ("a.py", "def f(a):\n    # TODO: add the missing cases\n    return g(a)\n"),
        ("a.py", "class A:\n    # TODO: implement method 'error'\n    def f(self):\n        return g(self)\n"),
        ("a.py", "def f(a):\n    # TODO: create the index\n    return g(a)\n"),
        ("a.py", "def f(a):\n    # TODO: add this\n    return g(a)\n"),
        ("a.ts", "export function f(a: A): boolean { return g(a); }\n// TODO: implement for more colors\n"),
        ("a.js", "// TODO: this is mock data\nf();\n"),
        ("a.js", "// FIXME: remove the dummy values\nf();\n"),
        ("a.rs", "// TODO: not implemented for lists\nf(1);\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.rs", "fn f(a: A) -> A {\n    // TODO: validate the input\n    a\n}\n"),
        ("a.js", "f();\n// ... rest of the code\n// and what follows\n"),
        ("a.rs", "fn f() {\n    // Skip to the end.\n    // The rest of the code here\n    g();\n}\n"),
        ("a.rs", "fn f(_: A) {\n    // TODO: use the allocations\n}\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn a_mark_among_the_parts_of_a_type_does_not_block() {
    for (path, text) in [
        ("a.c", "enum a {\n  B, /* TODO: handle the rest */\n};\n"),
        ("a.rs", "pub enum A {\n    B(u8),\n    // TODO: handle images\n}\n"),
        ("a.rs", "enum A {\n    B, // TODO: implement the number\n    C,\n}\n"),
        ("a.rs", "struct A {\n    b: u8,\n    // TODO: handle the signal\n}\n"),
        ("a.c", "struct a {\n  int b; /* TODO: handle the sign */\n};\n"),
        ("a.ts", "interface A {\n  b: string;\n  // TODO: implement the rest\n}\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    let of_code = "impl A {\n    // TODO: implement the sum\n    fn f(&self) {\n        g();\n    }\n}\n";
    assert_eq!(blocking("a.rs", of_code), [""; 0]);
    let of_all = "impl A {\n    // TODO: implement this\n    fn f(&self) {\n        g();\n    }\n}\n";
    assert_eq!(blocking("a.rs", of_all), ["placeholder/comment-todo"]);
}

#[test]
fn a_mark_where_nothing_is_left_out_does_not_block() {
    for (path, text) in [
        ("a.rs", "fn f(a: u8) {\n    if g(a) {\n        // h(a); // TODO: does not work as expected\n    }\n}\n"),
        (
            "a.rs",
            "fn f(a: u8) {\n    if g(a) {\n        // All modules are kept here, since otherwise nothing\n        // would be left of them.\n        // TODO: a kind of its own\n    }\n}\n",
        ),
        ("a.rs", "trait A {\n    fn f(&self) -> Option<u8> {\n        // TODO: replace it\n        None\n    }\n}\n"),
        ("a.rs", "/*\nfn f() {\n    // TODO: implement this\n}\n*/\n"),
        ("a.c", "#if 0\n/* TODO: implement this */\nvoid f(int a)\n{\n}\n#endif\n"),
        ("a.py", "try:\n    f()\nexcept Exception:  # FIXME: a stricter one\n    pass\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.rs",
            "fn f(a: u8) {\n    if g(a) {\n        // They are kept.\n        // TODO: a kind of its own\n    }\n}\n",
        ),
        ("a.rs", "impl A {\n    fn f(&self) -> Option<u8> {\n        // TODO: replace it\n        None\n    }\n}\n"),
        ("a.c", "#if 1\n/* TODO: implement this */\nvoid f(int a)\n{\n}\n#endif\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn what_a_base_an_object_or_an_owner_asks_for_does_not_block() {
    for (path, text) in [
        ("a.js", "class A extends B {\n  chown(p) {\n    throw new Error('Unimplemented');\n  }\n}\n"),
        ("A.java", "class A implements B {\n  int f(int a) {\n    throw new E(\"not implemented\");\n  }\n}\n"),
        ("a.php", "<?php class A extends B {\n  function f($a) {\n    throw new E('not implemented');\n  }\n}\n"),
        ("a.js", "const a = f({ set: () => { throw new Error('Not implemented'); } });\n"),
        ("a.js", "const a = { set(b) { throw new Error('Not implemented'); } };\n"),
        ("a.js", "Tool.apply = function (a) {\n  throw new Error('Not implemented');\n};\n"),
        (
            "a.py",
            "class A(list):\n    def pop(self):\n        raise NotImplementedError('A.pop not implemented')\n    def sort(self):\n        raise NotImplementedError('not yet implemented')\n    def copy(self):\n        raise NotImplementedError('not yet implemented')\n",
        ),
        (
            "a.ts",
            "class MarketWeb extends WebPlugin {\n  open(a) {\n    throw new Error('Method not implemented.');\n  }\n}\n",
        ),
        ("a.py", "class A(B):\n    def f(self):\n        return False, 'Not implemented'\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.js", "class A extends B {\n  chown(p) {\n    throw new Error('Not implemented yet');\n  }\n}\n"),
        ("a.ts", "class A implements B {\n  f(): void {\n    throw new Error('Method not implemented.');\n  }\n}\n"),
        ("a.js", "class A {\n  chown(p) {\n    throw new Error('Unimplemented');\n  }\n}\n"),
        ("a.js", "exports.apply = function (a) {\n  throw new Error('Not implemented');\n};\n"),
        ("a.js", "const apply = (a) => {\n  throw new Error('Not implemented');\n};\n"),
        ("a.py", "def update_placeholder(a):\n    raise NotImplementedError\n"),
        ("a.py", "class A(list):\n    def sort(self):\n        raise NotImplementedError('not yet implemented')\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn what_a_platform_lacks_and_what_is_handed_on_or_filled_in_does_not_block() {
    let idle = "def apply_shape(operator):\n    pass\n";
    let filled = "const fs = {\n  read: () => {\n    throw Error('read not implemented');\n  },\n  write: () => {\n    throw Error('write not implemented');\n  }\n};\n";
    for (path, text) in [
        ("src/wasm.rs", "pub fn last_access(_: &M) -> T {\n    unimplemented!()\n}\n"),
        ("sys/unsupported.js", "function load(a) {\n  throw new Error('not implemented');\n}\n"),
        ("a.py", &format!("{idle}\nregister('Pipe', apply_shape)\n")),
        ("a.py", "def debug_pass(a):\n    pass\ndebug = debug_pass\n"),
        ("a.js", filled),
        ("a.js", "function _lib_Change(p) {\n}\n"),
        ("a.rs", "fn ___action185(text: &str, at: usize) {}\n"),
        ("src/delay_wasm.rs", "pub fn last_access(_: &M) -> T {\n    unimplemented!()\n}\n"),
        ("a.rs", "const _: () = panic!(\"not implemented together with b\");\n"),
        ("a.py", "def enter_mode():\n    pass\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    assert_eq!(blocking("src/wasm.rs", "pub fn f() -> u8 {\n    todo!()\n}\n").len(), 1);
    assert_eq!(blocking("a.js", &filled.replace("implemented", "implemented yet")).len(), 2);
}

#[test]
fn what_a_compiler_or_a_bundler_has_written_does_not_block() {
    let stub = "function f(a) {\n  // TODO: implement this\n}\n";
    for (path, text) in [
        (
            "lib/a.js",
            format!("\"use strict\";\nObject.defineProperty(exports, \"__esModule\", {{ value: true }});\n{stub}"),
        ),
        ("lib/a.js", format!("var __awaiter = (this && this.__awaiter) || g;\n{stub}")),
        ("lib/a.js", format!("{stub}//# sourceMappingURL=a.js.map\n")),
        ("dist/a.js", stub.to_owned()),
        ("a.ts", format!("/* Generated by a tool. Do not edit. */\n{stub}")),
    ] {
        assert_eq!(blocking(path, &text), [""; 0], "{path}: {text}");
    }
    for path in ["lib/a.js", "src/dist.js", "dist/a.ts"] {
        assert_eq!(blocking(path, stub).len(), 1, "{path}");
    }
}

#[test]
fn a_file_that_somebody_has_written_is_not_made_a_built_one_by_a_change() {
    let stub = "fn f() -> u8 {\n    todo!()\n}\n";
    let blocks = |before: &str| {
        let scratch = Scratch::repository();
        scratch.write("a.rs", before).commit();
        scratch.write("a.rs", format!("// @generated\n{stub}"));
        let reply = scratch.check_against(Base::MergeBase);
        report(&reply, CheckName::PlaceholderScan).findings.iter().filter(|finding| finding.blocks).count()
    };

    assert_eq!(blocks("fn f() -> u8 {\n    1\n}\n"), 1);
    assert_eq!(blocks("// @generated\nfn f() -> u8 {\n    1\n}\n"), 0);
}

#[test]
fn a_mark_about_other_code_or_about_less_of_it_does_not_block() {
    for (path, text) in [
        ("a.py", "if f():\n    # TODO: remove this special case\n    pass\n"),
        ("a.rs", "fn f(a: u8) {\n    if g(a) {\n        // TODO: not covered by tests\n    }\n}\n"),
        (
            "a.rs",
            "fn f(a: u8) {\n    if g(a) {\n        // TODO: the message\n        // assert_eq!(a, b);\n    }\n}\n",
        ),
        (
            "a.rs",
            "fn f(a: u8) {\n    if g(a) {\n        /* TODO: Check messages\n        assert_eq!(a, b);\n        */\n    }\n}\n",
        ),
        ("a.js", "a.onError = function (b) {\n  // TODO: console.log(b);\n}\n"),
        ("tests/a.rs", "fn f(a: u8) {\n    if g(a) {\n        // TODO: check b\n    }\n}\n"),
        ("a.py", "def f(\n    a,\n    # TODO: handle async\n):\n    return g(a)\n"),
        ("a.rs", "// TODO: implement `AsRef<str>` and `as_str`\nimpl A {}\n"),
        ("a.rs", "// TODO: Implement DynamicType for SocketAddr\nimpl A {}\n"),
        (
            "a.rs",
            "// TODO: these values are hardcoded. Instead of making them settings,\n// rework it.\nconst A: u8 = 1;\n",
        ),
        ("a.rs", "fn f() -> Option<u8> {\n    // FIXME no way to get the real rate for now.\n    None\n}\n"),
        ("a.xml", "<a>\n<!-- FIXME:\nthis may have several answers\n-->\n</a>\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        ("a.rs", "fn f(a: u8) {\n    if g(a) {\n        // TODO: handle it\n        // h(a);\n    }\n}\n"),
        ("a.c", "int f(void) {\n    /* TODO: not currently implemented. */\n    return 0;\n}\n"),
        ("tests/a.rs", "fn f() {\n    // TODO: check b\n}\n"),
        ("a.js", "function removeUser(id) {\n  // TODO: remove the user\n}\n"),
        ("a.js", "function ping(host) {\n  // TODO: test the connection\n}\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}

#[test]
fn what_says_that_others_do_it_does_not_block() {
    for (path, text) in [
        ("a.py", "def f(a):\n    raise NotImplementedError(\n        f'{a} is not implemented yet'\n    )\n"),
        (
            "a.py",
            "class A:\n    \"\"\"Subclasses override f.\"\"\"\n    def f(self):\n        raise NotImplementedError(\"not implemented\")\n",
        ),
        ("a.js", "class A {\n  _getOverriddenMethods() {\n    throw new Error('Not implemented');\n  }\n}\n"),
        ("a.js", "f = () => {\n  // Stub implementation, overridden below\n  return g();\n};\n"),
        ("a.js", "function f(a) {\n  // Simulate async call when returning from cache\n  g(a);\n}\n"),
    ] {
        assert_eq!(blocking(path, text), [""; 0], "{path}: {text}");
    }
    for (path, text) in [
        (
            "a.py",
            "class A(B):\n    def f(self):\n        raise NotImplementedError(\"MMR search is not implemented yet\")\n",
        ),
        ("a.js", "function f(a) {\n  // Simulate API call\n  return a;\n}\n"),
    ] {
        assert_eq!(blocking(path, text).len(), 1, "{path}: {text}");
    }
}
