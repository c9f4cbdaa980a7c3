//! `syntax_check`: what is reported, and what is not.

use switchboard_protocol::finding::{CheckName, CheckVerdict};

use crate::scratch::{Scratch, findings, report};

/// A correct file, and variants of it with one mistake each.
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
            ("import os", " os"),
            ("self.all = [left", "self.all =\n        x = [left"),
            ("            pass\n", "\n"),
            ("\"x\") from error", "x=1, 2) from error"),
            ("\"x\") from error", "\"x\" b\"y\") from error"),
            ("        self.all = [left, (1, 2), {\"a\": right}]", "        self.all = 1 +\n        self.b = 2"),
            ("    async def show(self):\n", "    "),
            ("        except (OSError, ValueError) as error:\n            raise RuntimeError(\"x\") from error\n", ""),
            ("async def show", "def show"),
            ("import os", "break"),
            ("self.all = [left, (1, 2), {\"a\": right}]", "self.all = * right"),
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
            ("left: T;", "left: T & & T;"),
            ("a(`", "a(, `"),
            ("import { a }", "import { default }"),
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
            ("{ walk, A }", "{ walk,, A }"),
            ("list(dir)", "list(, dir)"),
            ("const fs =", "const fs;\nlet x ="),
            ("async function* walk", "function walk"),
            ("async function* walk(", "function ("),
            ("item?.size > 1_000 &&", "item.size > 1 && item.size = 2 &&"),
            ("const item of", "const new of"),
            ("module.exports = {", "try { } module.exports = {"),
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
            ("package main\n", ""),
            ("(string, error)", "(name string, error)"),
            ("fmt.Sprint(v)", "fmt.Sprint(\nv\n)"),
            ("type Pair[T any] struct", "Pair := struct"),
            ("i < n;", "i < n && && ok;"),
        ],
    },
    Sample {
        path: "a.java",
        good: "package a;\n\nimport java.util.List;\n\npublic record Pair<T>(T left, List<T> right) {\n    enum Kind { ONE, TWO; }\n\n    @Override\n    public String toString() {\n        for (T item : right) {\n            if (item instanceof String s && !s.isEmpty()) { return s + \"x\"; }\n        }\n        return switch (right.size()) { case 0 -> \"none\"; default -> { yield \"many\"; } };\n    }\n}\n",
        mistakes: &[
            ("import java.util.List;", "import java.util.List"),
            ("toString() {", "toString( {"),
            ("for (T item : right)", "for (T item right)"),
            ("return s + \"x\";", "return s + ;"),
            ("(T left,", "(T left"),
            ("        }\n        return", "        return"),
            ("case 0 ->", "case ->"),
            ("return s + \"x\";", "s + \"x\";"),
            ("public String toString()", "public toString()"),
            ("public String toString()", "public public String toString()"),
            ("T left, List<T> right", "private T left, List<T> right"),
            ("List<T> right", "List<> right"),
            ("public String toString() {", "public String toString() { int n = 99999999999;"),
            ("public String toString() {", "public String toString() { int case = 1;"),
            ("for (T item : right) {", "for (T item : right) { public int x = 1;"),
        ],
    },
    Sample {
        path: "a.c",
        good: "#include <stdio.h>\n\nstruct pair { int left; char *right[4]; };\n\nstatic int show(const struct pair *p, size_t n) {\n    for (size_t i = 0; i < n; i++) {\n        if (p[i].left > 3 && p->right[0]) { printf(\"%d\\n\", p[i].left); } else { return -1; }\n    }\n    return 0;\n}\n",
        mistakes: &[
            ("i++) {", "i++ {"),
            ("return 0;\n}\n", "return 0;\n"),
            ("int left;", "int left"),
            ("p->right[0])", "p->right[0)"),
            ("return -1;", "return -;"),
        ],
    },
    Sample {
        path: "a.cpp",
        good: "#include <vector>\n\nnamespace a {\ntemplate <typename T>\nclass box {\npublic:\n    explicit box(T value) : value_{value} {}\n    auto get() const -> const T& { return value_; }\nprivate:\n    T value_;\n};\n\nint run() {\n    auto add = [](int x, int y) { return x + y; };\n    std::vector<int> all{1, 2, 3};\n    for (auto& item : all) { item = add(item, 1); }\n    return all.size() > 2 ? all[0] : 0;\n}\n}  // namespace a\n",
        mistakes: &[
            ("add(item, 1);", "add(item, 1;"),
            ("return x + y;", "return x + ;"),
            ("{1, 2, 3};", "{1, 2, 3;"),
            ("int run() {", "int run( {"),
            ("}  // namespace a\n", "\n"),
        ],
    },
    Sample {
        path: "a.cs",
        good: "using System;\n\nnamespace A;\n\npublic sealed class Box<T> where T : class\n{\n    public string Name { get; init; } = \"x\";\n    private readonly T? value;\n\n    public async Task<int> Run(int n)\n    {\n        foreach (var item in Items(n))\n        {\n            if (item is { Length: > 2 } text) return text switch { \"a\" => 1, _ => 2 };\n        }\n        return await Task.FromResult(n ?? 0);\n    }\n}\n",
        mistakes: &[
            ("using System;", "using System"),
            ("Run(int n)", "Run(int n"),
            ("{ get; init; }", "{ get; init; "),
            ("foreach (var item in", "foreach (var item"),
            ("return await", "return return await"),
            ("    }\n}\n", "    }\n"),
        ],
    },
    Sample {
        path: "a.rb",
        good: "require 'json'\n\nmodule A\n  class Box < Base\n    attr_reader :name\n\n    def initialize(name, *rest, key: nil, &block)\n      @name = name\n      rest.each { |item| puts \"#{item} #{key}\" if item }\n    end\n\n    def show\n      case @name\n      when /a+/ then [1, 2]\n      else { a: 1 }\n      end\n    rescue StandardError => e\n      raise\n    end\n  end\nend\n",
        mistakes: &[
            ("  end\nend\n", "end\n"),
            ("  end\nend\n", "  end\nend\nend\n"),
            ("(name, *rest,", "(name, *rest"),
            ("{ |item|", "{ |item"),
            ("[1, 2]", "[1, 2"),
            ("{ a: 1 }", "{ a: 1 "),
            ("def show\n", "def \n"),
        ],
    },
    Sample {
        path: "a.php",
        good: "<?php\n\ndeclare(strict_types=1);\n\nnamespace A;\n\nfinal class Box implements \\Countable\n{\n    public function __construct(private readonly string $name, private array $all = []) {}\n\n    public function count(): int\n    {\n        foreach ($this->all as $key => $item) {\n            if ($item?->size > 1) { return match (true) { $key > 2 => 1, default => \"x{$key}\" }; }\n        }\n        return count(array_map(fn ($x) => $x + 1, $this->all));\n    }\n}\n",
        mistakes: &[
            ("namespace A;", "namespace A"),
            ("declare(strict_types=1);", "declare(strict_types=1)"),
            ("count(): int", "count(: int"),
            ("as $key =>", "as =>"),
            ("$x + 1,", "$x + ,"),
            ("$this->all));", "$this->all);"),
            ("    }\n}\n", "    }\n"),
            ("= []) {}", "= [) {}"),
        ],
    },
    Sample {
        path: "a.kt",
        good: "package a\n\nimport java.io.File\n\ndata class Pair<T>(val left: T, val right: List<T> = emptyList()) {\n    fun show(n: Int): String {\n        for (item in right) {\n            if (item != null && n > 2) return \"x $item ${n + 1}\"\n        }\n        return when (n) {\n            0 -> \"none\"\n            else -> right.map { it.toString() }.joinToString(\",\")\n        }\n    }\n}\n",
        mistakes: &[
            ("show(n: Int)", "show(n: Int"),
            ("for (item in right)", "for (item in )"),
            ("0 -> \"none\"", "0 -> -> \"none\""),
            ("{ it.toString() }", "{ it.toString() "),
            ("val left: T,", "val left: ,"),
            ("emptyList()) {", "emptyList() {"),
        ],
    },
    Sample {
        path: "a.swift",
        good: "import Foundation\n\nstruct Box<T: Equatable> {\n    let name: String\n    var all: [T] = []\n\n    func show(_ n: Int) throws -> String {\n        guard let first = all.first, n > 1 else { return \"none\" }\n        for item in all where item == first {\n            print(\"x \\(item)\")\n        }\n        switch n {\n        case 0: return \"a\"\n        default: return name\n        }\n    }\n}\n",
        mistakes: &[
            ("show(_ n: Int)", "show(_ n: Int"),
            ("var all: [T] = []", "var all: [T = []"),
            ("else { return \"none\" }", "else { return \"none\" "),
            ("for item in all", "for item all"),
            ("    }\n}\n", "    }\n"),
            ("let name: String", "let : String"),
        ],
    },
    Sample {
        path: "a.dart",
        good: "import 'dart:async';\n\nclass Box<T> extends Base {\n  final String name;\n  Box(this.name, {required int n, List<T> all = const []});\n\n  Future<int> run(int n) async {\n    for (final item in [1, 2, 3]) {\n      if (item > n) {\n        return await compute(() => item + 1);\n      }\n    }\n    return name.isEmpty ? 0 : 1;\n  }\n}\n",
        mistakes: &[
            ("'dart:async';", "'dart:async'"),
            ("run(int n)", "run(int n"),
            ("[1, 2, 3])", "[1, 2, 3)"),
            ("return name.isEmpty ? 0 : 1;", "return name.isEmpty ? 0 1;"),
            ("  }\n}\n", "  }\n"),
            ("final String name;", "final = name;"),
        ],
    },
    Sample {
        path: "a.css",
        good: "@media (min-width: 10px) {\n  .a > b:hover, #c::before {\n    color: rgb(1, 2, 3);\n    margin: calc(1px + 2em) auto;\n  }\n}\n:root { --x: 1px; }\n",
        mistakes: &[
            ("auto;\n  }\n}", "auto;\n  }\n"),
            ("rgb(1, 2, 3);", "rgb(1, 2, 3;"),
            ("color: rgb", "color rgb"),
            ("{ --x: 1px; }", "{ --x: 1px; "),
        ],
    },
    Sample {
        path: "a.sh",
        good: "#!/bin/sh\nset -eu\nname=\"${1:-x}\"\nrun() {\n  local n=$((1 + 2))\n  for item in a b; do\n    if [ \"$item\" = \"$name\" ]; then echo \"$(date) $n\"; else return 1; fi\n  done\n  case $name in\n    a|b) echo ab ;;\n    *) echo other ;;\n  esac\n}\nrun | sort > /dev/null\n",
        mistakes: &[
            ("; fi\n", "; \n"),
            ("  done\n", "\n"),
            ("  esac\n", "\n"),
            ("\"$(date) $n\"", "\"$(date $n\""),
            ("run() {", "run() "),
            ("; then", ";"),
            ("${1:-x}\"", "${1:-x\""),
        ],
    },
    Sample {
        path: "a.ps1",
        good: "param(\n    [string]$Name = 'x'\n)\n\nfunction Get-Box {\n    $all = @(1, 2, 3)\n    foreach ($item in $all) {\n        if ($item -gt 2) { Write-Output \"x $item\" } else { return $null }\n    }\n}\n\nGet-Box | Sort-Object\n",
        mistakes: &[
            ("@(1, 2, 3)", "@(1, 2, 3"),
            ("foreach ($item in $all) {", "foreach ($item in $all {"),
            ("{ return $null }\n", "{ return $null \n"),
            ("function Get-Box {", "function {"),
            ("if ($item -gt 2)", "if $item -gt 2)"),
        ],
    },
    Sample {
        path: "a.ini",
        good: "; settings\n[server]\nhost = localhost\nport = 80\n\n[client]\nname = x\n",
        mistakes: &[("[server]", "[server"), ("port = 80", "port"), ("[client]", "client]")],
    },
    Sample {
        path: "a.regex",
        good: "^(?:[a-z]+|\\d{2,3})(x|y)*$",
        mistakes: &[("(?:", "(?"), ("(x|y)", "(x|y"), ("[a-z]", "[a-z"), ("{2,3})", "{2,3}")],
    },
];

#[test]
fn every_claimed_language_has_a_sample() {
    let sampled: std::collections::BTreeSet<_> =
        SAMPLES.iter().filter_map(|sample| switchboard_grammars::Language::of(sample.path, b"")).collect();

    let missing: Vec<_> =
        switchboard_grammars::Language::ALL.iter().filter(|language| !sampled.contains(language)).collect();

    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_claimed_language_passes_when_right_and_fails_with_each_mistake() {
    let mut wrong = Vec::new();
    for sample in SAMPLES {
        let scratch = Scratch::repository();
        scratch.write(sample.path, sample.good).commit();
        let harmless =
            if sample.path == "a.regex" { format!("{}|z", sample.good) } else { format!("{}\n", sample.good) };
        scratch.write(sample.path, harmless);
        let reply = scratch.check_only(CheckName::SyntaxCheck);
        if reply.verdict != CheckVerdict::Pass || !findings(&reply).is_empty() {
            wrong.push(format!("{}: right, but {:?}", sample.path, findings(&reply)));
        }

        for (right, mistake) in sample.mistakes {
            assert!(sample.good.contains(right), "{}: {right}", sample.path);
            scratch.write(sample.path, sample.good.replacen(right, mistake, 1));
            if scratch.check_only(CheckName::SyntaxCheck).verdict != CheckVerdict::Fail {
                wrong.push(format!("{}: {right:?} -> {mistake:?}", sample.path));
            }
        }
    }

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn macros_of_c_do_not_block() {
    let scratch = Scratch::repository();
    scratch.write("a.h", "int a(void);\n").commit();

    scratch.write("a.h", "int a(void);\nDECLARE_LIST(item, next)\nEXPORT_API int b(void) NOEXCEPT;\n").write(
        "new.hpp",
        "#define BEGIN namespace a {\nBEGIN\nFOO_BAR(x)\nclass EXPORT b { Q_OBJECT public: int c; };\n",
    );

    assert_eq!(scratch.check_only(CheckName::SyntaxCheck).verdict, CheckVerdict::Pass);
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
    scratch.write("a.rs", "fn main() {\n    if true {\n        run(1;\n    }\n}\n");

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
    scratch.write("{{cookiecutter.name}}/a.py", "import {{ x }}\n").write("notes.md", "# (\n");
    scratch.write("lib/archetype-resources/A.kt", "package ${package}\n");
    scratch.write("model.rb", "<% module_namespacing do -%>\nclass <%= name %> < A\nend\n<% end -%>\n");
    scratch.write("migration.rb", "class Create<%= name %> < A[<%= version %>]\nend\n");

    let reply = scratch.check_only(CheckName::SyntaxCheck);

    let report = report(&reply, CheckName::SyntaxCheck);
    assert_eq!(report.verdict, CheckVerdict::Skip);
    assert_eq!(report.skipped.len(), 5);
    let whys: Vec<&str> = report.skipped.iter().map(|file| file.why.as_str()).collect();
    assert_eq!(whys.iter().filter(|why| **why == "a template, not code yet").count(), 4, "{whys:?}");
}

#[test]
fn a_file_that_becomes_a_template_blocks() {
    let scratch = Scratch::repository();
    scratch.write("a.rb", "class A\nend\n").commit();
    scratch.write("a.rb", "<% if a -%>\nclass A\nend\n");

    let reply = scratch.check_only(CheckName::SyntaxCheck);

    assert!(findings(&reply).iter().any(|finding| finding.blocks));
}

/// Writes one file, checks it as new, and returns the positions of blocking findings.
fn blocked(path: &str, text: &str) -> Vec<(u32, u32)> {
    let scratch = Scratch::plain();
    scratch.write(path, text);
    let reply = scratch.check_only(CheckName::SyntaxCheck);
    findings(&reply).iter().filter(|f| f.blocks).map(|f| (f.span.start_line, f.span.start_column)).collect()
}

#[test]
fn broken_data_blocks_with_line_and_column() {
    for (path, text, place) in [
        ("package.json", "{\n  \"name\": \"a\"\n  \"version\": \"1\"\n}\n", (3, 3)),
        ("tsconfig.json", "{\n  // why\n  \"a\": [1, 2\n}\n", (4, 1)),
        (".github/workflows/ci.yml", "on: push\njobs:\n  a:\n    runs-on: x\n   steps: []\n", (5, 4)),
        ("docker-compose.yml", "services:\n  a:\n    image: b\n    image: c\n", (4, 5)),
        ("Cargo.toml", "[package]\nname = \"a\nversion = \"1\"\n", (2, 10)),
        ("pom.xml", "<project>\n  <a>\n</project>\n", (3, 1)),
        ("Dockerfile", "FROM a\nRNU b\n", (2, 1)),
        ("main.tf", "resource \"a\" \"b\" {\n  c = [1, 2\n}\n", (3, 1)),
        ("a.scss", ".a {\n  &:hover { b: c }\n", (1, 4)),
        ("a.sql", "SELECT 1;\nSELECT (2;\n", (2, 8)),
    ] {
        assert_eq!(blocked(path, text), [place], "{path}");
    }
}

#[test]
fn templates_and_documents_of_many_parts_do_not_block() {
    for (path, text) in [
        ("templates/a.yaml", "{{- if .Values.a }}\na: {{ .Values.b }}\n{{- end }}\n"),
        ("roles/a.yml", "a: \"{{ b }}\"\nc: {{ d }}-x\n"),
        ("k8s.yaml", "a: 1\n---\nb: 2\n"),
        ("log.jsonl", "{\"a\":1}\n{\"a\":2}\n"),
        ("assets/main.js", "---\n---\nvar a = 1;\n"),
        ("feed.xml", "---\nlayout: none\n---\n<?xml version=\"1.0\"?>\n<a/>\n"),
        ("search.json", "---\nlayout: none\n---\n[]\n"),
        ("index.html", "<ul>{% for a in b %}<li>{{ a }}{% endfor %}</ul>"),
        (".eslintrc.json", "{ /* a */ \"b\": 1, }"),
    ] {
        assert_eq!(blocked(path, text), [], "{path}");
    }
}

#[test]
fn a_preprocessor_is_read_arm_by_arm() {
    let heads =
        "class A\n{\n#if NET\n    void F(int a)\n#else\n    void F()\n#endif\n    {\n    }\n}\n#pragma warning restore";
    let call = "class A\n{\n    B c = d\n#if NET\n        .E()\n#endif\n        .F();\n}\n#endregion";
    assert_eq!((blocked("a.cs", heads), blocked("b.cs", call)), (vec![], vec![]));
    assert!(!blocked("a.cs", &heads.replace("(int a)", "(int a").replace("F()", "F(")).is_empty());

    let whole = "#if NET\nclass A\n{\n    string B = @\"\\(\";\n    void F() { G(1); }\n}\n#endif\n";
    assert_eq!(blocked("c.cs", whole), []);
    assert_eq!(blocked("c.cs", &whole.replace("G(1);", "G(1;")), [(5, 17)]);

    let c = "#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n  MACRO_WITHOUT_SEMICOLON(a)\n  return (1);\n}\n";
    assert_eq!(blocked("a.c", c), []);
    assert_eq!(blocked("a.c", &c.replace("(1);", "(1;")), [(7, 10)]);
    assert_eq!(blocked("a.c", &c.replace("#endif\n", "")), [(1, 1)]);
}

#[test]
fn what_grammars_stumble_over_does_not_block() {
    for (path, text) in [
        ("a.kt", "fun f() = open(x)\nclass A\n@Inject\nconstructor(b: Int)\n"),
        ("a.kt", "class A { fun f() { g(1) } }\nobject B { fun f() {} }\ninterface C { fun f() = g(1) }\n"),
        ("a.kt", "val a = object : B { override fun f(): Int { return g { it } } }\n"),
        ("a.jsx", "const a = <h5 class=\"b\">Live & Query</h5>;\n"),
        ("a.js", "var a\n\n[1].forEach(f)\n"),
        ("a.php", "<?php\nInteger::g();\n"),
        ("a.sh", "#!/usr/bin/perl -w\nif (open(F, $a)) { print <F>; }\n"),
        ("b.sh", "#!@PERL@\nuse strict;\nsub f { return (1; }\n"),
        ("c.sh", "<?xml version=\"1.0\"?>\n<a>(</a>\n"),
    ] {
        assert_eq!(blocked(path, text), [], "{path}");
    }
}

#[test]
fn a_script_for_any_shell_is_read() {
    for first in ["#!/bin/sh", "#!/usr/bin/env bash", "#!@SHELL@", "# a note", "#!@BIN@/run"] {
        assert_eq!(blocked("a.sh", &format!("{first}\nif a; then\n  b\n")), [(2, 1)], "{first}");
    }
}

#[test]
fn a_new_shell_script_blocks_by_its_words_and_brackets() {
    // The grammar knows neither construct.
    let odd = "f() (( $1 > 0 ))\ncase $1 in *.{a,b}) echo ${1@U} ;; esac\n";
    let broken = "if a; then\n  b\n\nfor i in 1; do c; done\n";
    let tcl = "#!/bin/sh\n# Tcl goes on here \\\nexec tclsh \"$0\" \"$@\"\nproc f {a} {\n  set b [list (c) d] }\nputs {\n}\n}\n";

    assert_eq!((blocked("a.sh", odd), blocked("b.sh", tcl)), (vec![], vec![]));
    assert_eq!(blocked("c.sh", broken), [(1, 1)]);
}

#[test]
fn components_are_checked_by_their_scripts_and_styles() {
    let vue =
        "<template><p>a</p></template>\n<script>\nexport default { a: 1 }\n</script>\n<style>\na { b: c }\n</style>\n";

    assert_eq!(blocked("a.vue", vue), []);
    assert_eq!(blocked("a.vue", &vue.replace("a: 1 }", "a: 1")), [(3, 16)]);
    assert_eq!(blocked("a.vue", &vue.replace("b: c }", "b: c")), [(6, 3)]);
    assert_eq!(blocked("a.vue", &vue.replace("a: 1 }", "a: 1 {{#if}}")), [], "a template for a component");
}
