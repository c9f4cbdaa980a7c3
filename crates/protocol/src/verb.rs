//! Verbs: all requests to the daemon. Each has one name, used for the struct, the file, the MCP tool, the HTTP route and
//! `switchboard call`. Agents and people read the doc comments as descriptions.

use std::borrow::Cow;

use serde::Serialize;

pub mod agent;
pub mod auto;
pub mod backup;
pub mod bus;
pub mod check;
mod contract;
pub mod lead;
pub mod lease;
pub mod need;
pub mod queue;
pub mod run;
mod schemas;
pub mod search;
pub mod step;
pub mod subagent;
pub mod system;
pub mod team;
pub mod timeline;
pub mod tool;

pub(crate) use contract::verb;
pub use contract::{Access, Class, Profile, Verb};
pub use schemas::Schema;

/// A row of the table of verbs: everything that a face needs to offer the verb.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Name of the verb, or of an upstream server's tool.
    pub name: Cow<'static, str>,
    /// Description for agents and people, in one or two sentences.
    pub about: Cow<'static, str>,
    /// What the verb does to the log.
    pub effect: Access,
    /// Policy class of the verb.
    pub class: Class,
    /// How the verb is offered to MCP clients.
    pub profile: Profile,
    /// JSON schema of the request.
    pub request: Schema,
    /// JSON schema of the reply.
    pub reply: Schema,
}

impl Row {
    /// Returns the row of a verb.
    #[must_use]
    pub fn of<V: Verb>() -> Self {
        Self::with::<V>(schemas::of(V::NAME))
    }

    /// Returns the row of a verb, with schemas generated from its types instead of those of the file.
    #[cfg(feature = "schemas")]
    #[must_use]
    pub fn generated<V: Verb>() -> Self {
        Self::with::<V>(schemas::generate::of::<V>())
    }

    fn with<V: Verb>(schemas: schemas::Schemas) -> Self {
        Self {
            name: Cow::Borrowed(V::NAME),
            about: Cow::Borrowed(V::ABOUT),
            effect: V::ACCESS,
            class: V::CLASS,
            profile: V::PROFILE,
            request: schemas.request,
            reply: schemas.reply,
        }
    }
}

/// Calls a macro with every verb's type: `for_each_verb!(m)` is `m!(A B …)`. All tables are made from this list.
#[macro_export]
macro_rules! for_each_verb {
    ($m:ident) => {
        $m! {
            $crate::verb::agent::GetTeamRoster
            $crate::verb::agent::RegisterAgent
            $crate::verb::agent::RegisterChatAgent
            $crate::verb::agent::RegisterTerminal
            $crate::verb::agent::SetAgentStatus
            $crate::verb::auto::NextUnit
            $crate::verb::backup::BackupStore
            $crate::verb::bus::AckMessage
            $crate::verb::bus::CheckInbox
            $crate::verb::bus::ListMessages
            $crate::verb::bus::SendMessage
            $crate::verb::check::BuildCheck
            $crate::verb::check::CheckGateStatus
            $crate::verb::check::EvidenceCheck
            $crate::verb::check::Lint
            $crate::verb::check::PlaceholderScan
            $crate::verb::check::PreCheckBatch
            $crate::verb::check::Secretscan
            $crate::verb::check::SyntaxCheck
            $crate::verb::check::TestRunner
            $crate::verb::check::TodoExtract
            $crate::verb::lead::BeginStep
            $crate::verb::lead::DeclareScope
            $crate::verb::lead::LeadRun
            $crate::verb::lead::LeaveSeat
            $crate::verb::lead::SavePlan
            $crate::verb::lead::SeatStatus
            $crate::verb::lead::SetQaGates
            $crate::verb::lead::UpdateTaskStatus
            $crate::verb::lease::ListLeases
            $crate::verb::lease::ReleaseFiles
            $crate::verb::lease::RenewLease
            $crate::verb::lease::ReserveAgent
            $crate::verb::lease::ReserveFiles
            $crate::verb::need::Answer
            $crate::verb::need::Approve
            $crate::verb::need::Deny
            $crate::verb::need::ListNeeds
            $crate::verb::queue::CancelMessage
            $crate::verb::queue::ExtendMessage
            $crate::verb::queue::NakMessage
            $crate::verb::queue::ReadInboxEvents
            $crate::verb::queue::ReceiveMessages
            $crate::verb::queue::ReviveMessage
            $crate::verb::queue::SendRequest
            $crate::verb::queue::SendTeamMessage
            $crate::verb::run::CleanRuns
            $crate::verb::run::GetRun
            $crate::verb::run::MergeRun
            $crate::verb::run::PauseRun
            $crate::verb::run::ReadOutput
            $crate::verb::run::RebaseRun
            $crate::verb::run::ResumeRun
            $crate::verb::run::RetryTask
            $crate::verb::run::SetBudget
            $crate::verb::run::ShowTask
            $crate::verb::run::StartRun
            $crate::verb::run::StopRun
            $crate::verb::run::TellWorker
            $crate::verb::run::UndoMerge
            $crate::verb::search::SearchMessages
            $crate::verb::step::ProposeTask
            $crate::verb::step::ReportStep
            $crate::verb::subagent::Subagent
            $crate::verb::system::CreateSessionCode
            $crate::verb::system::ExportLog
            $crate::verb::system::GetCaller
            $crate::verb::system::GetStatus
            $crate::verb::system::ReadEvents
            $crate::verb::system::Shutdown
            $crate::verb::system::SignHead
            $crate::verb::system::VerifyLog
            $crate::verb::team::RemoveTeam
            $crate::verb::team::SetTeam
            $crate::verb::timeline::GetTimeline
            $crate::verb::tool::DescribeTool
            $crate::verb::tool::FindTools
        }
    };
}

/// Returns the rows of all verbs, by name.
#[must_use]
pub fn table() -> Vec<Row> {
    macro_rules! rows {
        ($($verb:path)*) => { vec![$(Row::of::<$verb>()),*] };
    }
    by_name(for_each_verb!(rows))
}

/// Returns the rows of all verbs, by name, with schemas generated from the types: the content of the file.
#[cfg(feature = "schemas")]
#[must_use]
pub fn generated_table() -> Vec<Row> {
    macro_rules! rows {
        ($($verb:path)*) => { vec![$(Row::generated::<$verb>()),*] };
    }
    by_name(for_each_verb!(rows))
}

fn by_name(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_snake_case_and_described() {
        let rows = table();
        for pair in rows.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for row in &rows {
            assert!(row.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", row.name);
            assert!(row.about.len() > 20, "{} has no description", row.name);
            assert_eq!(row.request.value()["type"], "object", "{}", row.name);
        }
    }

    /// Function that reads the request of a verb and returns the error, if there is one.
    type Reads = fn(serde_json::Value) -> Option<String>;

    fn reads<V: Verb>(request: serde_json::Value) -> Option<String> {
        serde_json::from_value::<V::Request>(request).err().map(|error| error.to_string())
    }

    #[test]
    fn every_request_refuses_a_key_that_does_not_exist_and_a_value_of_a_wrong_type() {
        macro_rules! all {
            ($($verb:path)*) => { vec![$((<$verb as Verb>::NAME, reads::<$verb> as Reads)),*] };
        }
        let all: Vec<(&str, Reads)> = for_each_verb!(all);
        let rows = table();
        assert_eq!(all.len(), rows.len());
        for (name, reads) in all {
            let row = rows.iter().find(|row| row.name == name).unwrap();
            let error = reads(serde_json::json!({ "zz_unknown": 1 })).unwrap_or_default();
            assert!(error.contains("zz_unknown"), "{name}: {error}");

            let request = row.request.value();
            let fields = request["properties"].as_object().into_iter().flatten();
            // A recipient may be given any value.
            for (field, _) in
                fields.filter(|(_, schema)| schema.get("type").or(schema.get("anyOf")).or(schema.get("$ref")).is_some())
            {
                // Each field accepts at most one of these values.
                let wrong = [serde_json::json!({ "zz_unknown": 1 }), serde_json::json!(-0.5)];
                let errors: Vec<_> =
                    wrong.map(|wrong| reads(serde_json::json!({ field: wrong }))).into_iter().flatten().collect();
                let is_refused = errors.iter().any(|error| !error.starts_with("missing field"));
                assert!(is_refused, "{name}.{field}: {errors:?}");
            }
            let objects = request["$defs"].as_object().into_iter().flatten();
            for (object, schema) in objects.filter(|(_, schema)| schema["properties"].is_object()) {
                assert_eq!(schema["additionalProperties"], false, "{name}: {object} takes any key");
            }
        }
    }

    #[test]
    fn the_default_tools_are_few_and_small() {
        let tools: Vec<_> = table().into_iter().filter(|row| row.profile == Profile::Listed).collect();
        let bytes: usize =
            tools.iter().map(|row| row.name.len() + row.about.len() + row.request.value().to_string().len()).sum();

        assert!(tools.len() <= 14, "{} tools", tools.len());
        assert!(bytes <= 7_000, "{bytes} bytes");
    }
}
