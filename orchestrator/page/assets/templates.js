// Templates: fragments with open positions, which stay, and parts to generate.

import { stream } from "./api.js";
import { button, element, number } from "./dom.js";
import { Filters, leftOutText } from "./filters.js";
import { Grid } from "./grid.js";
import { MoleculeField } from "./molecule_field.js";
import { Run } from "./run.js";
import { Snippets } from "./snippet.js";
import { State } from "./state.js";

const maxLinkResults = 40; // results in a link

export function templates(view) {
  const form = view.querySelector("form");
  const fragments = form.querySelector(".fragments");
  const masks = form.querySelector(".masks");
  const templateField = form.querySelector("#t-template");
  const filters = new Filters(form.querySelector('[data-field="filters"]'), () => state?.changed());
  const grid = new Grid(view.querySelector(".grid-home"), { name: "templates" });
  const snippets = new Snippets(view.querySelector(".snippet-home"));
  let state = null; // created last, from all fields
  let results = [];
  let resultTemplate = ""; // template that the results come from

  let places = 0;

  function addFragment(text = "*c1ccccc1") {
    const place = ++places;
    const input = element("input", {
      value: text,
      spellcheck: false,
      autocapitalize: "off",
      autocomplete: "off",
      attributes: { "aria-label": `Fragment ${place}` },
    });
    const row = element(
      "div",
      { className: "fragment field", dataset: { field: `fragment-${place}` } },
      element(
        "div",
        { className: "row" },
        input,
        button("Draw", () => {}, { dataset: { draw: "" } }),
        button(
          "✕",
          () => {
            row.remove();
            updateTemplate();
          },
          { className: "quiet", attributes: { "aria-label": "Remove this fragment" } },
        ),
      ),
    );
    input.addEventListener("input", updateTemplate);
    fragments.append(row);
    new MoleculeField(row, { properties: false });
    updateTemplate();
  }

  function addMask(least = 15, most = 30) {
    const input = (label, value) =>
      element("input", {
        type: "number",
        min: "1",
        max: "1000",
        value,
        attributes: { "aria-label": label },
        oninput: updateTemplate,
      });
    const row = element(
      "div",
      { className: "mask row" },
      input("At least", least),
      element("span", { textContent: "to" }),
      input("At most", most),
      button(
        "✕",
        () => {
          row.remove();
          updateTemplate();
        },
        { className: "quiet", attributes: { "aria-label": "Remove this part" } },
      ),
    );
    masks.append(row);
    updateTemplate();
  }

  const texts = () => [...fragments.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean);
  const lengths = () =>
    [...masks.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value));

  function updateTemplate() {
    templateField.value = [...texts(), ...lengths().map(([least, most]) => `[*{${least}-${most}}]`)].join(".");
    state?.changed();
  }

  function setParts(given, parts) {
    fragments.replaceChildren();
    masks.replaceChildren();
    given.forEach((text) => addFragment(text));
    parts.forEach(([least, most]) => addMask(least, most));
    updateTemplate();
  }

  setParts(["*C1CCNCC1", "*c1ccc(F)cc1"], [[15, 30]]);
  const initialTemplate = templateField.value;
  state = new State("templates", form, {
    read: () => ({
      parts: templateField.value === initialTemplate ? undefined : JSON.stringify([texts(), lengths()]),
      filters: filters.read().length === 0 ? undefined : JSON.stringify(filters.read()),
      found:
        results.length > 0
          ? JSON.stringify([resultTemplate, ...results.slice(0, maxLinkResults).map((m) => [m.smiles, m.score])])
          : undefined,
    }),
    write: (given) => {
      try {
        if (given.has("parts")) setParts(...JSON.parse(given.get("parts")));
        if (given.has("filters")) filters.set(JSON.parse(given.get("filters")));
        if (given.get("found") === state.extra.read().found) return;
        const [template, ...stored] = JSON.parse(given.get("found") ?? '[""]');
        if (stored.length > 0)
          showResults(
            stored.map(([smiles, score]) => ({ smiles, score })),
            template,
          );
      } catch {
        // a truncated link restores nothing
      }
    },
  });
  form.querySelector("[data-add-fragment]").addEventListener("click", () => addFragment());
  form.querySelector("[data-add-mask]").addEventListener("click", () => addMask());

  function showResults(molecules, template) {
    results = molecules;
    resultTemplate = template;
    state.changed();
    return grid.show(results, template === "" ? {} : { template });
  }

  async function work(signal, say) {
    const template = templateField.value;
    const body = {
      smiles: template === "" ? undefined : template,
      num_molecules: Number(form.elements.count.value),
      scoring: form.elements.scoring.value,
      rounds: Number(form.elements.rounds.value),
      ...filters.requestMembers(),
      unique: true,
      stream: true,
      checkpoints: true,
    };
    snippets.show({ path: "/masked/generate", body, stream: true });
    results = [];
    let rendered = Promise.resolve();
    await stream("/masked/generate", body, signal, (event) => {
      if (event.molecules) {
        snippets.answered(event);
        rendered = showResults(
          event.molecules.map((m) => ({ ...m, label: body.scoring })),
          template,
        );
        say(
          event.unfinished
            ? event.unfinished.message
            : `Done: ${event.molecules.length} molecules.${leftOutText(event.left_out)}`,
        );
        return;
      }
      const best = event.best === null ? "" : `, best ${body.scoring} ${number(event.best, 3)}`;
      say(`Round ${event.round} of ${event.rounds}: ${event.valid} molecules${best}`);
      if (event.found?.length > 0) rendered = showResults(event.found, template);
    });
    await rendered;
  }

  const run = new Run(form, work, { names: { smiles: "template" }, link: () => state.link() });
  run.stopped = () => (results.length > 0 ? "Stopped: these are the results so far." : "Stopped.");
  return { state };
}
