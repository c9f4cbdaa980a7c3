#!/usr/bin/env node
// THE SCRIPTED MODEL: a stand-in for a language model, so that real agent CLIs can be driven without a key and without
// a network. It thinks nothing. Every answer follows from the request alone, so retries and resumed sessions are safe.
//
//   node model.mjs --root DIR [--log FILE] [--minutes N] [--file NAME] [--text TEXT]
//
// It listens on 127.0.0.1, prints {"port": N} and ends with its standard input, or after N minutes (10).
// The script of a turn, as far as the tools that the request offers allow it:
//   1. mail was shown: acknowledge each message of it, then say READ;
//   2. else send a message to the agent itself by Switchboard's MCP server (found by a tool search where an agent hides
//      its MCP tools), write TEXT to NAME in the work tree, which is found in the request below DIR, and say DONE.
// A refused tool call counts as made, so the script goes on and says DONE without having done anything.
// The first segment of the path may choose another script: /text only says DONE, /bash writes by the shell tool,
// /escalate asks to leave the agent's own sandbox for it (Codex), /slow never answers, /err500 (or any status) fails.

import { createServer } from "node:http";
import { appendFileSync } from "node:fs";

const DIALECTS = [
  { ends: /\/chat\/completions$/, read: readChat, write: writeChat },
  { ends: /\/messages$/, read: readMessages, write: writeMessages },
  { ends: /\/responses$/, read: readResponses, write: writeResponses },
  { ends: /:(generateContent|streamGenerateContent)$/, read: readGemini, write: writeGemini },
];
const WRITERS = {
  Write: (path, text) => ({ file_path: path, content: text }),
  write_file: (path, text) => ({ file_path: path, content: text }),
  write: (path, text) => ({ filePath: path, content: text }),
};
const SHELLS = {
  Bash: (command, description) => ({ command, description }),
  bash: (command, description) => ({ command, description }),
  run_shell_command: (command, description) => ({ command, description, is_background: false }),
  exec_command: (cmd) => ({ cmd }),
  shell_command: (command) => ({ command }),
};
/** Between the namespace of a tool and its name, where a dialect has namespaces. */
const SPLIT = "\u0000";
const MAX_BODY = 32 << 20;

const flags = {};
for (let i = 2; i < process.argv.length; i += 2) flags[process.argv[i].replace(/^--/, "")] = process.argv[i + 1];
const { root = process.cwd(), log, minutes = "10", file = "hello.txt", text: content = "hello\n" } = flags;

// === The script ===

/** What the model does next: `{ say }` or `{ call, args }`. `asked` is `{ tools, calls, prompt, body }`. */
function next(asked, mode) {
  const { tools, calls, prompt, body } = asked;
  if (tools.length === 0) return { say: '{"title":"A scripted title"}' };
  if (mode === "text") return { say: "DONE: I wrote what was asked for." };
  const ours = (name) => (offered) => offered.includes("switchboard") && offered.endsWith(name);
  const tool = (name) => tools.find(ours(name));
  const done = (name) => calls.filter(ours(name)).length;

  const mail = prompt.includes("You have mail.") ? (prompt.match(/^--- msg_\w+/gm) ?? []) : [];
  const wanted = mail.length > 0 ? "ack_message" : "send_message";
  if (!tool(wanted) && tools.includes("tool_search") && !calls.includes("tool_search")) {
    const hidden = (body.match(new RegExp(`mcp__\\w+?__${wanted}`)) ?? [`mcp__switchboard__${wanted}`])[0];
    return { call: "tool_search", args: { query: `select:${hidden}` } };
  }
  if (mail.length > 0) {
    const id = mail[done("ack_message")]?.slice(4);
    if (id && tool("ack_message")) return { call: tool("ack_message"), args: { id } };
    // An agent whose turn ended over a denial is shown its mail with the task, not in a turn of its own.
    const hasTask = mode === "escalate" && /^Task .* attempt \d+\.$/m.test(prompt);
    return (hasTask && write(asked, mode)) || { say: hasTask ? `DONE: I wrote ${file}.` : "READ" };
  }
  if (tool("send_message") && done("send_message") === 0) {
    const name = prompt.match(/called (\w[\w-]*)/)?.[1] ?? "person";
    return { call: tool("send_message"), args: { recipient: name, payload: "a note to myself" } };
  }
  return write(asked, mode) ?? { say: `DONE: I wrote ${file}.` };
}

function write({ tools, calls, body }, mode) {
  const writer = Object.keys(WRITERS).find((name) => tools.includes(name));
  const shell = Object.keys(SHELLS).find((name) => tools.includes(name));
  // An agent without a tool that writes does it by its shell.
  const name = (mode !== "bash" && writer) || shell;
  if (!name || calls.includes(name)) return undefined;
  if (name === writer) return { call: name, args: WRITERS[name](`${workTree(body)}/${file}`, content) };
  const args = SHELLS[name](`printf %s '${content}' > ${file}`, `write ${file}`);
  const leave = { sandbox_permissions: "require_escalated", justification: `write ${file}` };
  return { call: name, args: mode === "escalate" ? { ...args, ...leave } : args };
}

/** The work tree that the agent tells its model about: a run and a task below the root. */
function workTree(body) {
  const escaped = root.replace(/[^\w/]/g, "\\$&");
  return body.match(new RegExp(`${escaped}/run_[0-9a-z]+/[0-9.]*[0-9]`))?.[0] ?? root;
}

// === The dialects: what was asked, counted from the last message of the user, and how an answer looks ===

const flat = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

function asked(tools, turns, body) {
  const from = turns.findLastIndex((turn) => turn.prompt !== undefined);
  const calls = turns.slice(from + 1).flatMap((turn) => turn.calls ?? []);
  // Agents put reminders of their own around a prompt; all user text since the last words of the model counts.
  let first = from;
  while (first > 0 && turns[first - 1].prompt !== undefined) first -= 1;
  const prompt = turns.slice(Math.max(first, 0), from + 1).map((turn) => turn.prompt).join("\n");
  return { tools: tools.filter(Boolean), calls, prompt, body };
}

function readChat(request, body) {
  const turns = (request.messages ?? []).map(({ role, content, tool_calls }) => {
    if (role === "user") return { prompt: flat(content) };
    return { calls: role === "assistant" ? (tool_calls ?? []).map((call) => call.function?.name ?? "") : [] };
  });
  return { ...asked((request.tools ?? []).map((tool) => tool.function?.name), turns, body), isStream: request.stream === true };
}

function readMessages(request, body) {
  const turns = (request.messages ?? []).map(({ role, content }) => {
    const parts = Array.isArray(content) ? content : [];
    if (role === "user" && !parts.some((part) => part.type === "tool_result")) return { prompt: flat(content) };
    return { calls: parts.filter((part) => part.type === "tool_use").map((part) => part.name) };
  });
  return { ...asked((request.tools ?? []).map((tool) => tool.name), turns, body), isStream: request.stream === true };
}

/** Tools of MCP servers come in a namespace each, and are called with it. */
function readResponses(request, body) {
  const turns = (request.input ?? []).map(({ type = "message", role, content, name, namespace }) => {
    if (type === "message" && role === "user") return { prompt: flat(content) };
    return { calls: /_call$/.test(type) ? [namespace ? namespace + SPLIT + name : name] : [] };
  });
  const tools = (request.tools ?? []).flatMap((tool) =>
    tool.type === "namespace" ? (tool.tools ?? []).map(({ name }) => `${tool.name}${SPLIT}${name}`) : [tool.name]);
  return { ...asked(tools, turns, body), isStream: request.stream === true };
}

function readGemini(request, body, path) {
  const turns = (request.contents ?? []).map(({ role, parts = [] }) => {
    if (role === "user" && !parts.some((part) => part.functionResponse)) return { prompt: flat(parts) };
    return { calls: parts.filter((part) => part.functionCall).map((part) => part.functionCall.name) };
  });
  const tools = (request.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map(({ name }) => name));
  return { ...asked(tools, turns, body), isStream: path.endsWith(":streamGenerateContent") };
}

function writeChat({ say, call, args }, isStream, id) {
  const calls = call && [{ index: 0, id: `call_${id}`, type: "function", function: { name: call, arguments: JSON.stringify(args) } }];
  const finish_reason = call ? "tool_calls" : "stop";
  const usage = { prompt_tokens: 1000, completion_tokens: 20, total_tokens: 1020, prompt_tokens_details: { cached_tokens: 400 } };
  const base = { id: `chat_${id}`, created: 0, model: "fake-1" };
  if (!isStream) {
    const message = { role: "assistant", content: say ?? null, ...(calls && { tool_calls: calls }) };
    return { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage };
  }
  const chunk = (delta, finish_reason = null) => ({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
  const words = calls ? [chunk({ tool_calls: calls })] : say.split(/(?<= )/).map((content) => chunk({ content }));
  const last = { ...base, object: "chat.completion.chunk", choices: [], usage };
  return [chunk({ role: "assistant", content: "" }), ...words, chunk({}, finish_reason), last].map((data) => ({ data })).concat({ data: "[DONE]" });
}

function writeMessages({ say, call, args }, isStream, id) {
  const stop_reason = call ? "tool_use" : "end_turn";
  const block = call ? { type: "tool_use", id: `toolu_${id}`, name: call, input: args } : { type: "text", text: say };
  const usage = { input_tokens: 600, cache_read_input_tokens: 400, cache_creation_input_tokens: 0, output_tokens: 20 };
  const message = { id: `msg_${id}`, type: "message", role: "assistant", model: "fake-1", stop_sequence: null };
  if (!isStream) return { ...message, content: [block], stop_reason, usage };
  const empty = call ? { ...block, input: {} } : { ...block, text: "" };
  const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(args) } : { type: "text_delta", text: say };
  return [
    { type: "message_start", message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: empty },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: "message_stop" },
  ].map((data) => ({ event: data.type, data }));
}

function writeResponses({ say, call, args }, isStream, id) {
  const [namespace, name] = call?.includes(SPLIT) ? call.split(SPLIT) : [undefined, call];
  const item = call
    ? { type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, name, ...(namespace && { namespace }), arguments: JSON.stringify(args), status: "completed" }
    : { type: "message", id: `item_${id}`, role: "assistant", status: "completed", content: [{ type: "output_text", text: say, annotations: [] }] };
  const usage = { input_tokens: 1000, input_tokens_details: { cached_tokens: 400 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 5 }, total_tokens: 1020 };
  const response = { id: `resp_${id}`, object: "response", status: "completed", model: "fake-1", output: [item], usage };
  if (!isStream) return response;
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress" } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response },
  ].map((data, sequence_number) => ({ event: data.type, data: { ...data, sequence_number } }));
}

function writeGemini({ say, call, args }, isStream) {
  const part = call ? { functionCall: { name: call, args } } : { text: say };
  const usageMetadata = { promptTokenCount: 1000, candidatesTokenCount: 20, totalTokenCount: 1020, cachedContentTokenCount: 400 };
  const answer = { candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }], usageMetadata, modelVersion: "fake-1" };
  return isStream ? [{ data: answer }] : answer;
}

// === The server ===

/** Which model a request asks for: Gemini's dialect names it in the address. */
const modelOf = (path, body) => path.match(/models\/([^:/]+):/)?.[1] ?? JSON.parse(body).model;

/** The key that a request brings. */
const keyOf = (headers) => headers.authorization?.replace(/^Bearer /, "") ?? headers["x-api-key"] ?? headers["x-goog-api-key"];

let count = 0;

function serve(request, response, body) {
  const { pathname } = new URL(request.url, "http://localhost");
  const mode = pathname.match(/^\/(write|text|bash|escalate|slow|err\d{3})\//)?.[1] ?? "write";
  const path = mode === "write" ? pathname : pathname.slice(mode.length + 1);
  const json = (status, value) => {
    response.writeHead(status, { "content-type": "application/json", "retry-after": "0" });
    response.end(request.method === "HEAD" ? undefined : JSON.stringify(value));
  };
  if (request.method !== "POST") {
    const models = [{ id: "fake-1", object: "model" }];
    return json(path.endsWith("/models") || request.method === "HEAD" ? 200 : 404, { object: "list", data: models });
  }
  if (path.endsWith("/count_tokens")) return json(200, { input_tokens: 1000 });
  if (path.endsWith(":countTokens")) return json(200, { totalTokens: 1000 });
  if (mode === "slow") return undefined;
  const status = Number(mode.match(/^err(\d+)$/)?.[1] ?? 0);
  if (status) return json(status, { error: { type: "api_error", code: status, message: `scripted failure ${status}` } });
  const dialect = DIALECTS.find(({ ends }) => ends.test(path));
  if (!dialect) return json(404, { error: { type: "not_found", message: `nothing is scripted for ${path}` } });

  const asked = dialect.read(JSON.parse(body), body, path);
  const step = next(asked, mode);
  if (log) appendFileSync(log, `${JSON.stringify({ path, mode, model: modelOf(path, body), key: keyOf(request.headers), tools: asked.tools, calls: asked.calls, step, body })}\n`);
  count += 1;
  const answer = dialect.write(step, asked.isStream, `${process.pid}_${count}`);
  if (!asked.isStream) return json(200, answer);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const { event, data } of answer) {
    response.write(`${event ? `event: ${event}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  }
  return response.end();
}

const server = createServer((request, response) => {
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => (size += chunk.length) <= MAX_BODY && chunks.push(chunk));
  request.on("end", () => {
    try {
      serve(request, response, Buffer.concat(chunks).toString("utf8"));
    } catch (error) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { type: "invalid_request_error", message: String(error) } }));
    }
  });
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`));
process.stdin.resume().on("end", () => process.exit(0));
setTimeout(() => process.exit(0), Number(minutes) * 60_000);
