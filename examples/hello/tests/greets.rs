use hello::{greet, Language};

#[test]
fn every_language_greets_in_its_own_words() {
    for language in Language::ALL {
        let greeting = greet("Ada", *language);

        assert!(greeting.starts_with(language.hello()), "{greeting}");
        assert!(greeting.ends_with(", Ada!"), "{greeting}");
    }
}
