// Scores: the molecules of jobs that wait for a score, and a form to type the scores.

import { get, post } from "./api.js";
import { describe, drawing } from "./drawing.js";
import { button, element } from "./dom.js";

const refreshInterval = 3000; // ms between looks at the jobs
const apis = ["latent", "masked"];

export function scores(view) {
  const form = view.querySelector("form");
  const status = view.querySelector(".status");
  const choice = form.elements.job;
  const home = view.querySelector(".waiting");
  const send = form.querySelector("[type=submit]");
  let shown = null; // ids of the molecules on the page
  let accepted = ""; // what became of the scores sent last; stays while the list is refreshed
  let busy = false;

  const path = () => choice.value; // of the job

  function say(text, bad = false) {
    status.textContent = text;
    status.classList.toggle("bad", bad);
  }

  // updateJobs lists the jobs that wait, and keeps the chosen one.
  async function updateJobs() {
    const lists = await Promise.all(apis.map((api) => get(`/${api}/generate/jobs?limit=100`)));
    const waiting = lists.flatMap((list) => list.data).filter((job) => job.waiting > 0);
    const chosen = choice.value;
    choice.replaceChildren(
      ...waiting.map((job) =>
        element("option", {
          value: `/${job.api}/generate/jobs/${job.id}`,
          textContent: `${job.api}, ${job.waiting} waiting, ${job.id}`,
        }),
      ),
    );
    if ([...choice.options].some((option) => option.value === chosen)) choice.value = chosen;
  }

  // refresh shows the molecules of the chosen job, unless they are shown already: typed scores must stay.
  async function refresh() {
    if (busy || document.hidden || view.hidden) return;
    busy = true;
    try {
      await updateJobs();
      const { candidates } = choice.value ? await get(`${path()}/ask`) : { candidates: [] };
      const ids = [path(), ...candidates.map((c) => c.id)].join(" ");
      if (ids === shown) return;
      await show(candidates);
      shown = ids;
      send.disabled = candidates.length === 0;
      say(accepted + (candidates.length === 0 ? "No job waits for a score." : `Waiting for a score: ${candidates.length}.`));
    } catch (problem) {
      say(problem.status === 404 ? "Jobs are switched off." : problem.message, true);
    } finally {
      busy = false;
    }
  }

  async function show(candidates) {
    const rows = await describe(
      candidates.map((c) => c.smiles),
      {},
      { width: 240, height: 170 },
    );
    // The cards of molecules that still wait stay, with what is typed in them.
    const cards = new Map([...home.children].map((card) => [card.dataset.job + card.dataset.id, card]));
    home.replaceChildren(...candidates.map((c, i) => cards.get(path() + c.id) ?? makeCard(c, rows[i])));
  }

  function makeCard(candidate, row) {
    return element(
      "div",
      { className: "card", dataset: { id: candidate.id, job: path() } },
      row.svg ? drawing(row, candidate.smiles) : null,
      element("code", { className: "smiles", textContent: candidate.smiles }),
      element("input", {
        inputMode: "decimal",
        autocomplete: "off",
        placeholder: "score",
        attributes: { "aria-label": `Score of ${candidate.smiles}` },
      }),
      element("label", {}, element("input", { type: "checkbox" }), " failed"),
    );
  }

  // typed returns the scores and failures on the page. It throws the text of a field that is no number.
  function typed() {
    const found = [];
    for (const card of home.children) {
      const [score, failed] = card.querySelectorAll("input");
      const text = score.value.trim();
      if (failed.checked) found.push({ id: card.dataset.id, score: null, error: "failed" });
      else if (text !== "") {
        if (!Number.isFinite(Number(text))) throw new Error(`“${text}” is not a number.`);
        found.push({ id: card.dataset.id, score: Number(text) });
      }
    }
    return found;
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const told = typed();
      if (told.length === 0) throw new Error("Type a score, or mark a failure.");
      const answer = await post(`${path()}/tell`, { scores: told }, undefined, { manifest: false });
      accepted = `Accepted: ${answer.accepted}. `;
      say(`${accepted}Waiting for a score: ${answer.waiting}.`);
      await refresh();
    } catch (problem) {
      say(problem.message, true);
    }
  });
  choice.addEventListener("change", () => {
    accepted = "";
    refresh();
  });
  form.addEventListener("input", () => status.classList.remove("bad"));
  form.querySelector(".actions").append(button("Refresh", refresh, { className: "quiet" }));
  setInterval(refresh, refreshInterval);
  return { onShow: refresh };
}
