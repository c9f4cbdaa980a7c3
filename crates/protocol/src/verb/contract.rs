//! The contract of a verb: its name, request and reply, and what it does to the log.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// What a verb does to the log, and so when its reply is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Only reads.
    Read,
    /// Replies after the write to the log: a kill loses nothing, a power cut may lose the last events.
    Written,
    /// Replies after fdatasync.
    Synced,
}

/// Policy class of a verb: rules are written for classes, not for names of verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Register and set one's own status.
    Identity,
    /// Send messages to others.
    Send,
    /// Read an inbox.
    Inbox,
    /// Acknowledge, return or cancel a message that was sent or delivered.
    Delivery,
    /// Reserve files or agents for a limited time.
    Lease,
    /// List agents and tools.
    Directory,
    /// See the state of everything, without the texts of others.
    Status,
    /// See questions to a person, and the evidence of the record.
    Inspect,
    /// See a run and its tasks.
    Run,
    /// Report the state of one's own task in a run, and propose further tasks.
    Step,
    /// Lead a run from its architect's seat.
    Lead,
    /// Check files of the work tree.
    Check,
    /// Run commands that came with the repository.
    Build,
    /// See everything, including other agents' mail.
    Oversee,
    /// Answer a question to a person, or move a person's branch.
    Approve,
    /// Start, stop and merge work.
    Work,
    /// Use other agents as tools, and see their answers.
    Delegate,
    /// Export, back up or sign the record.
    Record,
    /// Change the team, or end the daemon.
    Admin,
    /// Call a tool of an upstream server.
    Upstream,
}

/// How a verb is offered to MCP clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// In the default list of tools.
    Listed,
    /// Found with `find_tools` and described with `describe_tool`.
    Found,
    /// Not offered as a tool.
    Never,
}

/// Contract of a verb: its name, request and reply.
pub trait Verb {
    /// Name of the verb, in snake case.
    const NAME: &'static str;
    /// What the verb does to the log.
    const ACCESS: Access;
    /// Policy class of the verb.
    const CLASS: Class;
    /// How the verb is offered to MCP clients.
    const PROFILE: Profile;
    /// Description for agents and people, in one or two sentences.
    const ABOUT: &'static str;
    /// Type of the request.
    type Request: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Type of the reply.
    type Reply: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}

/// Declares a verb: one row with its name, effect, policy class, tool profile, request and reply.
macro_rules! verb {
    (
        $(#[doc = $about:literal])+
        $verb:ident = $name:literal, $effect:ident, $class:ident, $profile:ident,
        $request:ty => $reply:ty
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy)]
        pub struct $verb;

        impl $crate::verb::Verb for $verb {
            const NAME: &'static str = $name;
            const ACCESS: $crate::verb::Access = $crate::verb::Access::$effect;
            const CLASS: $crate::verb::Class = $crate::verb::Class::$class;
            const PROFILE: $crate::verb::Profile = $crate::verb::Profile::$profile;
            const ABOUT: &'static str = concat!($($about),+).trim_ascii_start();
            type Request = $request;
            type Reply = $reply;
        }
    };
}
pub(crate) use verb;
