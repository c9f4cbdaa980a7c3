//! Agents and roles of a run and the prices of their tokens, as the caller has resolved them.

use serde::{Deserialize, Serialize};

use crate::frame::DriverSpec;
use crate::id::AgentName;
use crate::isolation::{Isolation, Reach, Tool};
use crate::permission::Permissions;
use crate::role::{Rights, RoleLimits};
use crate::run::way::RoleId;
use crate::schema::JsonSchema;

/// An agent that the caller has resolved: a name, and the program to start for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentChoice {
    /// Name that the plan's tasks use.
    pub name: AgentName,
    /// Driver and program.
    pub driver: DriverSpec,
    /// Whether it is a script that plays an agent.
    #[serde(default)]
    pub scripted: bool,
    /// Environment variables that it may inherit from the caller, as name and value.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// What it may do without asking a person, if the plan doesn't say.
    #[serde(default)]
    pub permissions: Permissions,
    /// Model, by the agent's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether that model takes precedence over the plan, as that of a flag does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_first: bool,
    /// Arguments that pass the model to its program; `{model}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_args: Vec<String>,
    /// Environment variables that pass the model to its program; `{model}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_env: Vec<(String, String)>,
    /// Arguments that pass the temperature of a role to its program; `{temperature}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub temperature_args: Vec<String>,
    /// Maximum number of attempts of its tasks, if the plan doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Price of its tokens, if it reports no cost itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
    /// Instructions that it gets with every task, at most 32 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Minimum isolation; a plan may only make it stricter.
    #[serde(default, skip_serializing_if = "Isolation::is_full")]
    pub isolation: Isolation,
    /// Whether it has, or can be limited to, the four tools of constrained work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub four_tools: bool,
    /// What it may access when it is constrained.
    #[serde(default, skip_serializing_if = "Reach::is_empty")]
    pub reach: Reach,
    /// Names of its settings that only constrained workers use: a run in which it is not constrained reports them. Settings in `reach` and
    /// `tools` need not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub for_constrained: Vec<String>,
    /// Which of the four tools it has when it is constrained; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

/// Environment variables that an agent may inherit from a person's command. They are kept beside the log, not in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InheritedEnv {
    /// Name of the agent.
    pub agent: AgentName,
    /// Driver and program of the agent.
    pub driver: DriverSpec,
    /// Variables, as name and value.
    pub env: Vec<(String, String)>,
}

/// Agent, instructions and settings of a role in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleChoice {
    /// Id of the role: `reviewer`, `test_engineer` …
    pub role: RoleId,
    /// Name of the agent with that role; by default the default agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Model, by the agent's own name for it; takes precedence over the agent's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Instructions that replace the built-in text of the role, at most 32 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Models that are used one after the other while that one can't be reached, at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// Temperature, 0 to 2, as text for the agent's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// True if no worker may be started in this role.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Rights of the role; by default those of the built-in role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Rights>,
    /// Limits of a worker in the role; by default those of the built-in role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RoleLimits>,
}

// === impl RoleChoice ===

impl RoleChoice {
    /// Makes a role with default settings.
    #[must_use]
    pub fn new(role: RoleId) -> Self {
        Self {
            role,
            agent: None,
            model: None,
            instructions: String::new(),
            fallback_models: Vec::new(),
            temperature: None,
            disabled: false,
            rights: None,
            limits: None,
        }
    }
}

/// Price of tokens, in millionths of a US dollar per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenPrice {
    /// Price of a million input tokens.
    pub input: u64,
    /// Price of a million output tokens.
    pub output: u64,
}

// === impl TokenPrice ===

impl TokenPrice {
    /// Returns the cost of a number of tokens in millionths of a US dollar, rounded up.
    #[must_use]
    pub fn of(&self, input_tokens: u64, output_tokens: u64) -> u64 {
        let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let total = of(input_tokens, self.input) + of(output_tokens, self.output);
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Placeholder for the model in arguments and variables of an agent.
pub const MODEL: &str = "{model}";

/// Placeholder for the temperature in arguments of an agent.
pub const TEMPERATURE: &str = "{temperature}";

// === impl AgentChoice ===

impl AgentChoice {
    /// Maximum size of instructions, in bytes: more would fill most of a small model's context.
    pub const MAX_INSTRUCTIONS: usize = 32 << 10;

    /// Makes an agent with a name and default settings.
    #[must_use]
    pub fn new(name: AgentName, driver: DriverSpec) -> Self {
        Self {
            name,
            driver,
            scripted: false,
            env: Vec::new(),
            permissions: Permissions::default(),
            model: None,
            model_first: false,
            model_args: Vec::new(),
            model_env: Vec::new(),
            temperature_args: Vec::new(),
            attempts: None,
            price: None,
            instructions: String::new(),
            isolation: Isolation::Full,
            four_tools: false,
            reach: Reach::default(),
            for_constrained: Vec::new(),
            tools: Vec::new(),
        }
    }

    /// Returns the same settings for a command in place of the agent's own program, without model settings.
    #[must_use]
    pub fn with_command(self, driver: DriverSpec) -> Self {
        Self {
            driver,
            scripted: false,
            model: None,
            model_first: false,
            model_args: Vec::new(),
            model_env: Vec::new(),
            temperature_args: Vec::new(),
            ..self
        }
    }

    /// Returns the arguments that pass the temperature to its program.
    #[must_use]
    pub fn temperature_arguments(&self, temperature: &str) -> Vec<String> {
        self.temperature_args.iter().map(|text| text.replace(TEMPERATURE, temperature)).collect()
    }

    /// Returns true if its program gets the model when it is started.
    #[must_use]
    pub fn takes_model(&self) -> bool {
        !self.model_args.is_empty() || !self.model_env.is_empty()
    }

    /// Returns the arguments and variables that pass the model to its program.
    #[must_use]
    pub fn model_arguments(&self, model: &str) -> (Vec<String>, Vec<(String, String)>) {
        let told = |text: &String| text.replace(MODEL, model);
        let env = self.model_env.iter().map(|(name, value)| (name.clone(), told(value)));
        (self.model_args.iter().map(told).collect(), env.collect())
    }

    /// Returns the model for a task whose plan names this one, or none.
    #[must_use]
    pub fn model_for(&self, planned: Option<&str>) -> Option<String> {
        let planned = planned.map(str::to_owned);
        if self.model_first { self.model.clone().or(planned) } else { planned.or_else(|| self.model.clone()) }
    }
}
