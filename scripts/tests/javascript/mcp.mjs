// Calls tools with both official TypeScript clients of the Model Context Protocol and prints the results as one JSON
// object.
//
//     node mcp.mjs URL
//
// URL is that of the main port. Run by test_mcp.py.

import { Client as Stateless, StreamableHTTPClientTransport as StatelessTransport } from "@modelcontextprotocol/client";
import { Client as Sessions } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as SessionsTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const endpoint = new URL(`${process.argv[2]}/mcp`);
const info = { name: "test", version: "1" };

const use = async (client, transport, call) => {
  await client.connect(transport);
  const { tools } = await client.listTools();
  const described = await client.callTool({ name: "describe_molecule", arguments: { smiles: "CCO" } });
  const drawn = await client.callTool({ name: "draw_molecule", arguments: { smiles: "CCO" } });
  const refused = await client.callTool({ name: "describe_molecule", arguments: { smiles: "C1CC" } });
  const steps = [];
  const search = {
    name: "optimize_molecule",
    arguments: { smi: "CC(=O)Oc1ccccc1C(=O)O", iterations: 3, particles: 8, min_similarity: 0.3, seed: 1 },
  };
  const found = await call(client, search, { onprogress: ({ progress, total }) => steps.push([progress, total]) });
  await client.close();
  return {
    tools: tools.length,
    formula: described.structuredContent.formula,
    picture: drawn.content[0].mimeType,
    refused: refused.isError,
    steps,
    found: found.structuredContent.generated.length > 0,
  };
};

const results = {
  client: await use(
    new Stateless(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
    new StatelessTransport(endpoint),
    (client, search, options) => client.callTool(search, options),
  ),
  sdk: await use(new Sessions(info), new SessionsTransport(endpoint), (client, search, options) =>
    client.callTool(search, undefined, options),
  ),
};
console.log(JSON.stringify(results));
