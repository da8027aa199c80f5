// Drives `carrel mcp` with the TypeScript SDK's client: reads {server, calls, hostile, uris} from stdin, prints what came back.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { text } from "node:stream/consumers";

const { server, calls, hostile, uris } = JSON.parse(await text(process.stdin));
const client = new Client({ name: "carrel-tests", version: "1" });
await client.connect(new StdioClientTransport(server));

const refused = async (work) => {
  try {
    return Boolean((await work()).isError);
  } catch (error) {
    return typeof error.code === "number";
  }
};
const inTurn = async (items, work) => {
  const results = [];
  for (const item of items) results.push(await work(item));
  return results;
};

const tools = (await client.listTools()).tools.map((tool) => tool.name);
// The client checks each structured result against the tool's output schema, and throws if it differs.
const results = await inTurn(calls, ([name, given]) => client.callTool({ name, arguments: given }));
const resources = (await client.listResources()).resources;
const templates = (await client.listResourceTemplates()).resourceTemplates.length;
const read = await inTurn(resources, async ({ uri }) => (await client.readResource({ uri })).contents[0].text);
const refusedCalls = await inTurn(hostile, ([name, given]) => refused(() => client.callTool({ name, arguments: given })));
const refusedUris = await inTurn(uris, (uri) => refused(() => client.readResource({ uri })));
const after = await client.callTool({ name: "index_status", arguments: {} });
await client.close();
const files = Object.fromEntries(resources.map(({ name }, at) => [name, read[at]]));
console.log(JSON.stringify({ tools, results, files, templates, refusedCalls, refusedUris, alive: !after.isError }));
