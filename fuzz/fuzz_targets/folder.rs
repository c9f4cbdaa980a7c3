//! A folder with a file, an ignore file and a baseline of any content: a reply, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (Vec<u8>, Vec<u8>, Vec<u8>)| {
    let (file, ignore, baseline) = parts;
    let folder = std::env::temp_dir().join(format!("switchboard-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the files");
    for (name, content) in [("a.py", file), (".secretscanignore", ignore), ("baseline.json", baseline)] {
        std::fs::write(folder.join(name), content).expect("a file of the folder");
    }
    let request = serde_json::json!({ "root": folder, "base": "none", "baseline": "baseline.json" });
    let mut answers = Vec::new();
    let line = request.to_string();
    switchboard_checks::serve(line.as_bytes(), &mut answers, &switchboard_checks::Limits::default()).expect("memory can be written");
    assert!(answers.ends_with(b"\n"));
});
