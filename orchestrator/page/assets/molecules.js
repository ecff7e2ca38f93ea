// Molecules: optimise one, sample around it, interpolate between two.

import { post, stream } from "./api.js";
import { Chart } from "./chart.js";
import { number } from "./dom.js";
import { Filters, leftOutText } from "./filters.js";
import { Grid } from "./grid.js";
import { MoleculeField } from "./molecule_field.js";
import { Run } from "./run.js";
import { Snippets } from "./snippet.js";
import { State } from "./state.js";
import { Terms } from "./terms.js";

const particles = 30; // per iteration
const maxLinkResults = 40; // results in a link

export function molecules(view) {
  const form = view.querySelector("form");
  let state = null; // created last, from all fields
  const seed = new MoleculeField(form.querySelector('[data-field="smi"]'));
  const target = new MoleculeField(form.querySelector('[data-field="to"]'), { properties: false });
  const terms = new Terms(form.querySelector(".terms"), () => state?.changed());
  const filters = new Filters(form.querySelector('[data-field="filters"]'), () => state?.changed());
  const grid = new Grid(view.querySelector(".grid-home"), {
    name: "molecules",
    onStart: (smiles) => {
      seed.set(smiles);
      form.scrollIntoView({ block: "start" });
      seed.input.focus({ preventScroll: true });
    },
  });
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  let results = [];
  let resultSeed = ""; // SMILES that the results come from

  state = new State("molecules", form, {
    read: () => ({
      terms: JSON.stringify(terms.read()) === initialTerms ? undefined : JSON.stringify(terms.read()),
      filters: filters.read().length === 0 ? undefined : JSON.stringify(filters.read()),
      found:
        results.length > 0
          ? JSON.stringify([
              resultSeed,
              ...results
                .slice(0, maxLinkResults)
                .map((m) => (m.score === undefined ? [m.smiles] : [m.smiles, m.score])),
            ])
          : undefined,
    }),
    write: (given) => {
      if (given.has("terms")) terms.set(parseArray(given.get("terms"), [{ name: "QED" }]));
      if (given.has("filters")) filters.set(parseArray(given.get("filters"), []));
      if (given.get("found") === state.extra.read().found) return;
      const [start, ...stored] = parseArray(given.get("found"), [""]);
      if (stored.length > 0)
        showResults(
          stored.map(([smiles, score]) => ({ smiles, score })),
          start,
        );
    },
  });
  const initialTerms = JSON.stringify(terms.read());
  form.querySelector("[data-add-term]").addEventListener("click", () => terms.add());
  form.addEventListener("change", updateFields);
  form.addEventListener("input", updateFields);
  form.addEventListener("restored", () => {
    updateFields();
    seed.update();
    target.update();
  });
  updateFields();

  function task() {
    return form.elements.task.value;
  }

  // updateFields shows the fields of the chosen task, and the values of sliders.
  function updateFields() {
    for (const part of form.querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(" ").includes(task());
    for (const slider of form.querySelectorAll("input[type=range]"))
      slider.parentElement.querySelector("output").textContent = Number(slider.value).toFixed(
        slider.step === "0.1" ? 1 : 2,
      );
  }

  function showResults(molecules, start) {
    results = molecules;
    resultSeed = start;
    state.changed();
    return grid.show(results, start === "" ? {} : { reference: start });
  }

  async function work(signal, say) {
    const smi = form.elements.smi.value.trim();
    results = [];
    run.names = { ...names, num_molecules: task() === "optimise" ? "num_molecules" : "samples" };
    await { optimise, sample, interpolate }[task()](smi, signal, say);
  }

  async function optimise(smi, signal, say) {
    const iterations = Math.max(1, Math.round(Number(form.elements.budget.value) / particles));
    const body = {
      smi,
      algorithm: "CMA-ES",
      ...terms.requestMembers(),
      ...filters.requestMembers(),
      min_similarity: Number(form.elements.min_similarity.value),
      particles,
      iterations,
      num_molecules: Number(form.elements.count.value),
      include_scores: true,
      stream: true,
      checkpoints: true,
    };
    snippets.show({ path: "/latent/generate", body, stream: true });
    const line = progress();
    let rendered = Promise.resolve();
    let last = 0;
    const onEvent = (event) => {
      if (event.generated) {
        snippets.answered(event);
        rendered = showResults(event.generated, smi);
        say(
          event.unfinished
            ? event.unfinished.message
            : `Done: ${event.generated.length} molecules of ${number(line.tried)} tried.${leftOutText(event.left_out)}`,
        );
        return;
      }
      line.add(event.evaluations, event.best?.score);
      say(
        event.best
          ? `${number(event.evaluations)} tried, best score ${number(event.best.score, 3)}`
          : `${number(event.evaluations)} tried, none fits yet`,
      );
      if (event.found?.length > 0 && Date.now() - last > 700) {
        last = Date.now();
        rendered = showResults(event.found, smi);
      }
    };
    run.stopped = () => `Stopped after ${number(line.tried)}: these are the results so far.`;
    await stream("/latent/generate", body, signal, onEvent);
    await rendered;
  }

  async function sample(smi, signal, say) {
    const body = {
      smi,
      algorithm: "none",
      num_molecules: Number(form.elements.samples.value),
      scaled_radius: Number(form.elements.radius.value),
      ...filters.requestMembers(),
      include_scores: true,
    };
    snippets.show({ path: "/latent/generate", body });
    view.querySelector(".progress").hidden = true;
    const answer = await post("/latent/generate", body, signal);
    const { generated } = answer;
    snippets.answered(answer);
    await showResults(generated, smi);
    say(`Done: ${generated.length} molecules.${leftOutText(answer.left_out)}`);
  }

  // interpolate decodes points on the line between the hidden states of two molecules.
  async function interpolate(smi, signal, say) {
    const to = form.elements.to.value.trim();
    const steps = Number(form.elements.samples.value);
    snippets.show(...interpolationRequests([smi, to], steps));
    view.querySelector(".progress").hidden = true;
    const ends = await post("/latent/hidden", { sequences: [smi, to] }, signal);
    const { hiddens } = ends;
    const points = Array.from({ length: steps }, (_, i) => hiddenBetween(hiddens, (i + 1) / (steps + 1)));
    const decoded = await post(
      "/latent/decode",
      { hiddens: points, mask: points.map((p) => p.map(() => true)) },
      signal,
    );
    const { generated } = decoded;
    snippets.answered(ends, decoded);
    const distinct = [...new Set(generated)];
    await showResults(
      distinct.map((smiles) => ({ smiles })),
      smi,
    );
    grid.order.value = "found";
    grid.render();
    say(`Done: ${distinct.length} different molecules at ${steps} points.`);
  }

  // progress charts the best score of a search.
  function progress() {
    const box = view.querySelector(".progress");
    box.hidden = false;
    view.chart ??= new Chart(box.querySelector(".chart"), { x: "molecules tried", y: "best score", series: ["best"] });
    const xs = [];
    const ys = [];
    view.chart.set(xs, ys);
    return {
      tried: 0,
      add(tried, score) {
        this.tried = tried;
        if (score === undefined) return;
        xs.push(tried);
        ys.push(score);
        view.chart.set(xs, ys);
      },
    };
  }

  const names = { sequences: "smi", property_name: "terms", objective: "terms", hiddens: "samples" };
  const run = new Run(form, work, { names, link: () => state.link() });
  return { state };
}

const hiddenBetween = ([a, b], fraction) => a.map((row, k) => row.map((x, i) => x + fraction * (b[k][i] - x)));

// interpolationRequests returns the requests of an interpolation, for the snippets.
function interpolationRequests(sequences, steps) {
  return [
    { path: "/latent/hidden", body: { sequences }, name: "ends" },
    {
      curl: "# then hidden states between the two, to /latent/decode: see Python",
      python: [
        "import numpy as np",
        "",
        'start, end = np.array(ends["hiddens"])',
        `points = [(start + share * (end - start)).tolist() for share in np.linspace(0, 1, ${steps + 2})[1:-1]]`,
        'body = {"hiddens": points, "mask": [[True] * len(p) for p in points]}',
        'print(requests.post(base + "/latent/decode", json=body).json()["generated"])',
      ],
    },
  ];
}

function parseArray(text, fallback) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : fallback;
  } catch {
    return fallback;
  }
}
