// Continues, reads, lists and deletes responses with OpenAI's client for Node.js and prints the results as one JSON
// object.
//
//     node responses.mjs URL DATA_URL
//
// URL is that of the main port of a gateway with jobs. Run by test_open_responses.py.

import OpenAI from "openai";

const CHAT = "retort/molecule-reader-v8";
const [url, image] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "not-needed", maxRetries: 0 });

const refused = async (call) => {
  try {
    await call();
    return "no error";
  } catch (error) {
    return [error.constructor.name, error.status, error.code, error.param];
  }
};

const content = [{ type: "input_image", image_url: image, detail: "auto" }, { type: "input_text", text: "Which molecule is this?" }];
const next = { model: CHAT, input: "What is its molecular formula?" };
const first = await client.responses.create({ model: CHAT, input: [{ role: "user", content }] });
const second = await client.responses.create({ ...next, previous_response_id: first.id });
const read = await client.responses.retrieve(second.id);
const roles = [];
for await (const item of client.responses.inputItems.list(second.id, { order: "asc", limit: 2 })) roles.push(item.role);
await client.responses.delete(first.id);
console.log(
  JSON.stringify({
    texts: [first.output_text, second.output_text, read.output_text],
    roles,
    gone: await refused(() => client.responses.retrieve(first.id)),
    broken: await refused(() => client.responses.create({ ...next, previous_response_id: first.id })),
    synchronous: await refused(() => client.responses.cancel(second.id)),
  }),
);
