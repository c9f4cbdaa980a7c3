//! The contract of a verb: its name, request and reply, and what it does to the log.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What a verb does to the log, and so when its answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads only.
    Read,
    /// Answered after the write to the log: a kill loses nothing, a power cut may take the last of it.
    Written,
    /// Answered after fdatasync.
    Synced,
}

/// What a verb is for, as the policy sees it: rules are written against classes, not against names of verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Say who and how you are.
    Identity,
    /// Write to others.
    Send,
    /// Read an inbox.
    Inbox,
    /// Settle a message that was sent or delivered.
    Delivery,
    /// Reserve files or agents for a while.
    Lease,
    /// See who is there and which tools there are.
    Directory,
    /// See how everything is, without anybody's text.
    Status,
    /// See what waits for a person, and the evidence of the record.
    Inspect,
    /// See a run and its tasks.
    Run,
    /// Say how one's own task of a run stands, and propose further ones.
    Step,
    /// Lead a run that a team carries out, as who has its architect's seat.
    Lead,
    /// Look at files of the work tree.
    Check,
    /// Run commands that came with the repository.
    Build,
    /// See everything, other agents' mail included.
    Oversee,
    /// Answer a question that was put to a person, or move a person's branch.
    Approve,
    /// Start, stop and merge work.
    Work,
    /// Have other agents do something as a tool of one's own, and see what they said.
    Delegate,
    /// Export, back up or sign the record.
    Record,
    /// Change the team, or end the daemon.
    Admin,
    /// Call a tool of an upstream server.
    Upstream,
}

/// Where MCP clients meet a verb.
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

/// A verb's contract: its name, what goes in and what comes out.
pub trait Verb {
    /// Its one name, in snake case.
    const NAME: &'static str;
    /// What it does to the log.
    const ACCESS: Access;
    /// What it is for, as the policy sees it.
    const CLASS: Class;
    /// Where MCP clients meet it.
    const PROFILE: Profile;
    /// One or two sentences for agents and people.
    const ABOUT: &'static str;
    /// What goes in.
    type Request: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// What comes out.
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
