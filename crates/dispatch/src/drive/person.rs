//! Questions to a person: each is a need, and its answer becomes an event.

use switchboard_pipeline::modes::Question;
use switchboard_protocol::answer::{Answer, Question as Open};
use switchboard_protocol::event::Event;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{AgentName, Digest, NeedId};
use switchboard_protocol::modes::{Choice, ModeEvent, PersonAnswer};
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::text::cut;
use switchboard_store::{Batch, Interest, Row, Store};

use super::question::question_id;
use super::{Driver, Follows, Waited, role_prompts};
use crate::error::shape;
use crate::{Error, needs};

/// Maximum length of a question's title, in bytes.
const TITLE: usize = 200;

/// Maximum length of an option's name, in bytes, so that eight of them fit into one event. The detail holds the full
/// text.
const NAME: usize = 20;

/// Id of the option for an answer in words.
const TEXT: &str = "text";

// === impl Driver ===

impl Driver {
    /// Asks a person and waits for the answer. The question's id is derived from its step, so it is asked once however
    /// often the daemon dies.
    pub(super) async fn ask_person(
        &mut self,
        step: u32,
        question: &Question,
        choices: &[Choice],
    ) -> Result<Follows, Error> {
        let id = question_id(&self.run, step);
        let asked = self.worded(question)?;
        let asking = Asking {
            id: id.clone(),
            about: NeedAbout::Team { run: self.run.clone(), mode_step: step },
            title: cut(&asked.title, TITLE),
            detail: asked.detail.clone(),
            options: options(question, choices, &asked.words),
        };
        match self.ask_need(asking).await? {
            Waited::For(row) => self.follows_from(step, question, &row, &asked.words),
            Waited::Changed => Ok(Follows::Changed),
            Waited::Stop(stop) => {
                self.take_back(&id).await?;
                Ok(Follows::Stop(stop))
            }
            Waited::Down => Ok(Follows::Down),
        }
    }

    /// Asks a question, unless it was asked before, and waits until it is settled.
    pub(super) async fn ask_need(&mut self, asking: Asking) -> Result<Waited<Row>, Error> {
        let Asking { id, about, title, detail, options } = asking;
        let world = &self.dispatch.world;
        if switchboard_needs::get(&world.store, &id)?.is_none() {
            let fact = NeedEvent::NeedAsked { id: id.clone(), about, title, options, expires_at: needs::expiry(world) };
            let event = switchboard_needs::ask_event(&fact, detail, "daemon").map_err(shape("a question"))?;
            world.commit(Batch::synced().event(event)).await?;
            world.crash("person-asked");
        }
        let dispatch = self.dispatch.clone();
        let settled = async move {
            let mut changes = dispatch.world.store.subscribe([Interest::Kind("need_settled".to_owned())]);
            loop {
                let row = dispatch.world.store.get(switchboard_needs::NEEDS, &[id.as_str().into()])?;
                if let Some(row) = row.filter(|row| row.get_text("outcome").is_some_and(|outcome| !outcome.is_empty()))
                {
                    return Ok(row);
                }
                changes.changed().await.map_err(Error::from)?;
            }
        };
        self.wait(settled).await
    }

    pub(super) async fn take_back(&self, id: &NeedId) -> Result<(), Error> {
        let (event, guard) =
            switchboard_needs::resolved(id, "withdrawn", None, "daemon").map_err(shape("an answer"))?;
        match self.dispatch.world.commit(Batch::synced().event(event).guard(guard)).await {
            Ok(_) | Err(switchboard_store::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Converts the answer into what follows from it.
    fn follows_from(&self, step: u32, question: &Question, row: &Row, words: &[String]) -> Result<Follows, Error> {
        let store = &self.dispatch.world.store;
        let option = row.get_text("option").unwrap_or_default();
        if matches!(row.get_text("outcome"), Some("expired" | "withdrawn")) {
            return Ok(Follows::Event(ModeEvent::PersonExpired { step }, String::new()));
        }
        let settled = settling(store, row)?;
        let note = settled.as_ref().and_then(|event| event.body.clone()).filter(|note| !note.is_empty());
        let by = settled.and_then(|event| AgentName::new(event.actor).ok()).unwrap_or_else(|| self.setup.by.clone());
        let word = option.parse::<usize>().ok().and_then(|number| words.get(number.checked_sub(1)?)).cloned();
        let said = word.or_else(|| note.clone().filter(|_| option == TEXT));
        if let Some(text) = said {
            let answer = PersonAnswer::Text { text: Digest::of(text.as_bytes()) };
            return Ok(Follows::Event(ModeEvent::PersonAnswered { step, by, answer }, text));
        }
        let choice = chosen(question, option);
        let body =
            note.clone().unwrap_or_else(|| if choice == Choice::Revise { question.to_string() } else { String::new() });
        let note = note.map(|note| Digest::of(note.as_bytes()));
        let answer = PersonAnswer::Chose { choice, note };
        Ok(Follows::Event(ModeEvent::PersonAnswered { step, by, answer }, body))
    }

    /// Returns the question in words, with the texts it is about.
    fn worded(&self, question: &Question) -> Result<WordedQuestion, Error> {
        let store = &self.dispatch.world.store;
        let text = |digest: &Digest| Ok::<_, Error>(role_prompts::shown(&self.record.text(store, digest)?));
        let plain = |detail: String| WordedQuestion { title: question.to_string(), detail, words: Vec::new() };
        Ok(match question {
            Question::Clarify { questions, number, .. } => {
                let all = self.record.text(store, questions)?;
                let found = match serde_json::from_str::<Answer>(&all) {
                    Ok(Answer::Questions(found)) => found.questions.into_iter().nth(*number as usize - 1),
                    Ok(_) | Err(_) => None,
                };
                let Open { question: title, choices } =
                    found.unwrap_or(Open { question: question.to_string(), choices: Vec::new() });
                let listed: String =
                    (1..).zip(&choices).map(|(number, choice)| format!("{number}: {choice}\n")).collect();
                WordedQuestion { detail: format!("{title}\n{listed}"), title, words: choices }
            }
            Question::PlanRejected { review } | Question::RevisionsSpent { review, .. } => plain(text(review)?),
            Question::Unverified { findings, .. } => plain(text(findings)?),
            Question::Blocked { missing, .. } | Question::EvidenceMissing { missing, .. } => plain(missing.join("\n")),
            Question::PhaseHeld { why, decision: Some(decision), .. } => plain(format!("{why}\n{}", text(decision)?)),
            Question::PhaseHeld { why, .. } | Question::Unknown { why } => plain(why.clone()),
            Question::NoAnswer { why, .. } => plain(why.clone()),
            Question::NextPhase { phase } => plain(self.about_phase(*phase)?),
        })
    }

    /// Lists the tasks of the phase that would begin.
    fn about_phase(&self, phase: u64) -> Result<String, Error> {
        let (plan, _) = self.plan()?;
        let tasks = plan.tasks().filter(|task| task.phase == phase);
        Ok(tasks.map(|task| format!("{} {}\n", task.id, task.description)).collect())
    }
}

/// Question as shown to a person.
pub(super) struct Asking {
    pub(super) id: NeedId,
    pub(super) about: NeedAbout,
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) options: Vec<PermissionOption>,
}

/// Returns the event that settled a question.
fn settling(store: &Store, row: &Row) -> Result<Option<Event>, Error> {
    let settled = row.get_int("answered").and_then(|lsn| u64::try_from(lsn).ok());
    Ok(settled.map(|lsn| store.event(lsn)).transpose()?.flatten())
}

/// Returns the agent or person that settled a question.
pub(super) fn chosen_by(store: &Store, row: &Row) -> Result<Option<AgentName>, Error> {
    Ok(settling(store, row)?.and_then(|event| AgentName::new(event.actor).ok()))
}

/// A question in words.
struct WordedQuestion {
    title: String,
    detail: String,
    /// Answers to choose from, in words.
    words: Vec<String>,
}

/// Returns the choice of an option. What is not one of the question's choices, such as a text without words, is the
/// default: the question is skipped if it may be, else the run stops.
fn chosen(question: &Question, option: &str) -> Choice {
    let choices = question.choices();
    let usual = question.takes_text().then_some(Choice::Skip);
    Choice::of(option).into_iter().chain(usual).find(|choice| choices.contains(choice)).unwrap_or(Choice::Stop)
}

/// Returns the options of a question.
fn options(question: &Question, choices: &[Choice], words: &[String]) -> Vec<PermissionOption> {
    let option =
        |id: String, name: &str, kind: &str| PermissionOption { id, name: cut(name, NAME), kind: kind.to_owned() };
    let mut options: Vec<_> =
        (1_usize..).zip(words).map(|(number, word)| option(number.to_string(), word, "other")).collect();
    if question.takes_text() {
        options.push(option(TEXT.to_owned(), "with --note WORDS", "other"));
    }
    options.extend(choices.iter().map(|choice| {
        let (name, kind) = match choice {
            Choice::Retry => ("once more", "allow_once"),
            Choice::Skip => ("go on without", "allow_once"),
            Choice::Approve => ("take it as it is", "allow_once"),
            Choice::Revise => ("have it planned anew", "other"),
            Choice::Redo => ("run the tasks again", "other"),
            Choice::Proceed => ("begin it", "allow_once"),
            Choice::Stop => ("end the run", "reject_once"),
        };
        option(choice.as_str().to_owned(), name, kind)
    }));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_offers_its_choices_and_a_text_where_one_answers_it() {
        let ids = |question: &Question, words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            let options = options(question, &question.choices(), &words);
            options.into_iter().map(|option| option.id).collect::<Vec<_>>()
        };
        let [proceed, revise, stop] = [Choice::Proceed, Choice::Revise, Choice::Stop].map(|choice| choice.as_str());

        assert_eq!(ids(&Question::NextPhase { phase: 2 }, &[]), [proceed, revise, stop]);
        assert_eq!(ids(&Question::Unknown { why: String::new() }, &["tabs", "spaces"]), ["1", "2", TEXT, stop]);
    }

    #[test]
    fn an_answer_that_is_no_choice_of_the_question_skips_it_or_stops_the_run() {
        let next = Question::NextPhase { phase: 2 };
        let unknown = Question::Unknown { why: String::new() };
        let clarify = Question::Clarify { questions: Digest::ZERO, number: 1, of: 1 };

        assert_eq!(chosen(&next, Choice::Proceed.as_str()), Choice::Proceed);
        assert_eq!(chosen(&clarify, Choice::Stop.as_str()), Choice::Stop);
        for option in [TEXT, Choice::Approve.as_str(), "7", ""] {
            let of = [&next, &unknown, &clarify].map(|question| chosen(question, option));
            assert_eq!(of, [Choice::Stop, Choice::Stop, Choice::Skip], "{option:?}");
        }
    }
}
