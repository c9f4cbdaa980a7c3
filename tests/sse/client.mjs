// Speaks the older HTTP transport of MCP through the public client library: `node client.mjs URL TOKEN`. Prints one JSON line.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";

const [url, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}`, "Switchboard-Agent": "ada" };
const transport = new SSEClientTransport(new URL("/sse", url), {
  requestInit: { headers },
  eventSourceInit: { fetch: (at, init) => fetch(at, { ...init, headers: { ...init.headers, ...headers } }) },
});
const client = new Client({ name: "story", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
await client.callTool({ name: "register_agent", arguments: { name: "ada" } });
const sent = await client.callTool({ name: "send_message", arguments: { recipient: "ada", payload: "a\nb" } });
const inbox = await client.callTool({ name: "check_inbox", arguments: {} });
const unknown = await client.callTool({ name: "send_message", arguments: { recipient: "nobody", payload: "x" } });
await client.close();
console.log(JSON.stringify({
  tools: tools.map((tool) => tool.name),
  sent: sent.structuredContent,
  inbox: inbox.structuredContent,
  refused: unknown.isError,
}));
