//! Verbs that find and describe tools beyond the default list.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Access, Profile, verb};
use crate::schema::JsonSchema;

/// Words of the search.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindToolsRequest {
    /// Words to search for; if empty, all tools by name.
    #[serde(default)]
    pub words: String,
    /// Maximum: 10 by default, 50 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A tool in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundTool {
    /// Name of the tool.
    pub name: String,
    /// What it does.
    pub about: String,
}

/// Tools that were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindToolsReply {
    /// Tools, the best match first.
    pub tools: Vec<FoundTool>,
    /// Total number of matching tools.
    pub total: u64,
}

verb! {
    /// Find more tools by words; describe_tool then explains how to call one.
    FindTools = "find_tools", Read, Directory, Listed,
    FindToolsRequest => FindToolsReply
}

/// The tool to describe.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeToolRequest {
    /// Name of the tool.
    pub name: String,
}

/// A tool: call it by its name with `tools/call`, whether or not your list has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DescribeToolReply {
    /// Name of the tool.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What it does to the log.
    pub effect: Access,
    /// Whether it is in the default list, or only found.
    pub profile: Profile,
    /// JSON schema of its arguments.
    pub request: Value,
    /// JSON schema of its reply.
    pub reply: Value,
}

verb! {
    /// Describe a tool that find_tools found: its arguments and its reply.
    DescribeTool = "describe_tool", Read, Directory, Listed,
    DescribeToolRequest => DescribeToolReply
}
