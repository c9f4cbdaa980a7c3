//! `hello NAME [--lang CODE]`

use std::process::ExitCode;

use hello::{greet, Language, Name};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(greeting) => {
            println!("{greeting}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<String, Box<dyn std::error::Error>> {
    let name = Name::new(words.first().map_or("world", String::as_str))?;
    let language = match words.iter().position(|word| word == "--lang") {
        Some(at) => words.get(at + 1).map_or("", String::as_str).parse()?,
        None => Language::English,
    };
    Ok(greet(name.as_str(), language))
}
