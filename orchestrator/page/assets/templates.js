// Templates: fragments to keep with open positions, and parts to generate between them.

import { stream } from "./api.js";
import { button, element, number } from "./dom.js";
import { Grid } from "./grid.js";
import { MoleculeField } from "./molecule_field.js";
import { Run } from "./run.js";
import { Snippets } from "./snippet.js";
import { State } from "./state.js";

const mostKept = 40; // results in a link

export function templates(view) {
  const form = view.querySelector("form");
  const fragments = form.querySelector(".fragments");
  const masks = form.querySelector(".masks");
  const sent = form.querySelector("#t-template");
  const grid = new Grid(view.querySelector(".grid-home"), { name: "templates" });
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  let state = null; // made last, of all fields
  let found = []; // results, and the template that they came from
  let from = "";

  let places = 0;

  function addFragment(text = "*c1ccccc1") {
    const place = ++places;
    const input = element("input", { value: text, spellcheck: false, autocapitalize: "off", autocomplete: "off", attributes: { "aria-label": `Fragment ${place}` } });
    const row = element("div", { className: "fragment field", dataset: { field: `fragment-${place}` } }, element("div", { className: "row" }, input,
      button("Draw", () => {}, { dataset: { draw: "" } }),
      button("✕", () => {
        row.remove();
        compose();
      }, { className: "quiet", attributes: { "aria-label": "Remove this fragment" } })));
    input.addEventListener("input", compose);
    fragments.append(row);
    new MoleculeField(row, { properties: false });
    compose();
  }

  function addMask(least = 15, most = 30) {
    const input = (label, value) => element("input", { type: "number", min: "1", max: "1000", value, attributes: { "aria-label": label }, oninput: compose });
    const row = element("div", { className: "mask row" }, input("At least", least), element("span", { textContent: "to" }), input("At most", most),
      button("✕", () => {
        row.remove();
        compose();
      }, { className: "quiet", attributes: { "aria-label": "Remove this part" } }));
    masks.append(row);
    compose();
  }

  const texts = () => [...fragments.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
  const lengths = () => [...masks.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value));

  function compose() {
    sent.value = [...texts(), ...lengths().map(([least, most]) => `[*{${least}-${most}}]`)].join(".");
    state?.changed();
  }

  function fill(given, parts) {
    fragments.replaceChildren();
    masks.replaceChildren();
    given.forEach((text) => addFragment(text));
    parts.forEach(([least, most]) => addMask(least, most));
    compose();
  }

  fill(["*C1CCNCC1", "*c1ccc(F)cc1"], [[15, 30]]);
  const first = sent.value;
  state = new State("templates", form, {
    read: () => ({
      parts: sent.value === first ? undefined : JSON.stringify([texts(), lengths()]),
      found: found.length > 0 ? JSON.stringify([from, ...found.slice(0, mostKept).map((m) => [m.smiles, m.score])]) : undefined,
    }),
    write: (given) => {
      try {
        if (given.has("parts")) fill(...JSON.parse(given.get("parts")));
        if (given.get("found") === state.extra.read().found) return;
        const [template, ...kept] = JSON.parse(given.get("found") ?? '[""]');
        if (kept.length > 0) keep(kept.map(([smiles, score]) => ({ smiles, score })), template);
      } catch {
        // a link that was cut off brings back what it has
      }
    },
  });
  form.querySelector("[data-add-fragment]").addEventListener("click", () => addFragment());
  form.querySelector("[data-add-mask]").addEventListener("click", () => addMask());

  function keep(molecules, template) {
    found = molecules;
    from = template;
    state.changed();
    return grid.show(found, template === "" ? {} : { template });
  }

  async function work(signal, say) {
    const template = sent.value;
    const body = {
      smiles: template === "" ? undefined : template, num_molecules: Number(form.elements.count.value), scoring: form.elements.scoring.value,
      rounds: Number(form.elements.rounds.value), unique: true, stream: true, checkpoints: true,
    };
    snippets.show({ path: "/masked/generate", body, stream: true });
    found = [];
    let drawn = Promise.resolve();
    await stream("/masked/generate", body, signal, (event) => {
      if (event.molecules) {
        drawn = keep(event.molecules.map(({ smiles, score }) => ({ smiles, score, label: body.scoring })), template);
        say(event.unfinished ? event.unfinished.message : `Done: ${event.molecules.length} molecules.`);
        return;
      }
      say(`Round ${event.round} of ${event.rounds}: ${event.valid} molecules${event.best === null ? "" : `, best ${body.scoring} ${number(event.best, 3)}`}`);
      if (event.found?.length > 0) drawn = keep(event.found, template);
    });
    await drawn;
  }

  const run = new Run(form, work, { names: { smiles: "template" }, link: () => state.link() });
  run.stopped = () => (found.length > 0 ? "Stopped: this is what was found until then." : "Stopped.");
  return { state };
}
