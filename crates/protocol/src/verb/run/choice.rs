//! Who works in a run: agents, roles and what their tokens cost, as the caller has resolved them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::DriverSpec;
use crate::id::AgentName;
use crate::isolation::{Isolation, Reach, Tool};
use crate::permission::Permissions;
use crate::role::{Rights, RoleLimits};
use crate::run::way::RoleId;

/// An agent that the caller has resolved: what to start under which name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentChoice {
    /// The name that the plan's tasks use.
    pub name: AgentName,
    /// How to drive it.
    pub driver: DriverSpec,
    /// Whether it is a script that plays an agent.
    #[serde(default)]
    pub scripted: bool,
    /// Names of environment variables that it may inherit from the caller, with their values.
    #[serde(default)]
    pub env: Vec<(String, String)>,
    /// What it may do without asking a person, where the plan doesn't say.
    #[serde(default)]
    pub permissions: Permissions,
    /// The model, by the agent's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether that model goes before what the plan says: a flag does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub model_first: bool,
    /// Arguments with which its program is told the model; `{model}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_args: Vec<String>,
    /// Variables with which its program is told the model; `{model}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub model_env: Vec<(String, String)>,
    /// Arguments with which its program is told the temperature of a role; `{temperature}` stands for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub temperature_args: Vec<String>,
    /// How often its tasks are tried, where the plan doesn't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// What its tokens cost, where it names no price itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
    /// What it is told with every task, at most 32 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// How it is held at least; a plan may only hold it tighter.
    #[serde(default, skip_serializing_if = "Isolation::is_full")]
    pub isolation: Isolation,
    /// Whether it has, or can be cut to, the four tools of constrained work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub four_tools: bool,
    /// What it may touch when it is constrained.
    #[serde(default, skip_serializing_if = "Reach::is_empty")]
    pub reach: Reach,
    /// Settings of its that only constrained workers heed, by name: a run in which it is not constrained names them. What `reach` and `tools` hold need not be
    /// listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub for_constrained: Vec<String>,
    /// Which of the four tools it has when it is constrained; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

/// Who has a role in a team, and what it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleChoice {
    /// The role: `reviewer`, `test_engineer` …
    pub role: RoleId,
    /// Which of the agents has it; the default agent's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The model, by the agent's own name for it; goes before what the agent's settings say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is told about its role in place of the shipped text, at most 32 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instructions: String,
    /// Models that take over one after the other while that one can't be reached, at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// The temperature, 0 to 2, as it is written to the agent's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<String>,
    /// Whether no worker may be started in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// What it may do; as the shipped role where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Rights>,
    /// What a worker in it may use up; as the shipped role where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<RoleLimits>,
}

// === impl RoleChoice ===

impl RoleChoice {
    /// A role of which nothing else is said.
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

/// What tokens cost, in millionths of a US dollar for a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenPrice {
    /// A million tokens read.
    pub input: u64,
    /// A million tokens written.
    pub output: u64,
}

// === impl TokenPrice ===

impl TokenPrice {
    /// What so many tokens cost in millionths of a US dollar, rounded up.
    #[must_use]
    pub fn of(&self, input_tokens: u64, output_tokens: u64) -> u64 {
        let of = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let total = of(input_tokens, self.input) + of(output_tokens, self.output);
        u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Stands for the model in arguments and variables of an agent.
pub const MODEL: &str = "{model}";

/// Stands for the temperature in arguments of an agent.
pub const TEMPERATURE: &str = "{temperature}";

// === impl AgentChoice ===

impl AgentChoice {
    /// Most bytes of instructions: more would be most of what a small model can take.
    pub const MAX_INSTRUCTIONS: usize = 32 << 10;

    /// An agent under a name, with the usual settings.
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

    /// The same settings for a command in place of the agent's own program, which knows nothing of models.
    #[must_use]
    pub fn carried_out_by(self, driver: DriverSpec) -> Self {
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

    /// Arguments that tell its program the temperature.
    #[must_use]
    pub fn told_temperature(&self, temperature: &str) -> Vec<String> {
        self.temperature_args.iter().map(|text| text.replace(TEMPERATURE, temperature)).collect()
    }

    /// Whether its program is told the model when it is started.
    #[must_use]
    pub fn takes_model(&self) -> bool {
        !self.model_args.is_empty() || !self.model_env.is_empty()
    }

    /// Arguments and variables that tell its program the model.
    #[must_use]
    pub fn told_model(&self, model: &str) -> (Vec<String>, Vec<(String, String)>) {
        let told = |text: &String| text.replace(MODEL, model);
        let env = self.model_env.iter().map(|(name, value)| (name.clone(), told(value)));
        (self.model_args.iter().map(told).collect(), env.collect())
    }

    /// The model for a task whose plan names this one, or none.
    #[must_use]
    pub fn model_for(&self, planned: Option<&str>) -> Option<String> {
        let planned = planned.map(str::to_owned);
        if self.model_first { self.model.clone().or(planned) } else { planned.or_else(|| self.model.clone()) }
    }
}
