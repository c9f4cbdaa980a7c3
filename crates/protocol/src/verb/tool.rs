//! Tools beyond the default list: found by words, then described.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Access, Profile, verb};

/// What to look for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindToolsRequest {
    /// Words; all tools by name when empty.
    #[serde(default)]
    pub words: String,
    /// At most so many, 10 by default, 50 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A tool in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
}

/// The tools, the best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindToolsReply {
    /// The tools.
    pub tools: Vec<FoundTool>,
    /// How many fit in all.
    pub total: u64,
}

verb! {
    /// Find more tools by words; describe_tool then says how to call one.
    FindTools = "find_tools", Read, Directory, Listed,
    FindToolsRequest => FindToolsReply
}

/// Which tool.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeToolRequest {
    /// Its name.
    pub name: String,
}

/// A tool: call it by its name with `tools/call`, whether or not your list has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DescribeToolReply {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What it does to the log.
    pub effect: Access,
    /// Whether it is in the default list, or found only.
    pub profile: Profile,
    /// JSON schema of its arguments.
    pub request: Value,
    /// JSON schema of its answer.
    pub reply: Value,
}

verb! {
    /// Describe a tool that find_tools found: its arguments and its answer.
    DescribeTool = "describe_tool", Read, Directory, Listed,
    DescribeToolRequest => DescribeToolReply
}
