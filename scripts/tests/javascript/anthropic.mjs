// Calls Retort with Anthropic's client for JavaScript and prints the results as one JSON object.
//
//     node anthropic.mjs URL KEYED_URL DATA_URL
//
// URL is that of the main port or of the chat API's own port; the service at KEYED_URL requires the key "alpha". Run by
// test_anthropic_clients.py; a failure is a text.

import Anthropic from "@anthropic-ai/sdk";

const CHAT = "retort/molecule-reader-v8";
const [url, keyed, image] = process.argv.slice(2);
const client = new Anthropic({ baseURL: url, apiKey: "not-needed", maxRetries: 0 });

const source = { type: "base64", media_type: "image/png", data: image.split(",")[1] };
const question = { type: "text", text: "Which molecule is this?" };
const drawing = [{ role: "user", content: [{ type: "image", source }, question] }];
const able = [{ role: "user", content: "What can you read?" }];
const tool = {
  name: "keep",
  input_schema: { type: "object", properties: { smiles: { type: "string" }, molecular_formula: { type: "string" } }, required: ["smiles", "molecular_formula"] },
};
const textOf = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");

async function models() {
  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  const one = await client.models.retrieve(CHAT);
  return [listed, one.id, one.type];
}

async function create() {
  const message = await client.messages.create({ model: CHAT, max_tokens: 256, messages: able });
  const linked = { role: "user", content: [{ type: "image", source: { type: "url", url: image } }, question] };
  const seen = await client.messages.create({ model: CHAT, max_tokens: 128, messages: [linked] });
  return [textOf(message), message.stop_reason, message.usage.input_tokens > 0, Boolean(message._request_id), textOf(seen)];
}

async function stream() {
  let text = "";
  const events = client.messages.stream({ model: CHAT, max_tokens: 128, messages: drawing }).on("text", (piece) => (text += piece));
  const final = await events.finalMessage();
  const kinds = new Set();
  for await (const event of await client.messages.create({ model: CHAT, max_tokens: 128, messages: drawing, stream: true })) kinds.add(event.type);
  return [text, textOf(final), final.stop_reason, final.usage.output_tokens > 1, [...kinds]];
}

async function tools() {
  const request = { model: CHAT, max_tokens: 256, messages: drawing, tools: [tool], tool_choice: { type: "tool", name: "keep" } };
  const called = await client.messages.create(request);
  const streamed = await client.messages.stream(request).finalMessage();
  const result = { type: "tool_result", tool_use_id: called.content[0].id, content: [{ type: "text", text: "kept" }] };
  const messages = [...drawing, { role: "assistant", content: called.content }, { role: "user", content: [result, { type: "text", text: "What is its molecular formula?" }] }];
  const after = await client.messages.create({ model: CHAT, max_tokens: 128, messages, tools: [tool] });
  return [called.stop_reason, called.content[0].name, called.content[0].input, streamed.content[0].input, textOf(after)];
}

async function counts() {
  const counted = await client.messages.countTokens({ model: CHAT, messages: able });
  const message = await client.messages.create({ model: CHAT, max_tokens: 8, messages: able });
  return counted.input_tokens === message.usage.input_tokens;
}

const refused = async (call) => {
  try {
    await call();
    return "no error";
  } catch (error) {
    return [error.constructor.name, error.status, error.error?.error?.type, Boolean(error.requestID)];
  }
};

const errors = async () => [
  await refused(() => client.messages.create({ model: "nobody/nothing", max_tokens: 5, messages: able })),
  await refused(() => client.messages.create({ model: CHAT, max_tokens: 0, messages: able })),
];

const keys = async () => {
  const count = (options) => new Anthropic({ baseURL: keyed, maxRetries: 0, ...options }).messages.countTokens({ model: CHAT, messages: able });
  return [
    (await count({ apiKey: "alpha" })).input_tokens > 0,
    (await count({ apiKey: null, authToken: "alpha" })).input_tokens > 0,
    await refused(() => count({ apiKey: "beta" })),
  ];
};

const told = {};
for (const [name, ask] of Object.entries({ models, create, stream, tools, counts, errors, keys })) {
  try {
    told[name] = await ask();
  } catch (error) {
    told[name] = String(error.stack).slice(0, 3000);
  }
}
console.log(JSON.stringify(told));
