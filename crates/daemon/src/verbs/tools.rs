//! `find_tools` and `describe_tool`: every tool beyond the default list.

use std::cmp::Reverse;
use std::sync::Arc;

use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::tool::{
    DescribeTool, DescribeToolReply, DescribeToolRequest, FindTools, FindToolsReply, FindToolsRequest, FoundTool,
};
use switchboard_protocol::verb::{Profile, Row};

use super::Verbs;
use super::context::Context;
use super::route::Handle;
use crate::face;

/// Number of tools in an answer: default and maximum.
const LIMIT: (u32, u32) = (10, 50);
/// Maximum number of words of a request that are searched.
const MAX_WORDS: usize = 12;

impl Handle<FindTools> for Verbs {
    async fn handle(&self, _: &Context, request: FindToolsRequest) -> Result<FindToolsReply, Failure> {
        let found = ranked(self.upstreams.rows(), &request.words);
        let limit = request.limit.unwrap_or(LIMIT.0).clamp(1, LIMIT.1) as usize;
        let line = |row: &Arc<Row>| FoundTool { name: row.name.to_string(), about: row.about.to_string() };
        Ok(FindToolsReply { tools: found.iter().take(limit).map(line).collect(), total: found.len() as u64 })
    }
}

impl Handle<DescribeTool> for Verbs {
    async fn handle(&self, _: &Context, request: DescribeToolRequest) -> Result<DescribeToolReply, Failure> {
        let row = self.upstreams.find(&request.name)?.row();
        if row.profile == Profile::Never {
            return Err(face::unknown_verb(&request.name));
        }
        Ok(DescribeToolReply {
            name: row.name.to_string(),
            about: row.about.to_string(),
            effect: row.effect,
            profile: row.profile,
            request: row.request.value(),
            reply: row.reply.value(),
        })
    }
}

/// Ranks the matching tools, best first: by the number of matching words, then by where they match, then by name.
fn ranked(rows: Vec<Arc<Row>>, words: &str) -> Vec<Arc<Row>> {
    let words: Vec<String> = words_of(words).take(MAX_WORDS).collect();
    let mut found: Vec<_> = rows
        .into_iter()
        .filter(|row| row.profile != Profile::Never)
        .map(|row| (score(&row, &words), row))
        .filter(|((fitting, _), _)| words.is_empty() || *fitting > 0)
        .collect();
    found.sort_by(|(a, row), (b, other)| (Reverse(a), &row.name).cmp(&(Reverse(b), &other.name)));
    found.into_iter().map(|(_, row)| row).collect()
}

/// Returns how many words match a tool, and how well: a word of its name counts most, then part of one, a word of its
/// description, and the name of an argument.
fn score(row: &Row, words: &[String]) -> (usize, usize) {
    let name: Vec<_> = words_of(&row.name).collect();
    let about: Vec<_> = words_of(&row.about).collect();
    let fields = row.request.fields();
    let of = |word: &String| match word {
        word if *word == row.name => 16,
        word if name.contains(word) => 8,
        word if row.name.to_lowercase().contains(word.as_str()) => 4,
        word if about.iter().any(|one| one == word || one.trim_end_matches('s') == word.trim_end_matches('s')) => 2,
        word if fields.iter().any(|field| field.contains(word.as_str())) => 1,
        _ => 0,
    };
    let scores: Vec<usize> = words.iter().map(of).collect();
    (scores.iter().filter(|score| **score > 0).count(), scores.iter().sum())
}

/// Splits a text into words in lower case. An underscore separates the words of a name; the whole name is a word as well.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let text = text.to_lowercase();
    let whole: Vec<String> = text.split_whitespace().filter(|word| word.contains('_')).map(str::to_owned).collect();
    let parts: Vec<String> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    whole.into_iter().chain(parts)
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::verb::table;

    use super::*;

    fn found(words: &str) -> Vec<String> {
        let rows = table().into_iter().map(Arc::new).collect();
        ranked(rows, words).iter().map(|row| row.name.to_string()).collect()
    }

    #[test]
    fn finds_tools_by_name_by_part_of_it_and_by_what_they_do() {
        assert_eq!(found("retry_task")[0], "retry_task");
        assert_eq!(found("retry task")[0], "retry_task");
        assert_eq!(found("lease renew")[0], "renew_lease");
        assert_eq!(found("secrets")[0], "secretscan");
        assert!(found("words in messages").contains(&"search_messages".to_owned()));
    }

    #[test]
    fn an_empty_search_lists_all_by_name_and_a_hopeless_one_none() {
        let all = found("");

        assert!(all.is_sorted() && all.len() > 40);
        assert!(found("zzzz").is_empty());
    }

    #[test]
    fn what_is_never_a_tool_is_not_found() {
        assert!(!found("").contains(&"shutdown".to_owned()));
        assert!(!found("approve").contains(&"approve".to_owned()));
    }
}
