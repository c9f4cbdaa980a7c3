//! Tests the lease rules by example, and against all paths over a few names.

use proptest::prelude::*;

use super::*;

const HOUR: u64 = 3_600_000;

fn agent(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

fn files(globs: &[&str]) -> Resource {
    Resource::Files(globs.iter().map(|&glob| glob.to_owned()).collect())
}

fn ask(who: &str, globs: &[&str], mode: Mode) -> Ask {
    Ask::new(agent(who), files(globs), mode, HOUR).unwrap()
}

fn grant(book: &mut Book, token: Lsn, ask: &Ask, at: u64) -> LeaseId {
    let id = LeaseId::from_bits(token);
    let event = LeaseEvent::LeaseGranted {
        id: id.clone(),
        holder: ask.holder().clone(),
        resource: ask.resource().clone(),
        mode: ask.mode(),
        at,
        span: ask.span(),
        reason: String::new(),
    };
    book.fold(token, &event).unwrap();
    id
}

fn ended(id: &LeaseId) -> LeaseEvent {
    LeaseEvent::LeaseEnded { id: id.clone(), at: 0, ending: Ending::Released, parts: 0 }
}

#[test]
fn overlapping_files_have_one_exclusive_holder_and_the_other_learns_who_and_for_how_long() {
    let mut book = Book::default();
    grant(&mut book, 1, &ask("ada", &["src/**", "docs"], Mode::Exclusive), 0);

    let refused = book.decide(&ask("ben", &["tests", "src/a.rs"], Mode::Exclusive), 1_000).unwrap_err();

    let Refused::Overlap(conflicts) = refused else { panic!("{refused:?}") };
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].lease.holder.as_str(), conflicts[0].lease.left_ms), ("ada", HOUR - 1_000));
    assert_eq!(conflicts[0].wanted, "src/a.rs");
    assert_eq!(book.decide(&ask("ben", &["tests"], Mode::Exclusive), 0), Ok(Verdict::Grant));
}

#[test]
fn shared_leases_stand_beside_each_other_and_not_beside_an_exclusive_one() {
    let mut book = Book::default();
    grant(&mut book, 1, &ask("ada", &["src"], Mode::Shared), 0);

    assert_eq!(book.decide(&ask("ben", &["src/*.rs"], Mode::Shared), 0), Ok(Verdict::Grant));
    assert!(matches!(book.decide(&ask("ben", &["src/*.rs"], Mode::Exclusive), 0), Err(Refused::Overlap(_))));
    grant(&mut book, 2, &ask("carl", &["lib"], Mode::Exclusive), 0);
    assert!(matches!(book.decide(&ask("ben", &["lib/x"], Mode::Shared), 0), Err(Refused::Overlap(_))));
}

#[test]
fn a_holder_takes_more_beside_its_own_and_renews_what_it_has_already() {
    let mut book = Book::default();
    grant(&mut book, 7, &ask("Ada", &["src"], Mode::Exclusive), 0);

    assert_eq!(book.decide(&ask("ada", &["src/a", "lib"], Mode::Exclusive), 0), Ok(Verdict::Grant));
    assert_eq!(book.decide(&ask("ada", &["./src/"], Mode::Exclusive), 0), Ok(Verdict::Renew(7)));
    assert_eq!(book.decide(&ask("ada", &["src"], Mode::Exclusive), HOUR), Ok(Verdict::Grant), "it is over by then");
}

#[test]
fn a_lease_ends_with_its_time_its_release_or_its_holder() {
    let want = ask("ben", &["src"], Mode::Exclusive);
    let mut book = Book::default();
    let id = grant(&mut book, 1, &ask("ada", &["src"], Mode::Exclusive), 0);

    assert!(book.decide(&want, HOUR - 1).is_err());
    assert_eq!(book.decide(&want, HOUR), Ok(Verdict::Grant));
    assert_eq!(book.lapsed(HOUR).count(), 1);
    book.fold(2, &LeaseEvent::LeaseRenewed { id: id.clone(), at: HOUR - 1, span: HOUR }).unwrap();
    assert!(book.decide(&want, HOUR).is_err());
    let mut without = book.clone();
    without.fold(3, &ended(&id)).unwrap();
    assert_eq!(without.decide(&want, HOUR), Ok(Verdict::Grant));
    assert!(without.is_empty() && without.held.is_empty() && without.due.is_empty() && without.total == 0);
    book.holder_left("ada", 4);
    assert_eq!(book.decide(&want, HOUR), Ok(Verdict::Grant));
    assert_eq!(book.lapsed(0).next().unwrap().ending, Ending::HolderLeft);
}

#[test]
fn what_was_granted_after_its_holder_had_left_and_come_back_stays() {
    let mut book = Book::default();
    grant(&mut book, 9, &ask("ada", &["src"], Mode::Exclusive), 0);

    book.holder_left("ada", 8);

    assert_eq!(book.live(0).count(), 1);
}

#[test]
fn a_lease_is_used_by_its_holder_under_its_token_and_in_time() {
    let mut book = Book::default();
    let id = grant(&mut book, 5, &ask("ada", &["src"], Mode::Exclusive), 0);

    assert!(book.held(&id, &agent("ADA"), 5, 1).is_ok());
    assert_eq!(book.held(&id, &agent("ada"), 4, 1), Err(Unusable::Lost));
    assert_eq!(book.held(&id, &agent("ada"), 5, HOUR), Err(Unusable::Lost));
    assert_eq!(book.held(&id, &agent("ben"), 5, 1), Err(Unusable::Foreign));
    assert_eq!(book.held(&LeaseId::from_bits(77), &agent("ada"), 5, 1), Err(Unusable::Lost));
}

#[test]
fn units_and_terminals_are_held_by_the_same_rule() {
    let of = |who: &str, resource| Ask::new(agent(who), resource, Mode::Exclusive, HOUR).unwrap();
    let mut book = Book::default();
    grant(&mut book, 1, &of("ada", Resource::Unit("1.2".into())), 0);
    grant(&mut book, 2, &of("ada", Resource::Terminal(agent("Shell 1"))), 0);

    for taken in [Resource::Unit("1.2".into()), Resource::Terminal(agent("shell_1"))] {
        assert!(matches!(book.decide(&of("ben", taken), 0), Err(Refused::Overlap(_))));
    }
    for free in [Resource::Unit("1.3".into()), Resource::Terminal(agent("1.2")), files(&["unit 1.2"])] {
        assert_eq!(book.decide(&of("ben", free), 0), Ok(Verdict::Grant));
    }
}

#[test]
fn globs_that_leave_the_repository_or_mean_two_things_are_refused() {
    for bad in ["", "..", "a/../b", "/etc", "~/x", "C:/x", "-rf", "a\nb", "!src", "src/{a,b/c}.rs", &"x".repeat(500)] {
        assert!(Ask::new(agent("ada"), files(&[bad]), Mode::Exclusive, HOUR).is_err(), "{bad:?}");
    }
    for (count, fits) in [(0, false), (64, true), (65, false)] {
        let globs = (0..count).map(|n| format!("f{n}")).collect();
        let asked = Ask::new(agent("ada"), Resource::Files(globs), Mode::Exclusive, HOUR);
        assert_eq!(asked.is_ok(), fits, "{count}");
    }
}

#[test]
fn one_holder_cannot_take_all_there_is() {
    let mut book = Book::default();
    let globs: Vec<_> = (0..60).map(|n| format!("f{n}")).collect();
    let globs: Vec<_> = globs.iter().map(String::as_str).collect();
    for token in 1..=MAX_OF_HOLDER as u64 / 60 {
        grant(&mut book, token, &ask("ada", &globs, Mode::Shared), 0);
    }

    assert_eq!(book.decide(&ask("ada", &["g"], Mode::Shared), 0), Err(Refused::HolderLimit));
    assert_eq!(book.decide(&ask("ben", &["g"], Mode::Shared), 0), Ok(Verdict::Grant));
}

/// Generates parts of patterns that overlap in many ways.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{1,2}",
        2 => "[ab*?]{1,3}",
        1 => Just("**".to_owned()),
        1 => prop::sample::select(vec!["[ab]", "{a,b}", "[a", "a]", "{}", "*]", "?a"]).prop_map(str::to_owned),
    ]
}

fn glob() -> impl Strategy<Value = String> {
    prop::collection::vec(part(), 1..4).prop_map(|parts| parts.join("/"))
}

/// Returns every path of one to three parts over a few names, some with brackets.
fn world() -> Vec<String> {
    let names = ["a", "b", "ab", "[ab]", "{a,b}", "a]", "[a"];
    let mut paths: Vec<String> = names.map(str::to_owned).to_vec();
    let mut last = paths.clone();
    for _ in 0..2 {
        last = last.iter().flat_map(|path| names.map(|name| format!("{path}/{name}"))).collect();
        paths.extend(last.iter().cloned());
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn globs_with_a_file_in_common_overlap_both_ways_and_are_near_each_other(a in glob(), b in glob()) {
        let (Ok(x), Ok(y)) = (parse(&a), parse(&b)) else { return Ok(()) };
        let common = world().into_iter().find(|path| x.covers(path) && y.covers(path));

        prop_assert_eq!(x.overlaps(&y), y.overlaps(&x));
        if let Some(path) = common {
            prop_assert!(x.overlaps(&y), "{} lies in both {} and {}", path, a, b);
            let mut index = GlobIndex::default();
            index.insert(y, 1);
            prop_assert_eq!(index.near(&x).count(), 1, "{} and {}", a, b);
        }
    }

    #[test]
    fn every_file_of_a_glob_begins_with_its_stem(a in glob()) {
        let Ok(pattern) = parse(&a) else { return Ok(()) };
        let stem = pattern.stem();

        for path in world().iter().filter(|path| pattern.covers(path)) {
            prop_assert!(path.starts_with(&stem), "{} of {} does not begin with {}", path, a, stem);
        }
    }
}
