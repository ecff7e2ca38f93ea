// Retrieval: the same texts, ranked by an embedding model and by a ranking model.

import { get, post } from "./api.js";
import { element, number } from "./dom.js";
import { Run } from "./run.js";
import { fillModels } from "./service.js";
import { Snippets } from "./snippet.js";
import { State } from "./state.js";

export function retrieval(view) {
  const form = view.querySelector("form");
  const state = new State("retrieval", form);
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  const orders = view.querySelector(".orders");
  const [byEmbedding, byRanking] = orders.querySelectorAll("section");
  fillModels(form.elements.embedder, "embedding").catch(() => {});
  fillModels(form.elements.ranker, "ranking").catch(() => {});

  async function work(signal, say) {
    const query = form.elements.query.value.trim();
    const texts = form.elements.passages.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    const embed = (input, input_type) => ({ model: form.elements.embedder.value, input, input_type, truncate: "END" });
    const ranking = {
      model: form.elements.ranker.value,
      query: { text: query },
      passages: texts.map((text) => ({ text })),
      truncate: "END",
    };
    const bodies = [embed([query], "query"), embed(texts, "passage")];
    snippets.show(
      { path: "/v1/embeddings", body: bodies[0], name: "query" },
      { path: "/v1/embeddings", body: bodies[1], name: "texts" },
      { path: "/v1/ranking", body: ranking, name: "ranking" },
    );
    const [embedded, embeddingTime] = await timed(async () => {
      const question = await post("/v1/embeddings", bodies[0], signal);
      return [question, await post("/v1/embeddings", bodies[1], signal)];
    });
    const [ranked, rankingTime] = await timed(() => post("/v1/ranking", ranking, signal));
    const [question, answers] = embedded;
    snippets.answered(question, answers, ranked);
    const byCosine = answers.data
      .map((d) => ({ index: d.index, score: cosine(question.data[0].embedding, d.embedding) }))
      .sort((a, b) => b.score - a.score);
    const byLogit = ranked.rankings.map((r) => ({ index: r.index, score: r.logit }));
    orders.hidden = false;
    view.querySelector(".empty").hidden = true;
    listTexts(
      byEmbedding,
      byCosine,
      byLogit,
      texts,
      `Cosine similarity; ${number(embeddingTime, 0)} ms for query and texts.${await unrelated(bodies[0].model, signal)}`,
    );
    listTexts(byRanking, byLogit, byCosine, texts, `Logit of relevance; ${number(rankingTime, 0)} ms.`);
    say(`Done: ${texts.length} texts.`);
  }

  // unrelated says how high the cosines of unrelated texts are, if that was measured for the model.
  async function unrelated(model, signal) {
    const entry = await get(`/embedding/v1/models/${model}`, { signal }).catch(() => ({}));
    const levels = entry.unrelated_similarity;
    if (!levels) return "";
    const parts = Object.keys(levels)
      .sort((a, b) => a - b)
      .map((level) => `${number(levels[level], 2)} (${level} %)`);
    return ` Unrelated texts are below ${parts.join(", ")}.`;
  }

  // listTexts lists texts in an order, each with its shift of places from the other order.
  function listTexts(section, order, other, texts, note) {
    section.querySelector(".hint").textContent = note;
    section.querySelector("ol").replaceChildren(
      ...order.map(({ index, score }, place) => {
        const up = other.findIndex((o) => o.index === index) - place;
        const shift = up === 0 ? "" : up > 0 ? `▲ ${up}` : `▼ ${-up}`;
        const item = element(
          "li",
          { dataset: { text: index } },
          element("span", { className: "text", textContent: texts[index] }),
          element("span", {
            className: `shift ${up > 0 ? "up" : "down"}`,
            textContent: shift,
            title: shift && `${Math.abs(up)} places ${up > 0 ? "higher" : "lower"} than in the other order`,
          }),
          element("strong", { textContent: number(score, 3) }),
        );
        item.addEventListener("pointerenter", () => highlight(index, true));
        item.addEventListener("pointerleave", () => highlight(index, false));
        return item;
      }),
    );
  }

  function highlight(index, on) {
    for (const item of orders.querySelectorAll(`[data-text="${index}"]`)) item.classList.toggle("lit", on);
  }

  new Run(form, work, {
    names: { input: "passages", passages: "passages", model: "embedder" },
    link: () => state.link(),
  });
  return { state };
}

async function timed(work) {
  const start = performance.now();
  return [await work(), performance.now() - start];
}

function cosine(a, b) {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb || 1);
}
