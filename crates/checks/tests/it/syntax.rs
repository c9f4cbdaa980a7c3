//! `syntax_check`: what is told, and what is left in peace.

use protocol::finding::{CheckName, CheckVerdict};

use crate::scratch::{Scratch, findings, report};

/// A file that is right, and the same with one mistake each.
struct Sample {
    path: &'static str,
    good: &'static str,
    mistakes: &'static [(&'static str, &'static str)],
}

const SAMPLES: &[Sample] = &[
    Sample {
        path: "a.rs",
        good: "use std::fmt;\n\n/// A pair.\nstruct Pair<T> {\n    left: T,\n    right: Vec<T>,\n}\n\nimpl<T: fmt::Debug> Pair<T> {\n    fn show(&self) -> String {\n        let all = (1, [2, 3]);\n        if self.right.is_empty() { format!(\"{:?}\", self.left) } else { match all.0 { 1 => \"one\".into(), _ => String::new() } }\n    }\n}\n",
        mistakes: &[
            ("[2, 3]);", "[2, 3];"),
            ("right: Vec<T>,\n}", "right: Vec<T>,\n"),
            ("fn show(", "fn ("),
            ("let all =", "let = "),
            ("impl<T: fmt::Debug>", "impl<T: fmt::Debug"),
            ("1 => ", "1 "),
            ("use std::fmt;", "use std::fmt"),
        ],
    },
    Sample {
        path: "a.py",
        good: "import os\n\n\nclass Pair:\n    \"\"\"Two.\"\"\"\n\n    def __init__(self, left, *right, key=None):\n        self.all = [left, (1, 2), {\"a\": right}]\n\n    async def show(self):\n        async with self.lock as held:\n            for item in self.all:\n                if item is None and key:\n                    return f\"{item!r:>10}\"\n                elif held:\n                    yield item\n        try:\n            pass\n        except (OSError, ValueError) as error:\n            raise RuntimeError(\"x\") from error\n",
        mistakes: &[
            ("(1, 2)", "(1, 2"),
            ("class Pair:", "class Pair"),
            ("key=None):", "key=None:"),
            ("for item in", "for item"),
            ("{\"a\": right}", "{\"a\": right"),
            ("    try:\n            pass", "    try\n            pass"),
            ("import os", "import"),
            ("as held:", "as :"),
            ("\"x\") from", "\"x) from"),
        ],
    },
    Sample {
        path: "a.ts",
        good: "import { a } from './a';\n\nexport interface Pair<T> { left: T; right?: T[] }\n\nexport class Box<T extends object> {\n  private readonly items: Map<string, T> = new Map();\n  constructor(public name: string) {}\n  get(key: string): T | undefined {\n    const found = this.items.get(key) as T;\n    return found ?? a(`${key}:${this.name}`);\n  }\n}\n",
        mistakes: &[
            ("left: T;", "left: ;"),
            ("'./a';", "./a';"),
            ("get(key: string)", "get(key: string"),
            ("const found =", "const found = ="),
            ("${this.name}`", "${this.name}"),
            ("new Map();\n", "new Map(;\n"),
            ("  }\n}\n", "  }\n"),
        ],
    },
    Sample {
        path: "a.tsx",
        good: "type Props = { name: string };\nexport const Hello = ({ name }: Props) => {\n  const [n, setN] = useState<number>(0);\n  return <div className=\"a\" onClick={() => setN(n + 1)}>{name}<br /></div>;\n};\n",
        mistakes: &[
            ("</div>", "</span"),
            ("{name}<br", "{name<br"),
            ("useState<number>(0)", "useState<number>(0"),
            ("=> {", "=> "),
        ],
    },
    Sample {
        path: "a.js",
        good: "'use strict';\nconst fs = require('fs');\nasync function* walk({ dir = '.', ...rest }) {\n  for await (const item of list(dir)) {\n    if (item?.size > 1_000 && !/^[a-z]+$/u.test(item.name)) yield { ...item, rest };\n  }\n}\nclass A { #x = 1; static { A.y = 2; } get x() { return this.#x; } }\nmodule.exports = { walk, A };\n",
        mistakes: &[
            ("require('fs')", "require('fs'"),
            ("'fs')", "'fs)"),
            ("const item of", "const of of of"),
            ("{ walk, A }", "{ walk A }"),
            ("get x() {", "get x( {"),
            ("module.exports =", "module.exports = ="),
        ],
    },
    Sample {
        path: "a.go",
        good: "package main\n\nimport \"fmt\"\n\ntype Pair[T any] struct {\n\tLeft  T\n\tRight []T\n}\n\nfunc (p *Pair[T]) Show(n int) (string, error) {\n\tfor i := 0; i < n; i++ {\n\t\tif v, ok := m[i]; ok {\n\t\t\treturn fmt.Sprint(v), nil\n\t\t}\n\t}\n\tselect {\n\tcase c <- 1:\n\tdefault:\n\t}\n\treturn \"\", nil\n}\n",
        mistakes: &[
            ("Show(n int)", "Show(n int"),
            ("struct {\n", "struct \n"),
            ("i := 0;", "i := ;"),
            ("fmt.Sprint(v)", "fmt.Sprint(v"),
            ("case c <- 1:", "case c <- 1"),
            ("\"fmt\"", "\"fmt"),
            ("return \"\", nil\n}", "return \"\", nil\n"),
        ],
    },
];

#[test]
fn every_claimed_language_passes_when_right_and_fails_with_each_mistake() {
    for sample in SAMPLES {
        let scratch = Scratch::repository();
        scratch.write(sample.path, sample.good).commit();
        scratch.write(sample.path, format!("{}\n", sample.good));
        let reply = scratch.check_only(CheckName::SyntaxCheck);
        assert!(
            findings(&reply).is_empty(),
            "{}: {:#?}",
            sample.path,
            findings(&reply)
        );
        assert_eq!(reply.verdict, CheckVerdict::Pass);

        for (right, wrong) in sample.mistakes {
            assert!(sample.good.contains(right), "{}: {right}", sample.path);
            scratch.write(sample.path, sample.good.replacen(right, wrong, 1));
            let reply = scratch.check_only(CheckName::SyntaxCheck);
            assert_eq!(
                reply.verdict,
                CheckVerdict::Fail,
                "{}: {right:?} -> {wrong:?}",
                sample.path
            );
        }
    }
}

#[test]
fn what_the_base_had_does_not_block_and_a_new_mistake_beside_it_does() {
    let scratch = Scratch::repository();
    let old = "fn broken( {}\n\nfn a() {}\n\nfn b() {}\n\nfn c() {}\n\nfn d() {}\n";
    scratch.write("a.rs", old).commit();

    scratch.write("a.rs", old.replace("fn c() {}", "fn c() { 1; }"));
    let harmless = scratch.check_only(CheckName::SyntaxCheck);
    scratch.write("a.rs", old.replace("fn d() {}", "fn d() { let = ; }"));
    let harmful = scratch.check_only(CheckName::SyntaxCheck);

    assert_eq!(harmless.verdict, CheckVerdict::Pass, "{harmless:#?}");
    assert!(!findings(&harmless).is_empty());
    assert_eq!(harmful.verdict, CheckVerdict::Fail, "{harmful:#?}");
}

#[test]
fn the_message_says_what_is_wrong_and_where() {
    let scratch = Scratch::plain();
    scratch.write(
        "a.rs",
        "fn main() {\n    if true {\n        run(1;\n    }\n}\n",
    );

    let reply = scratch.check_only(CheckName::SyntaxCheck);

    let found = findings(&reply)[0];
    assert_eq!((found.span.start_line, found.span.start_column), (3, 12));
    assert_eq!(found.message, "`(` is opened here and never closed");
    assert_eq!(found.rule, "rust-syntax");
}

#[test]
fn a_fingerprint_stays_when_lines_above_move() {
    let scratch = Scratch::plain();
    scratch.write("a.py", "x = (1\n");
    let before = findings(&scratch.check())[0].fingerprint.clone();

    scratch.write("a.py", "import os\n\n\nx = (1\n");

    assert_eq!(findings(&scratch.check())[0].fingerprint, before);
}

#[test]
fn templates_and_files_without_a_grammar_are_skipped_and_said() {
    let scratch = Scratch::plain();
    scratch
        .write("{{cookiecutter.name}}/a.py", "import {{ x }}\n")
        .write("notes.md", "# (\n");

    let reply = scratch.check_only(CheckName::SyntaxCheck);

    let report = report(&reply, CheckName::SyntaxCheck);
    assert_eq!(report.verdict, CheckVerdict::Skip);
    assert_eq!(report.skipped.len(), 2);
}
