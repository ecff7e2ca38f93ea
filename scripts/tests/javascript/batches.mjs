// Runs files and batches with OpenAI's client for Node.js and prints the results as one JSON object.
//
//     node batches.mjs URL KEY
//
// URL is that of the main port. Run by test_batches.py.

import OpenAI, { toFile } from "openai";

const MODEL = "retort/minilm-embedqa-v2";
const [url, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

const line = (id, body) => JSON.stringify({ custom_id: id, method: "POST", url: "/v1/embeddings", body });
const texts = ["Caffeine is a stimulant.", "Aspirin is an analgesic."];
const lines = [...texts.map((input, i) => line(`text-${i}`, { model: MODEL, input })), line("wrong", { model: "none", input: "x" })];

const ended = async (id) => {
  for (;;) {
    const batch = await client.batches.retrieve(id);
    if (["completed", "failed", "expired", "cancelled"].includes(batch.status)) return batch;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
const read = async (id) => (await (await client.files.content(id)).text()).trim().split("\n").map((text) => JSON.parse(text));
const refused = async (call) => {
  try {
    await call();
    return "no error";
  } catch (error) {
    return [error.constructor.name, error.status, error.param];
  }
};

const file = await client.files.create({ file: await toFile(Buffer.from(lines.join("\n")), "texts.jsonl"), purpose: "batch" });
const ask = { input_file_id: file.id, endpoint: "/v1/embeddings", completion_window: "24h" };
const batch = await ended((await client.batches.create({ ...ask, metadata: { of: "node" } })).id);
const output = await read(batch.output_file_id);
const errors = await read(batch.error_file_id);
const alone = (await client.embeddings.create({ model: MODEL, input: texts[0], encoding_format: "float" })).data[0].embedding;
const vector = output[0].response.body.data[0].embedding;

const second = await client.batches.create(ask);
await ended(second.id);
const listed = [];
for await (const one of client.batches.list({ limit: 1 })) listed.push(one.id); // the client requests the next pages by itself
const files = [];
for await (const one of client.files.list({ purpose: "batch", limit: 1 })) files.push(one.id);

console.log(JSON.stringify({
  batch: [batch.status, batch.request_counts, batch.metadata],
  output: output.map((one) => one.custom_id),
  errors: errors.map((one) => [one.custom_id, one.response.status_code]),
  vector: vector.every((x, i) => Math.abs(x - alone[i]) < 1e-3),
  lists: [listed.indexOf(second.id), listed.indexOf(batch.id), files.includes(file.id), (await client.files.retrieve(file.id)).filename],
  refused: [
    await refused(() => client.batches.cancel(batch.id)),
    await refused(() => client.batches.create({ ...ask, endpoint: "/v1/nothing" })),
    await refused(() => client.files.retrieve("file-none")),
  ],
  deleted: [(await client.files.delete(file.id)).deleted, await refused(() => client.files.content(file.id))],
}));
