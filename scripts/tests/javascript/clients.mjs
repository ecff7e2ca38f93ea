// Calls Retort with JavaScript clients of OpenAI's interfaces and prints the results as one JSON object.
//
//     node clients.mjs URL DATA_URL
//
// URL is that of the main port. Run by test_javascript_clients.py; a failure is a text.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { embed, generateObject, generateText, streamText } from "ai";
import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

const CHAT = "retort/molecule-reader-v8";
const ONE_MODE = "sentence-transformers/all-MiniLM-L6-v2";
const TWO_MODES = "retort/minilm-embedqa-v2";
const QUESTION = "Which molecule is this?";
const TEXT = "Aspirin is an analgesic.";
const [url, image] = process.argv.slice(2);
const baseURL = `${url}/v1`;
const apiKey = "not-needed";
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

// The requested facts of a drawing. The model knows few names.
const Molecule = z.object({
  smiles: z.string(),
  molecular_formula: z.string(),
  ring_count: z.number().int(),
  name: z.string().nullable(),
});

const asked = [{ role: "user", content: [{ type: "image_url", image_url: { url: image } }, { type: "text", text: QUESTION }] }];
const items = [{ role: "user", content: [{ type: "input_image", image_url: image, detail: "auto" }, { type: "input_text", text: QUESTION }] }];

async function models() {
  const listed = [];
  for await (const model of client.models.list()) {
    if ([CHAT, TWO_MODES].includes(model.id)) listed.push(model.id);
  }
  const one = await client.models.retrieve(TWO_MODES);
  return [listed.sort(), one.id, one.owned_by];
}

async function embeddings() {
  const vector = async (request) => (await client.embeddings.create(request)).data[0].embedding;
  const texts = await vector({ model: ONE_MODE, input: [TEXT] });
  const floats = await vector({ model: ONE_MODE, input: [TEXT], encoding_format: "float" });
  const byDefault = await vector({ model: TWO_MODES, input: "a" });
  const passage = await vector({ model: `${TWO_MODES}-passage`, input: "a" });
  return [texts.length, near(texts, floats), near(byDefault, passage)];
}

const near = (a, b) => a.length === b.length && a.every((x, i) => Math.abs(x - b[i]) < 1e-3);

async function errors() {
  const told = [];
  for (const ask of [
    () => client.embeddings.create({ model: "nobody/nothing", input: "a" }),
    () => client.models.retrieve("nobody/nothing"),
    () => client.responses.create({ model: CHAT, input: "" }),
  ]) {
    try {
      await ask();
      told.push("no error");
    } catch (error) {
      told.push([error.constructor.name, error.status, error.code, error.param]);
    }
  }
  return told;
}

async function completions() {
  const request = { model: CHAT, prompt: "What can you read?", max_tokens: 64 };
  const whole = await client.completions.create(request);
  let streamed = "";
  for await (const piece of await client.completions.create({ ...request, stream: true })) streamed += piece.choices[0].text;
  return [whole.choices[0].text, streamed];
}

async function chat() {
  const said = await client.chat.completions.create({ model: CHAT, messages: asked });
  let streamed = "";
  for await (const piece of client.chat.completions.stream({ model: CHAT, messages: asked })) streamed += piece.choices[0]?.delta?.content ?? "";
  const form = await client.chat.completions.parse({ model: CHAT, messages: asked, response_format: zodResponseFormat(Molecule, "Molecule") });
  return [said.choices[0].message.content, streamed, form.choices[0].message.parsed];
}

async function responses() {
  const said = await client.responses.create({ model: CHAT, input: items });
  const form = await client.responses.parse({ model: CHAT, input: items, text: { format: zodTextFormat(Molecule, "Molecule") } });
  const stream = client.responses.stream({ model: CHAT, input: items });
  const final = await stream.finalResponse();
  return [said.output_text, form.output_parsed, final.output_text];
}

async function langchain() {
  const configuration = { baseURL };
  const embedder = new OpenAIEmbeddings({ model: ONE_MODE, apiKey, configuration });
  const vector = await embedder.embedQuery(TEXT);
  const model = new ChatOpenAI({ model: CHAT, apiKey, configuration });
  const said = await model.invoke(asked);
  const forms = [];
  for (const method of ["jsonSchema", "functionCalling"]) forms.push(await model.withStructuredOutput(Molecule, { method, name: "Molecule" }).invoke(asked));
  return [vector.length, said.content, ...forms];
}

// Vercel's AI SDK, with the provider for OpenAI and the one for compatible services.
async function vercel() {
  const own = createOpenAI({ baseURL, apiKey });
  const compatible = createOpenAICompatible({ name: "retort", baseURL, apiKey, supportsStructuredOutputs: true });
  const messages = [{ role: "user", content: [{ type: "image", image }, { type: "text", text: QUESTION }] }];
  const got = [];
  for (const [talker, embedder] of [[own(CHAT), own.embeddingModel(ONE_MODE)], [own.chat(CHAT), own.embeddingModel(ONE_MODE)], [compatible(CHAT), compatible.embeddingModel(ONE_MODE)]]) {
    const { text } = await generateText({ model: talker, messages });
    let streamed = "";
    for await (const piece of streamText({ model: talker, messages }).textStream) streamed += piece;
    const { object } = await generateObject({ model: talker, messages, schema: Molecule });
    const { embedding } = await embed({ model: embedder, value: TEXT });
    got.push([text, streamed, object, embedding.length]);
  }
  return got;
}

const told = {};
for (const ask of [models, embeddings, errors, completions, chat, responses, langchain, vercel]) {
  try {
    told[ask.name] = await ask();
  } catch (error) {
    told[ask.name] = String(error.stack).slice(0, 3000);
  }
}
console.log(JSON.stringify(told));
