use proptest::prelude::*;

use super::*;

/// Paths with their tier.
const PATHS: [(&str, Tier); 108] = [
    (".gitignore", Tier::Metadata),
    ("packages/a/.editorconfig", Tier::Metadata),
    ("LICENSE", Tier::Metadata),
    ("LICENSE-MIT", Tier::Metadata),
    ("LICENSE.txt", Tier::Metadata),
    ("AUTHORS", Tier::Metadata),
    (".gitattributes", Tier::Metadata),
    ("src/license.rs", Tier::Code),
    ("src/license.py", Tier::Code),
    ("README.md", Tier::Docs),
    ("README", Tier::Docs),
    ("CHANGELOG.md", Tier::Docs),
    ("CHANGES.txt", Tier::Docs),
    ("docs/guide.rst", Tier::Docs),
    ("docs/api/auth.md", Tier::Docs),
    ("docs/picture.svg", Tier::Docs),
    ("docs/", Tier::Docs),
    ("docs/**", Tier::Docs),
    ("docs/**/*.md", Tier::Docs),
    ("docs/conf.py", Tier::Code),
    ("docs/site.js", Tier::Code),
    ("site/page.mdx", Tier::Docs),
    ("requirements.txt", Tier::Code),
    ("CMakeLists.txt", Tier::Code),
    ("public/robots.txt", Tier::Code),
    ("AGENTS.md", Tier::Code),
    ("CLAUDE.md", Tier::Code),
    (".claude/commands/review.md", Tier::Code),
    ("prompts/coder.md", Tier::Code),
    ("package.json", Tier::Code),
    ("Cargo.toml", Tier::Code),
    ("Cargo.lock", Tier::Code),
    ("Makefile", Tier::Code),
    ("Dockerfile", Tier::Code),
    ("src/main.rs", Tier::Code),
    ("src/author.rs", Tier::Code),
    ("src/authors/list.rs", Tier::Code),
    ("src/authority.ts", Tier::Code),
    ("src/authoring.ts", Tier::Code),
    ("src/tokenizer.rs", Tier::Code),
    ("src/tokenize.py", Tier::Code),
    ("src/lexer/token.rs", Tier::Code),
    ("src/ast/token.rs", Tier::Code),
    ("src/capital.rs", Tier::Code),
    ("src/apiary.rs", Tier::Code),
    ("src/rapid.rs", Tier::Code),
    ("src/therapist.py", Tier::Code),
    ("src/obsession.rs", Tier::Code),
    ("src/possession.ts", Tier::Code),
    ("src/cryptic.rs", Tier::Code),
    ("src/secretary.rs", Tier::Code),
    ("src/insecurity.rs", Tier::Code),
    ("src/build/guide.rs", Tier::Code),
    ("design/tokens.json", Tier::Code),
    ("src/styles/tokens.css", Tier::Code),
    ("src/theme/tokens.ts", Tier::Code),
    ("tests/parse.rs", Tier::Code),
    ("data/file.bin", Tier::Code),
    ("", Tier::Code),
    ("src/auth.rs", Tier::Critical),
    ("src/auth/mod.rs", Tier::Critical),
    ("src/authService.ts", Tier::Critical),
    ("src/AuthService.ts", Tier::Critical),
    ("src/user_auth.py", Tier::Critical),
    ("src/OAuthClient.java", Tier::Critical),
    ("src/oauth2.rs", Tier::Critical),
    ("src/authenticate.rs", Tier::Critical),
    ("src/authentication/basic.rs", Tier::Critical),
    ("src/authorization.ts", Tier::Critical),
    ("src/authoriser.ts", Tier::Critical),
    ("lib/crypto/aes.c", Tier::Critical),
    ("src/encryption.rs", Tier::Critical),
    ("src/decrypt_file.rs", Tier::Critical),
    ("src/session.rs", Tier::Critical),
    ("src/sessions/store.go", Tier::Critical),
    ("app/SessionStore.kt", Tier::Critical),
    ("src/token.rs", Tier::Critical),
    ("src/access-token.ts", Tier::Critical),
    ("src/JWTToken.java", Tier::Critical),
    ("src/token/parser.rs", Tier::Critical),
    ("src/middleware/log.ts", Tier::Critical),
    ("src/Middleware.php", Tier::Critical),
    ("src/api/users.ts", Tier::Critical),
    ("src/APIClient.swift", Tier::Critical),
    ("src/apiKey.ts", Tier::Critical),
    ("src/rest_api.py", Tier::Critical),
    ("src/security.rs", Tier::Critical),
    ("app/security/rules.rb", Tier::Critical),
    ("src/permissions.rs", Tier::Critical),
    ("src/secret_store.rs", Tier::Critical),
    ("src/password.ts", Tier::Critical),
    ("src/sanitizer.ts", Tier::Critical),
    ("src/{auth,user}.rs", Tier::Critical),
    ("src/auth/**", Tier::Critical),
    ("src\\auth\\login.cs", Tier::Critical),
    ("tests/auth_test.rs", Tier::Critical),
    (".env", Tier::Critical),
    ("config/.env.production", Tier::Critical),
    ("certs/server.pem", Tier::Critical),
    (".github/workflows/ci.yml", Tier::Critical),
    (".github/CODEOWNERS", Tier::Critical),
    (".gitlab-ci.yml", Tier::Critical),
    (".secretscanignore", Tier::Critical),
    ("sub/.npmrc", Tier::Critical),
    ("web/login.tsx", Tier::Critical),
    ("web/cors.ts", Tier::Critical),
    ("src/**", Tier::Code),
    ("**/*", Tier::Code),
];

fn of(paths: &[&str], description: &str) -> Assessment {
    Assessment::of(paths, description)
}

#[test]
fn each_path_has_its_tier_and_a_reason() {
    let wrong: Vec<_> = PATHS.iter().filter(|(path, tier)| of(&[path], "").tier != *tier).collect();

    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(PATHS.iter().all(|(path, _)| of(&[path], "").because.len() == 1));
}

#[test]
fn the_highest_path_decides_and_only_its_reasons_are_kept() {
    let found = of(&["README.md", "src/a.rs", "src/b.rs"], "");

    assert_eq!((found.tier, found.because.len()), (Tier::Code, 2));
    assert_eq!(of(&[], "Add a parser").tier, Tier::Code, "what is not declared may run");
}

#[test]
fn words_of_the_description_make_code_critical() {
    for text in [
        "Hash passwords with Argon2",
        "Fix an SQL injection in search",
        "Add a login form",
        "Rotate the access\ntoken",
        "Check permissions before delete",
        "Encrypts backups",
        "Fix XSS",
    ] {
        let found = of(&["src/a.rs"], text);

        assert_eq!(found.tier, Tier::Critical, "{text}");
        assert!(found.is_security_relevant());
    }
    for text in [
        "Count tokens per second",
        "Store the author of a session",
        "Add dependency injection",
        "Change the public api",
        "Show `password` in the help text",
        "Sign the release",
    ] {
        assert_eq!(of(&["src/a.rs"], text).tier, Tier::Code, "{text}");
    }
    assert_eq!(of(&["docs/a.md"], "Describe login and passwords").tier, Tier::Docs);
}

#[test]
fn the_designer_comes_where_users_see_the_change() {
    for path in [
        "src/Button.tsx",
        "web/app.css",
        "src/components/list.ts",
        "app/views/home.html",
        "App.vue",
        "ui/Main.qml",
        "src/ui/menu.ts",
        "ios/screens/Home.swift",
    ] {
        assert!(of(&[path], "").is_ui(), "{path}");
    }
    for path in [
        "src/build/main.ts",
        "src/guide.rs",
        "src/components/store.rs",
        "app/views.py",
        "src/Button.test.tsx",
        "src/__tests__/a.tsx",
        "README.md",
        "src/equi/a.ts",
        "crates/ui/src/lib.rs",
    ] {
        assert!(!of(&[path], "").is_ui(), "{path}");
    }
    assert!(of(&["src/a.rs"], "Extract the design tokens of the UI").is_ui());
    assert!(!of(&["src/a.rs"], "Build the guide quickly").is_ui());
}

#[test]
fn what_a_tier_and_turbo_leave_out_has_a_reason_and_a_critical_change_is_judged_twice() {
    let done = |path: &str, wishes: Wishes| -> Vec<&str> {
        let found = of(&[path], "");
        let is_done = |step: &&&str| {
            left_out(step, &found, wishes).is_none_or(|why| {
                assert!(why.len() > 20, "{why}");
                false
            })
        };
        steps(found.tier).iter().filter(is_done).copied().collect()
    };
    let (usual, turbo) = (Wishes::default(), Wishes { turbo: true, ..Wishes::default() });
    let all = ["impact", "review", "second_review", "security_review", "tests", "second_tests", "adversarial_tests"];

    assert_eq!(done(".gitignore", usual), [""; 0]);
    assert_eq!(done("README.md", usual), ["review"]);
    assert_eq!(done("src/a.rs", usual), ["impact", "review", "tests", "adversarial_tests"]);
    assert_eq!(done("src/auth.rs", usual), all);
    assert_eq!(done("README.md", turbo), [""; 0]);
    assert_eq!(done("src/a.rs", turbo), [""; 0]);
    assert_eq!(done("src/auth.rs", turbo), all, "turbo leaves nothing out of a critical change");
    let needs = Wishes { needs_test_engineer: true, ..turbo };
    assert_eq!(done("README.md", needs), ["tests", "adversarial_tests"], "a phase that requires a role has it");
    let always = Wishes { always_security_review: true, ..usual };
    assert_eq!(done("README.md", always), ["review", "security_review"]);
}

fn assessment() -> impl Strategy<Value = Assessment> {
    let path = proptest::sample::select(PATHS.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    let word = proptest::sample::select(vec!["", "login", "ui", "parser"]);
    (proptest::collection::vec(path, 0..4), word).prop_map(|(paths, word)| Assessment::of(&paths, word))
}

proptest! {
    #[test]
    fn raising_never_lowers_and_forgets_nothing(first in assessment(), later in assessment()) {
        let raised = first.clone().raise(later.clone());

        prop_assert_eq!(raised.tier, first.tier.max(later.tier));
        prop_assert!(raised.security.is_superset(&first.security) && raised.security.is_superset(&later.security));
        prop_assert!(raised.ui.is_superset(&first.ui));
        prop_assert_eq!(raised.clone().raise(first), raised.clone());
        prop_assert!(!raised.because.is_empty());
    }

    #[test]
    fn more_paths_never_lower_the_tier(paths in proptest::collection::vec("[a-zA-Z._/*-]{0,20}", 1..5)) {
        let all = Assessment::of(&paths, "").tier;

        prop_assert!(paths.iter().all(|path| Assessment::of(std::slice::from_ref(path), "").tier <= all));
    }
}
