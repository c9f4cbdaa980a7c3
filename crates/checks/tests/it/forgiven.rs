//! `syntax_check`: mistakes that a grammar accepts and a compiler refuses, and legal code that a grammar refuses.

use std::collections::BTreeSet;

use switchboard_protocol::finding::{CheckName, CheckReply, CheckVerdict};

use crate::scratch::{Scratch, findings, report};

/// Files of one language: each with one mistake, or with a similar text that is correct.
struct Rules {
    ending: &'static str,
    wrong: &'static [&'static str],
    right: &'static [&'static str],
}

const RULES: &[Rules] = &[
    Rules {
        ending: "py",
        wrong: &[
            "def f(a=1, b): pass",
            "def f(*, **k): pass",
            "def f(**k, a): pass",
            "def f(*a, *b): pass",
            "def f(a, a): pass",
            "def f((a, b)): pass",
            "x = lambda a=1, b: a",
            "f(a=1, a=2)",
            "f(**a, *b)",
            "f(,)",
            "x = {,}",
            "import a,",
            "from a import b,",
            "x = 1\nfrom __future__ import annotations",
            "def f():\n    from a import *",
            "x = 0777",
            "x = 10L",
            "x = 1_",
            "x = '\\x1'",
            "x = '\\u12'",
            "x = '\\N{BULLET'",
            "x = b'\u{e9}'",
            "x = ur''",
            "x = f'{a!x}'",
            "*a = b",
            "a, *b, *c = d",
            "(a, b) += c",
            "a, b: int",
            "del f()",
            "with a as 1: pass",
            "print 'x'",
            "exec 'x'",
            "a <> b",
            "raise A, b",
            "async = 1",
            "x := 1",
            "nonlocal x",
            "@a\n  def f(): pass",
            "try:\n    pass\nexcept:\n    pass\nexcept A:\n    pass",
            "try:\n    pass\nelse:\n    pass\nfinally:\n    pass",
            "x = a.\nb",
            "x = [a async for a in b]",
        ],
        right: &[
            "def f(a, /, b=1, *c, d, e=2, **k): pass",
            "def f(a=1, *, b): pass",
            "x = lambda *a, b: a",
            "f(*a, b=1, *c, **d)",
            "f(\n    a,  # why\n)",
            "import a, b",
            "from a import (b,)",
            "\"\"\"Doc.\"\"\"\n# why\nfrom __future__ import annotations\nfrom __future__ import division",
            "from a import *",
            "x = (0, 00, 0o7, 1_000, 0.5, 01.5, 1e3, 10j)",
            "x = '\\x1f\\u1234\\N{BULLET}'",
            "x = r'\\x1'",
            "x = b'\\u12'",
            "x = f'{a!r:>{b}}'",
            "*a, b = c",
            "(a) += b\n(c): int = 1\nd: int",
            "del a, b[0], c.d",
            "with a as b, c as (d, e): pass",
            "print('x')\nprint >>f, 'x'",
            "raise A(b) from c",
            "(x := 1)\nif y := 2: pass",
            "@a\n@b\ndef f(): pass",
            "class A:\n    @a\n    def f(self): pass",
            "try:\n    pass\nexcept A:\n    pass\nexcept:\n    pass\nelse:\n    pass",
            "x = (a.\n    b)",
            "def f(): return (a async for a in b if await a)",
        ],
    },
    Rules {
        ending: "js",
        wrong: &[
            "const as = (;",
            "class A {\n  #b\n\n  [c = null\n}",
            "let a; let a;",
            "const a = 1; function a() {}",
            "import a from 'a'; import { a } from 'b';",
            "class A {} class A {}",
            "const { b, c: [a] } = x; let a;",
            "(a, b) = c;",
            "({ a }) = b;",
            "a?.b = 1;",
            "1++;",
            "a ?? b || c;",
            "-a ** b;",
            "x = () => {} ();",
            "x = a\n=> b;",
            "function f() { throw\na; }",
            "x = { get a(b) {} };",
            "x = { set a() {} };",
            "break;",
            "a: while (b) { (() => { break a; })(); }",
            "if (a) continue;",
            "switch (a) { default: default: }",
            "if (a) let b = 1;",
            "class A { f() { this.#b; } }",
            "x = /(/;",
            "x = /a**/;",
            "x = /(?a)/;",
            "x = /[b-a]/;",
            "x = /a{2,1}/;",
            "x = /a/gg;",
            "x = /a/q;",
            "x = /)/;",
        ],
        right: &[
            "const as = f();\nconst b = as ? as.trim() : '';\nif (as === 'a' || (as && b)) g(as);",
            "import * as a from 'a';\nexport { b as c } from 'd';",
            "class A {\n  #b\n\n  [c] = null\n}",
            "var a; var a; function a() {}",
            "let a; { let a; } function f() { let a; }",
            "const { a: b } = x; let a;",
            "(a) = b; (a.b) = c; ({ a } = b); [a, b] = [b, a];",
            "(a.b)++; --c[0];",
            "(a ?? b) || c; a || (b ?? c);",
            "(-a) ** b; a ** -b;",
            "const f = () => {}\n(a)",
            "x = (a,\n  b) => c;",
            "function f() { throw (\na); }",
            "x = { get a() { return 1; }, set a(b) {}, get: 1, set: 2, get(a, b) {} };",
            "a: { if (b) break a; }",
            "for (;;) { switch (a) { case 1: break; default: continue; } }",
            "a: for (;;) { for (;;) { continue a; } }",
            "if (a) { let b = 1; }",
            "for (let a of b) c();",
            "class A { #b = 1; f() { return class { g(a) { return a.#b; } }; } }",
            "x = [/[(]\\(|a+?b{2,}?c{x}(?:d)(?<e>f)(?=g)(?<!h)/giu, /[a-z\\d-]{1,3}/, /[^-A-Z\\]]/, /(?=a)*/, /]}/];",
            "  let a\n  [a, b] = c()",
            "  const f = () => {\n  }\n\n  [...a].forEach(f)",
            "async function f() { await using a = b; }",
            "export { a as let, b as await };\nlet a, b;",
        ],
    },
    Rules {
        ending: "ts",
        wrong: &[
            "let a: = 1;",
            "import('./a'.B;",
            "if (a) let b = 1;",
            "break;",
            "x = /(/;",
            "export type * 'a';",
            "let a = { b: 1, b: 2 };",
            "let a: A<B, >;",
        ],
        right: &[
            "const a = await load<typeof import('./store')>();",
            "function f(as?: A, b = as): A { return as || 'div'; }\nconst g = (as?: A): as is B => as === 'a' && as.b;",
            "type A = { [u in B]? : C };",
            "class A {\n  #b\n\n  [c] = null\n}",
            "vi.mock('a', async (load) => ({ ...(await load<typeof import(\"a\")>()) }));",
            "let a: import('./b').C<D>;\nfunction f(): Promise<import('./b').E> { return import('./b').then((x) => x); }",
            "export type * from './a';\nexport type { B } from './b';",
            "declare module 'a' {\n  global {\n    interface B {}\n  }\n}",
            "export import A = require('./a');",
            "interface A {\n  abstract: boolean\n  in: string\n  using(using: any): void\n}",
            "interface A<\n  // why\n  in out T,\n> {}",
            "type A = { [K in keyof readonly any[]]?: boolean };",
            "declare const f: ({ a }?: B) => C;",
            "let a = { b: 1, c: { b: 2 }, get d() { return 1; }, set d(e) {}, [f]: 1, [f]: 2 };\nlet [g, h] = [1, 2];",
            "type A = `x \\`${string}\\``;",
            "const f =\n  <A>(a: A) =>\n  <B>(b: B) => a;",
            "interface A { get(a: string): string; set(a: string, b: string): void }",
        ],
    },
    Rules {
        ending: "d.ts",
        wrong: &["export default function (a: B: C;"],
        right: &["export default function (\n  a: B,\n): C;"],
    },
    Rules {
        ending: "java",
        wrong: &["class A { void f() { case null, default -> 1; } }"],
        right: &["class A { int f(Object o) { return switch (o) { case String s -> 1; case null, default -> 2; }; } }"],
    },
];

fn blocked(reply: &CheckReply) -> BTreeSet<String> {
    findings(reply).iter().filter(|finding| finding.blocks).map(|finding| finding.path.clone()).collect()
}

#[test]
fn what_a_compiler_refuses_blocks_and_its_look_alike_does_not() {
    let scratch = Scratch::plain();
    let mut names = Vec::new();
    for rules in RULES {
        for (word, texts) in [("wrong", rules.wrong), ("right", rules.right)] {
            for (at, text) in texts.iter().enumerate() {
                let name = format!("{word}{at}.{}", rules.ending);
                scratch.write(&name, format!("{text}\n"));
                names.push((name, *text));
            }
        }
    }

    let blocked = blocked(&scratch.check_only(CheckName::SyntaxCheck));

    let surprising: Vec<_> =
        names.iter().filter(|(name, _)| blocked.contains(name) != name.starts_with("wrong")).collect();
    assert!(surprising.is_empty(), "{surprising:#?}");
}

#[test]
fn what_browsers_read_is_no_mistake() {
    let scratch = Scratch::repository();
    scratch.write("a.css", "a { b: c }\n").commit();

    scratch.write(
        "a.css",
        "a { background: url(../x/a.png) no-repeat; b: c;; --d: }\n\
         @font-face { src: url(./a.ttf)format(\"truetype\") }\n\
         @-moz-document url-prefix() { a { b: c } }\n\
         @container main (min-width: 3px) { a { b: c } }\n",
    );
    let right = scratch.check_only(CheckName::SyntaxCheck);
    scratch.write("a.css", "a { background: url(../x/a.png) no-repeat; b c }\n");
    let wrong = scratch.check_only(CheckName::SyntaxCheck);

    assert_eq!(findings(&right).len(), 0, "{right:#?}");
    assert_eq!(wrong.verdict, CheckVerdict::Fail);
}

#[test]
fn a_new_file_in_a_dialect_is_skipped_and_said() {
    let scratch = Scratch::plain();
    scratch
        .write("a.js", "// @flow\nexport type A = {| +b: ?string, ... |};\n")
        .write("a.h", "#import <A/A.h>\n@interface A : B\n- (void)c:(D *)e;\n@end\n")
        .write("b.hpp", "FOO_BAR(x)\nclass EXPORT b { Q_OBJECT public: int c; };\n");

    let reply = scratch.check_only(CheckName::SyntaxCheck);

    assert_eq!(findings(&reply).len(), 0, "{reply:#?}");
    assert_eq!(report(&reply, CheckName::SyntaxCheck).skipped.len(), 3);
}

#[test]
fn code_that_nests_deep_is_looked_at_to_its_end() {
    let scratch = Scratch::plain();
    let deep = 3_000;
    scratch
        .write("a.js", format!("async function f() {{ return {}1; }}\n", "await ".repeat(deep)))
        .write("a.py", format!("x = ({}1)\n", "a +\n".repeat(deep)))
        .write("a.go", format!("package a\n\nvar x = {}1{}\n", "(".repeat(deep), ")".repeat(deep)))
        .write("A.java", format!("class A {{ int a = {}1; }}\n", "- ".repeat(deep)));

    let reply = scratch.check_only(CheckName::SyntaxCheck);
    let placeholders = scratch.check_only(CheckName::PlaceholderScan);

    assert_eq!(findings(&reply).len(), 0, "{reply:#?}");
    assert_eq!(findings(&placeholders).len(), 0);
}
