//! Compiled rules: the compiler's program, and a few machines kept from earlier evaluations.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::RegoVM;
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{CompiledPolicy, Engine, Value};

use crate::bundle::File;
use crate::error::Error;

/// Maximum number of instructions of one decision; the default bundle takes some hundreds.
const MAX_INSTRUCTIONS: usize = 200_000;
/// Time limit of one decision. Far above what any needs, so that a busy machine refuses nothing.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Number of instructions between two checks of the clock.
const TIME_CHECK: NonZeroU32 = NonZeroU32::new(256).unwrap();
/// Maximum number of machines kept for later calls.
const MAX_IDLE: usize = 4;

/// Rules that can be evaluated for one value.
pub(crate) struct Program {
    policy: CompiledPolicy,
    program: Arc<regorus::rvm::Program>,
    idle: Mutex<Vec<RegoVM>>,
}

impl Program {
    /// Compiles files for one entry point, the path of a rule.
    pub(crate) fn compile(files: &[File], entry: &str) -> Result<Self, Error> {
        let name = files.first().map_or("policy", |file| &file.name);
        let broken = |message: String| Error::syntax(name, &message);
        let mut engine = Engine::new();
        for file in files {
            let added = engine.add_policy(file.name.clone(), file.text.clone());
            added.map_err(|error| Error::syntax(&file.name, &error.to_string()))?;
        }
        let policy = engine.compile_with_entrypoint(&entry.into()).map_err(|error| broken(error.to_string()))?;
        let program = Compiler::compile_from_policy(&policy, &[entry]).map_err(|error| broken(error.to_string()))?;
        Ok(Self { policy, program, idle: Mutex::default() })
    }

    /// Returns the entry point's value for an input. A machine that failed is not used again.
    pub(crate) fn eval(&self, input: Value) -> Result<Value, String> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut machine = idle.map_or_else(|| self.machine(), Ok)?;
        machine.set_input(input);
        let value = machine.execute_entry_point_by_index(0).map_err(|error| error.to_string())?;
        machine.set_input(Value::Undefined);
        let mut kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_IDLE {
            kept.push(machine);
        }
        Ok(value)
    }

    fn machine(&self) -> Result<RegoVM, String> {
        let mut machine = RegoVM::new_with_policy(self.policy.clone());
        machine.set_max_instructions(MAX_INSTRUCTIONS);
        machine
            .set_execution_timer_config(Some(ExecutionTimerConfig { limit: TIME_LIMIT, check_interval: TIME_CHECK }));
        machine.load_program(Arc::clone(&self.program));
        machine.set_data(Value::new_object()).map_err(|error| error.to_string())?;
        Ok(machine)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}
