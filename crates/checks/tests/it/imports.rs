//! Whether what a change imports exists.

use switchboard_checks::Limits;
use switchboard_protocol::finding::{Base, CheckName, CheckReport, CheckRequest, CheckVerdict};

use crate::scratch::Scratch;

fn judged(base: &[(&str, &str)], change: &[(&str, &str)]) -> CheckReport {
    judged_within(base, change, &Limits::default())
}

fn judged_within(base: &[(&str, &str)], change: &[(&str, &str)], limits: &Limits) -> CheckReport {
    let scratch = Scratch::repository();
    for (path, text) in base {
        scratch.write(path, text);
    }
    scratch.commit();
    for (path, text) in change {
        scratch.write(path, text);
    }
    scratch.commit();
    let commit = Some(scratch.git(&["rev-parse", "HEAD"]).trim().to_owned());
    let request =
        CheckRequest { base: Base::Rev("HEAD~1".into()), commit, only: vec![CheckName::Imports], ..scratch.request() };
    let mut reply = switchboard_checks::run(&request, limits);
    assert_eq!(reply.failures, []);
    reply.reports.remove(0)
}

const TREE: [(&str, &str); 8] = [
    ("pyproject.toml", "[project]\ndependencies = [\"requests>=2\", \"PyYAML\"]\n"),
    ("package.json", r#"{ "name": "shop", "dependencies": { "react": "19", "@scope/kit": "1" } }"#),
    ("shop/__init__.py", ""),
    ("shop/cart.py", ""),
    ("web/cart.ts", ""),
    ("web/parts/index.tsx", ""),
    ("src/lib.rs", ""),
    ("src/shop/price.rs", ""),
];

#[test]
fn a_path_that_leads_to_no_file_blocks() {
    let rows = [
        ("shop/a.py", "from .basket import x\n", "`.basket`"),
        ("shop/a.py", "from ..shops.cart import x\n", "`..shops.cart`"),
        ("web/a.ts", "import { x } from './basket';\n", "`./basket`"),
        ("web/a.js", "const x = require('../cart');\n", "`../cart`"),
        ("web/a.ts", "export * from './parts/side';\n", "`./parts/side`"),
        ("src/main.rs", "mod basket;\n", "`basket`"),
    ];
    for (path, text, name) in rows {
        let report = judged(&TREE, &[(path, text)]);

        assert_eq!(report.verdict, CheckVerdict::Fail, "{text}: {report:#?}");
        assert!(report.findings[0].message.contains(name), "{text}: {}", report.findings[0].message);
    }
}

#[test]
fn what_is_there_or_may_come_from_elsewhere_finds_nothing() {
    let rows = [
        ("shop/a.py", "from .cart import x\nfrom . import anything\nfrom .. import y\nfrom ._version import v\n"),
        ("shop/a.py", "import os.path\nimport requests, yaml\nfrom shop.cart import x\n"),
        ("shop/a.py", "try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n"),
        ("web/a.ts", "import { x } from './cart';\nimport y from './cart.js';\nimport p from './parts';\n"),
        (
            "web/a.ts",
            "import 'react';\nimport k from '@scope/kit/deep';\nimport fs from 'node:fs';\nimport a from '@/cart';\n",
        ),
        ("web/a.ts", "import g from './generated/client';\n"),
        ("src/main.rs", "mod shop { }\n#[path = \"x.rs\"]\nmod other;\n"),
        ("src/shop.rs", "mod price;\n"),
    ];
    for (path, text) in rows {
        let report = judged(&TREE, &[(path, text)]);

        assert_eq!((report.verdict, report.findings.len()), (CheckVerdict::Pass, 0), "{text}: {report:#?}");
    }
}

#[test]
fn a_name_that_nothing_names_is_told_and_an_import_of_the_base_is_not() {
    for (path, text) in [("shop/a.py", "import numpy\n"), ("web/a.ts", "import _ from 'lodash';\n")] {
        let report = judged(&TREE, &[(path, text)]);

        assert_eq!((report.verdict, report.findings.len()), (CheckVerdict::Pass, 1), "{text}: {report:#?}");
        assert_eq!(report.findings[0].rule, "imports/not-named");
    }
    let old = [("a.py", "from .gone import x\n")];
    assert_eq!(judged(&old, &[("a.py", "from .gone import x\n\ny = x\n")]).findings, []);
}

#[test]
fn a_file_that_was_not_read_is_no_pass_and_says_why() {
    let limits = Limits { file_bytes: 40, ..Limits::default() };
    let large = "x = 1\n".repeat(20);

    let report = judged_within(&TREE, &[("shop/a.py", &large), ("notes.bin", &large)], &limits);

    assert_eq!(report.verdict, CheckVerdict::Incomplete, "{report:#?}");
    let skipped: Vec<_> = report.skipped.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(skipped, ["shop/a.py"]);
}
