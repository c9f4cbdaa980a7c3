//! Maps a verb's name to its handler: one row and one handler each, checked by the compiler.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use std::task::Poll;

use serde_json::Value;
use serde_json::value::to_raw_value;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::verb::{Row, Verb};

use super::Verbs;
use super::arguments::{self, Misfit};
use super::context::Context;
use super::wrong_type;
use crate::face::{self, Answering, Reply};

/// Runs one verb. Every verb in `for_each_verb!` needs an implementation: without one, [`ROUTES`] does not compile.
pub(crate) trait Handle<V: Verb> {
    /// Answers a call that the policy let through.
    ///
    /// # Errors
    /// The verb's refusal or failure.
    fn handle(&self, call: &Context, request: V::Request) -> impl Future<Output = Result<V::Reply, Failure>> + Send;
}

/// A handler without its types.
pub(crate) type Run = for<'a> fn(&'a Verbs, &'a Context, Value) -> Answering<'a>;

/// A verb's row and its handler.
pub(crate) struct Route {
    /// Name of the verb.
    pub(crate) name: &'static str,
    /// Row of the verb, as faces, policy and `find_tools` see it.
    pub(crate) row: Arc<Row>,
    /// Handler of the verb.
    pub(crate) run: Run,
}

/// A tool that is not a verb of ours: one of an upstream server.
pub(crate) trait Upstream: Send + Sync {
    /// Returns the tool's row; its name must not be a verb's.
    fn row(&self) -> Arc<Row>;

    /// Calls the tool.
    fn call<'a>(&'a self, caller: &'a Caller, args: Value, key: Option<String>) -> Answering<'a>;
}

/// Meaning of a name.
#[derive(Clone)]
pub(crate) enum Found {
    /// A verb.
    Verb(&'static Route),
    /// A tool of an upstream server.
    Upstream(Arc<dyn Upstream>),
}

/// Routes of all verbs, by name.
static ROUTES: LazyLock<BTreeMap<&'static str, Route>> = LazyLock::new(|| {
    macro_rules! routes {
        ($($verb:path)*) => { [$(Route::of::<$verb>()),*] };
    }
    let routes: [Route; _] = switchboard_protocol::for_each_verb!(routes);
    routes.into_iter().map(|route| (route.name, route)).collect()
});

/// Tools of upstream servers, by name.
#[derive(Default)]
pub(crate) struct Upstreams(RwLock<BTreeMap<String, Arc<dyn Upstream>>>);

// === impl Route ===

impl Route {
    fn of<V: Verb + 'static>() -> Self
    where
        Verbs: Handle<V>,
    {
        Self { name: V::NAME, row: Arc::new(Row::of::<V>()), run: run::<V> }
    }
}

fn run<'a, V: Verb + 'static>(verbs: &'a Verbs, call: &'a Context, args: Value) -> Answering<'a>
where
    Verbs: Handle<V>,
{
    Box::pin(async move {
        let reply = verbs.handle(call, typed::<V>(args)?).await?;
        to_raw_value(&reply).map_err(|error| Failure::new("internal.bug", format!("{}: {error}", V::NAME)))
    })
}

/// Words that other programs use for our arguments, each with the argument.
const MEANT: [(&str, &str); 6] = [
    ("to", "recipient"),
    ("agent", "recipient"),
    ("text", "payload"),
    ("message", "payload"),
    ("body", "payload"),
    ("files", "globs"),
];

/// Reads the arguments of a verb.
pub(super) fn typed<V: Verb>(args: Value) -> Result<V::Request, Failure> {
    let args = if args.is_null() { Value::Object(serde_json::Map::new()) } else { args };
    arguments::read(args).map_err(|misfit| refused(V::NAME, &misfit))
}

/// Builds the refusal of arguments.
fn refused(verb: &str, Misfit { message, path }: &Misfit) -> Failure {
    let message = wrong_type::in_words_of_json(message);
    let path = Some(path).filter(|path| !path.is_empty());
    let path = path.filter(|path| !message.starts_with(&format!("unknown field `{path}`")));
    let field = path.map(|path| format!("`{path}`: ")).unwrap_or_default();
    // serde names the unknown field first, then the known ones.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().unwrap_or_default();
    let known: Vec<_> = quoted.collect();
    let meant = MEANT.iter().find(|(word, field)| *word == unknown && known.contains(field)).map(|(_, field)| *field);
    let near = meant.or_else(|| near_matches(unknown, known).first().copied());
    let near = near.map(|near| format!("did you mean `{near}`? "));
    let failure = Failure::new("request.bad-args", format!("{verb}: {field}{message}"));
    failure.hint(format!("{}switchboard call {verb} --help", near.unwrap_or_default()))
}

// === impl Found ===

impl Found {
    /// Returns the row of the verb or tool.
    pub(crate) fn row(&self) -> Arc<Row> {
        match self {
            Self::Verb(route) => Arc::clone(&route.row),
            Self::Upstream(tool) => tool.row(),
        }
    }
}

// === impl Upstreams ===

impl Upstreams {
    /// Finds a name: a verb, else a tool of an upstream server.
    ///
    /// # Errors
    /// `request.unknown-verb` with similar verbs.
    pub(crate) fn find(&self, name: &str) -> Result<Found, Failure> {
        if let Some(route) = ROUTES.get(name) {
            return Ok(Found::Verb(route));
        }
        let tools = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tools.get(name).map(|tool| Found::Upstream(Arc::clone(tool))).ok_or_else(|| face::unknown_verb(name))
    }

    /// Returns all rows, verbs first, each by name.
    pub(crate) fn rows(&self) -> Vec<Arc<Row>> {
        let tools = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let verbs = ROUTES.values().map(|route| Arc::clone(&route.row));
        verbs.chain(tools.values().map(|tool| tool.row())).collect()
    }
}

/// Runs a handler to its answer. A panic is a failure of its call and does not end the task that runs it.
///
/// # Errors
/// The failure of the handler; `internal.bug` after a panic.
pub(crate) async fn caught(name: &str, mut call: Answering<'_>) -> Result<Reply, Failure> {
    let done = std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context))) {
        Ok(polled) => polled.map(Some),
        Err(_) => Poll::Ready(None),
    });
    done.await.unwrap_or_else(|| {
        tracing::error!(verb = name, "a handler panicked");
        Err(Failure::new("internal.bug", format!("{name} ended without an answer")))
    })
}

/// Returns a handler that panics, for tests.
pub(crate) fn panicking() -> Answering<'static> {
    Box::pin(async { panic!("on purpose: SWITCHBOARD_PANIC_IN names this verb") })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;
    use switchboard_protocol::verb::{Access, Class, Profile, table};

    use super::*;

    struct Weather;

    impl Upstream for Weather {
        fn row(&self) -> Arc<Row> {
            Arc::new(Row {
                name: Cow::Owned("weather.forecast".to_owned()),
                about: Cow::Owned("Forecasts the weather.".to_owned()),
                effect: Access::Read,
                class: Class::Upstream,
                profile: Profile::Found,
                request: json!({ "type": "object" }).into(),
                reply: json!({ "type": "object" }).into(),
            })
        }

        fn call<'a>(&'a self, _: &'a Caller, args: Value, _: Option<String>) -> Answering<'a> {
            Box::pin(async move { Ok(face::tests::text(&args)) })
        }
    }

    fn with_weather() -> Upstreams {
        let tools: BTreeMap<String, Arc<dyn Upstream>> =
            BTreeMap::from([("weather.forecast".to_owned(), Arc::new(Weather) as Arc<dyn Upstream>)]);
        Upstreams(RwLock::new(tools))
    }

    #[test]
    fn a_word_of_other_programs_is_told_as_the_argument_that_it_means() {
        use switchboard_protocol::verb::bus::SendMessage;
        let refused = |args: Value| typed::<SendMessage>(args).unwrap_err().hint;

        assert!(refused(json!({ "to": "ada" })).starts_with("did you mean `recipient`?"));
        assert!(refused(json!({ "text": "x" })).starts_with("did you mean `payload`?"));
        assert!(refused(json!({ "recipent": "ada" })).starts_with("did you mean `recipient`?"));
    }

    type Refusal = fn(Value) -> Option<Failure>;

    fn refusals() -> BTreeMap<&'static str, Refusal> {
        macro_rules! refusals {
            ($($verb:path)*) => { [$((<$verb as Verb>::NAME, (|args| typed::<$verb>(args).err()) as Refusal)),*] };
        }
        switchboard_protocol::for_each_verb!(refusals).into_iter().collect()
    }

    /// Returns true if serde's message names an expected Rust type.
    fn is_of_rust(wanted: &str) -> bool {
        let words = ["struct", "enum", "sequence", "map", "u8", "u16", "u32", "u64", "usize", "i64", "f64"];
        wanted.split(' ').any(|word| words.contains(&word))
    }

    #[test]
    fn every_argument_of_a_wrong_type_is_named_and_a_misspelt_one_gets_a_near_one() {
        let refusals = refusals();
        let mut tried = 0;
        for row in table() {
            for (name, field) in row.request.value()["properties"].as_object().into_iter().flatten() {
                let kind = field["type"].as_str().or_else(|| field["type"][0].as_str());
                if !matches!(kind, Some("string" | "integer" | "number" | "boolean" | "array")) {
                    continue;
                }
                let refused = refusals[row.name.as_ref()](json!({ name.clone(): { "no": 1 } }));
                let refused = refused.unwrap_or_else(|| panic!("{}.{name} takes anything", row.name));
                assert!(
                    refused.what.starts_with(&format!("{}: `{name}", row.name)),
                    "{}.{name}: {}",
                    row.name,
                    refused.what
                );
                let (_, wanted) = refused.what.rsplit_once("expected ").unwrap_or_default();
                assert!(!is_of_rust(wanted), "{}.{name}: {}", row.name, refused.what);
                tried += 1;
            }
        }
        assert!(tried > 100, "{tried}");
        for (args, wanted) in [
            (json!({ "budget": 3 }), "start_run: `budget`: invalid type: integer `3`, expected an object"),
            (
                json!({ "agents": [{ "name": "a", "driver": "x" }] }),
                "start_run: `agents[0].driver`: invalid type: string \"x\", expected an object",
            ),
            (
                json!({ "max_workers": -1 }),
                "start_run: `max_workers`: invalid value: integer `-1`, expected a whole number that is not negative",
            ),
        ] {
            assert_eq!(refusals["start_run"](args).unwrap().what, wanted);
        }
        let misspelt = refusals["send_message"](json!({ "recipient": "ada", "payload": "x", "prioritty": "high" }));
        assert!(misspelt.unwrap().hint.starts_with("did you mean `priority`? "));
    }

    #[test]
    fn every_row_of_the_table_has_a_route() {
        for row in table() {
            assert_eq!(ROUTES[row.name.as_ref()].row.effect, row.effect, "{}", row.name);
        }
        assert_eq!(ROUTES.len(), table().len());
    }

    #[test]
    fn a_name_is_looked_up_among_the_verbs_and_then_among_upstream_tools() {
        let tools = with_weather();

        assert!(matches!(tools.find("get_status"), Ok(Found::Verb(_))));
        assert!(matches!(tools.find("weather.forecast"), Ok(Found::Upstream(_))));
        assert!(tools.find("get_statu").err().unwrap().hint.contains("get_status"));
        assert_eq!(tools.rows().len(), table().len() + 1);
    }

    #[tokio::test]
    async fn a_handler_that_panics_is_a_failure_of_its_call() {
        let call: Answering<'_> = Box::pin(async {
            tokio::task::yield_now().await;
            panic!("on purpose")
        });

        let failure = caught("get_status", call).await.unwrap_err();

        assert_eq!(failure.code, "internal.bug");
    }
}
