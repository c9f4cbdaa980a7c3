//! The choice of a model when a session opens. Agents offer it in one of two ways.

use serde_json::{Value, json};
use switchboard_protocol::error::near_matches;
use switchboard_protocol::id::fold;

use crate::beginning;
use crate::driver::Model;

/// Maximum number of models that a refusal names, and maximum length of each in bytes.
const MAX_NAMED: (usize, usize) = (12, 60);

/// How to choose a model.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    /// Send this request, whose parameters lack the session.
    Request(&'static str, Value),
    /// The session already uses the model, or the agent was started with it and lists no models.
    Chosen,
    /// The agent doesn't offer the model; the reason, for a person.
    Refused(String),
}

/// Finds a model by its id or its name in the answer to `session/new`.
pub(super) fn choose(opened: &Value, wanted: &Model) -> Choice {
    let model = wanted.name.as_str();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let option = list(&opened["configOptions"]).into_iter().find(|option| option["category"] == "model");
    let mut offered = Vec::new();
    if let Some(option) = option {
        if option["currentValue"] == model {
            return Choice::Chosen;
        }
        // Options may come in groups.
        let flat = list(&option["options"]).into_iter().flat_map(|entry| match entry["options"].as_array() {
            Some(group) => group.clone(),
            None => vec![entry],
        });
        let values: Vec<_> = flat.collect();
        if let Some(value) = find(&values, "value", model) {
            return Choice::Request("session/set_config_option", json!({ "configId": option["id"], "value": value }));
        }
        offered.extend(values.iter().filter_map(|value| value["value"].as_str().map(str::to_owned)));
    }
    // An agent that was started with a model that it doesn't list may still use it.
    if opened["models"]["currentModelId"] == model {
        return Choice::Chosen;
    }
    let models = list(&opened["models"]["availableModels"]);
    if let Some(id) = find(&models, "modelId", model) {
        return Choice::Request("session/set_model", json!({ "modelId": id }));
    }
    for id in models.iter().filter_map(|value| value["modelId"].as_str()) {
        // Some agents offer their models in both ways.
        if !offered.iter().any(|known| known == id) {
            offered.push(id.to_owned());
        }
    }
    if offered.is_empty() && wanted.is_given {
        return Choice::Chosen;
    }
    if offered.is_empty() {
        return Choice::Refused(format!("the agent has no way to choose the model {:?}", beginning(model, 100)));
    }
    // An agent may offer hundreds: the similar ones come first.
    let near =
        near_matches(model, offered.iter().map(String::as_str)).into_iter().map(str::to_owned).collect::<Vec<_>>();
    offered.sort_by_key(|name| !near.contains(name) && !fold(name).contains(&fold(model)));
    let names: Vec<_> = offered.iter().take(MAX_NAMED.0).map(|name| beginning(name, MAX_NAMED.1)).collect();
    Choice::Refused(format!("the agent does not offer the model {:?}, but {}", beginning(model, 100), names.join(", ")))
}

fn find(list: &[Value], field: &str, model: &str) -> Option<String> {
    let by = |name: &str| list.iter().find(|entry| entry[name] == model);
    by(field).or_else(|| by("name"))?[field].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(name: &str) -> Model {
        Model { name: name.to_owned(), is_given: false }
    }

    #[test]
    fn a_model_that_the_program_was_told_is_believed_where_the_agent_says_nothing_else() {
        let given = Model { is_given: true, ..wanted("x") };
        let listed = json!({ "models": { "currentModelId": "m", "availableModels": [{ "modelId": "m" }] } });
        let unlisted = json!({ "models": { "currentModelId": "x", "availableModels": [{ "modelId": "m" }] } });
        let current =
            json!({ "configOptions": [{ "id": "model", "category": "model", "currentValue": "x", "options": [] }] });

        assert_eq!(choose(&json!({}), &given), Choice::Chosen);
        assert_eq!(choose(&unlisted, &given), Choice::Chosen);
        assert_eq!(choose(&current, &given), Choice::Chosen);
        let Choice::Refused(why) = choose(&listed, &given) else { panic!("chosen") };
        assert_eq!(why, "the agent does not offer the model \"x\", but m");
    }

    #[test]
    fn a_refusal_names_the_models_like_the_wanted_one_first() {
        let models = ["a/one", "b/two", "c/small-3", "c/small-4-large", "d/five"].map(|id| json!({ "modelId": id }));
        let models = json!({ "models": { "availableModels": models } });
        let first = |model: &str| match choose(&models, &wanted(model)) {
            Choice::Refused(why) => why.split("but ").nth(1).unwrap().split(", ").next().unwrap().to_owned(),
            chosen @ (Choice::Request(..) | Choice::Chosen) => panic!("{chosen:?}"),
        };

        assert_eq!(first("c/smal-3"), "c/small-3");
        assert_eq!(first("Five"), "d/five");
        assert_eq!(first("nothing-like-it"), "a/one");
    }

    #[test]
    fn a_model_is_chosen_by_whatever_way_the_agent_offers() {
        let option = json!({ "configOptions": [{ "id": "mode", "category": "mode", "options": [{ "value": "m" }] },
            { "id": "model", "category": "model", "options": [{ "group": "g", "options": [{ "value": "m", "name": "M" }] }] }] });
        let models = json!({ "models": { "availableModels": [{ "modelId": "m", "name": "M" }] } });

        for model in ["m", "M"] {
            let chosen = json!({ "configId": "model", "value": "m" });
            assert_eq!(choose(&option, &wanted(model)), Choice::Request("session/set_config_option", chosen));
            assert_eq!(
                choose(&models, &wanted(model)),
                Choice::Request("session/set_model", json!({ "modelId": "m" }))
            );
        }
        let Choice::Refused(why) = choose(&models, &wanted("x")) else { panic!("chosen") };
        assert_eq!(why, "the agent does not offer the model \"x\", but m");
        let mut both = models;
        both["configOptions"] = option["configOptions"].clone();
        let Choice::Refused(why) = choose(&both, &wanted("x")) else { panic!("chosen") };
        assert_eq!(why, "the agent does not offer the model \"x\", but m");
        let Choice::Refused(why) = choose(&json!({}), &wanted("x")) else { panic!("chosen") };
        assert_eq!(why, "the agent has no way to choose the model \"x\"");
    }
}
