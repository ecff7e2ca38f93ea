// The grid of results: drawings with scores, sorted and filtered, to copy and to take home.

import { post } from "./api.js";
import { button, copy, element, later, number, save } from "./dom.js";
import { describe, drawing, onScheme } from "./drawing.js";

const orders = {
  score: ["Score", (a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity)],
  similarity: ["Similarity", (a, b) => (b.row?.similarity ?? 0) - (a.row?.similarity ?? 0)],
  qed: ["QED", (a, b) => (b.row?.qed ?? 0) - (a.row?.qed ?? 0)],
  logp: ["LogP, low first", (a, b) => (a.row?.logp ?? 0) - (b.row?.logp ?? 0)],
  weight: ["Weight, low first", (a, b) => (a.row?.weight ?? 0) - (b.row?.weight ?? 0)],
  sa: ["Easy to make first", (a, b) => (a.row?.sa ?? 11) - (b.row?.sa ?? 11)],
  found: ["As found", (a, b) => a.place - b.place],
};

// columns are what CSV and SD files have of a molecule.
const columns = [
  ["smiles", (m) => m.smiles], ["score", (m) => m.score], ["similarity", (m) => m.row?.similarity], ["formula", (m) => m.row?.formula],
  ["weight", (m) => m.row?.weight], ["logp", (m) => m.row?.logp], ["tpsa", (m) => m.row?.tpsa], ["qed", (m) => m.row?.qed], ["sa", (m) => m.row?.sa],
];
const written = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : (value ?? ""));

// size is that of the drawings: on phones, where two cards are side by side, lines and letters of larger ones would be too thin.
const size = () => (innerWidth < 500 ? { width: 180, height: 132 } : { width: 300, height: 220 });

// Grid shows molecules {smiles, score}. start makes one the start of the next request: a button on each card.
export class Grid {
  constructor(home, { name, start }) {
    this.name = name;
    this.start = start;
    this.molecules = [];
    this.options = {};
    this.cards = new Map();
    this.order = element("select", { onchange: () => this.arrange() }, ...Object.entries(orders).map(([value, [text]]) => element("option", { value, textContent: text })));
    this.filter = element("input", { type: "search", placeholder: "e.g. qed > 0.8, logp < 3, c1ccncc1", spellcheck: false, oninput: later(200, () => this.arrange()) });
    this.count = element("span", { className: "count", attributes: { role: "status" } });
    this.problem = element("p", { className: "problem", attributes: { role: "alert" } });
    const copier = button("Copy SMILES", () => copy(this.shown().map((m) => m.smiles).join("\n"), copier));
    this.tools = element("div", { className: "tools", hidden: true },
      element("label", { className: "inline" }, "Sort by ", this.order), element("label", { className: "inline grow" }, "Filter ", this.filter), this.count,
      copier, button("CSV", () => this.csv(), { title: "Download as CSV" }), button("SDF", () => this.sdf(), { title: "Download as an SD file" }));
    this.legend = element("p", { className: "legend hint", hidden: true });
    this.list = element("ul", { className: "grid", attributes: { "aria-label": "Results" } });
    this.empty = element("p", { className: "empty", textContent: home.dataset.empty });
    home.append(this.tools, this.problem, this.legend, this.list, this.empty);
    onScheme(() => {
      this.cards.clear();
      this.show(this.molecules, this.options);
    });
  }

  // show replaces what is there; options are those of describe. Cards of molecules that stay are kept.
  async show(molecules, options = {}) {
    if (JSON.stringify(options) !== JSON.stringify(this.options)) this.cards.clear();
    this.options = options;
    const known = new Map(this.molecules.map((m) => [m.smiles, m.row]));
    this.molecules = molecules.map((m, place) => ({ ...m, place, row: this.cards.has(m.smiles) ? known.get(m.smiles) : undefined }));
    this.empty.hidden = molecules.length > 0;
    this.tools.hidden = molecules.length === 0;
    this.mark();
    const missing = this.molecules.filter((m) => !m.row);
    if (missing.length > 0) {
      const asked = this.molecules;
      const rows = await describe(missing.map((m) => m.smiles), options, size()).catch((problem) => missing.map(() => ({ error: problem.message })));
      if (asked !== this.molecules) return;
      missing.forEach((m, i) => (m.row = rows[i]));
    }
    this.arrange();
  }

  mark() {
    const parts = [];
    const meaning = (kind, text) => element("span", {}, element("span", { className: `chip ${kind}`, attributes: { "aria-hidden": "true" } }), ` ${text} `);
    if (this.options.reference) parts.push(meaning("changed", "new beside the molecule you began with"), meaning("lost", "something was removed here"));
    if (this.options.template) parts.push(meaning("given", "given"));
    this.legend.replaceChildren(...parts);
    this.legend.hidden = parts.length === 0 || this.molecules.length === 0;
  }

  // shown are the molecules that pass the filter, in order.
  shown() {
    return this.molecules.filter(this.judge()).sort(orders[this.order.value][1]);
  }

  // judge reads the filter: comparisons of columns, and texts that the SMILES has.
  judge() {
    const tests = this.filter.value.split(",").map((text) => text.trim()).filter(Boolean).map((text) => {
      const found = /^(\w+)\s*(<=|>=|<|>)\s*(-?[\d.]+)$/.exec(text);
      const column = found && columns.find(([name]) => name === found[1].toLowerCase());
      if (!column) return (m) => m.smiles.includes(text);
      const limit = Number(found[3]);
      return (m) => {
        const value = column[1](m);
        return { "<": value < limit, ">": value > limit, "<=": value <= limit, ">=": value >= limit }[found[2]];
      };
    });
    return (m) => tests.every((test) => test(m));
  }

  arrange() {
    const shown = this.shown();
    this.count.textContent = shown.length === this.molecules.length ? `${shown.length} molecules` : `${shown.length} of ${this.molecules.length}`;
    this.list.replaceChildren(...shown.map((m) => this.card(m)));
  }

  card(m) {
    const card = this.cards.get(m.smiles) ?? this.newCard(m);
    this.cards.set(m.smiles, card);
    card.querySelector(".score").textContent = m.score === undefined || m.score === null ? `QED ${number(m.row?.qed)}` : `${m.label ?? "Score"} ${number(m.score, 3)}`;
    return card;
  }

  newCard(m) {
    const copier = button("Copy", () => copy(m.smiles, copier), { className: "quiet", title: "Copy the SMILES" });
    const similar = m.row?.similarity === undefined ? "" : `similarity ${number(m.row.similarity)}`;
    const actions = element("div", { className: "actions" }, copier);
    if (this.start) actions.append(button("Start here", () => this.start(m.smiles), { className: "quiet", title: "Make this the molecule to begin with" }));
    return element("li", { className: "card" },
      m.row?.svg ? drawing(m.row, `Drawing of ${m.smiles}`) : element("p", { className: "problem", textContent: m.row?.error ?? "" }),
      element("p", { className: "line" }, element("strong", { className: "score" }), element("span", { textContent: similar })),
      element("p", { className: "facts", textContent: m.row?.formula ? `${number(m.row.weight, 1)} g/mol · LogP ${number(m.row.logp)} · TPSA ${number(m.row.tpsa, 0)} · SA ${number(m.row.sa ?? NaN, 1)}` : "" }),
      element("code", { className: "smiles", textContent: m.smiles, title: m.smiles }), actions);
  }

  csv() {
    const cell = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const lines = [columns.map(([name]) => name), ...this.shown().map((m) => columns.map(([, of]) => cell(String(written(of(m))))))];
    save(`${this.name}.csv`, "text/csv", `${lines.map((line) => line.join(",")).join("\n")}\n`);
  }

  async sdf() {
    const records = this.shown().filter((m) => !m.row?.error).map((m, i) => ({
      smiles: m.smiles, title: `${this.name} ${i + 1}`,
      properties: columns.map(([name, of]) => ({ name, value: String(written(of(m))) })),
    }));
    try {
      save(`${this.name}.sdf`, "chemical/x-mdl-sdfile", (await post("/page/sdf", { molecules: records })).sdf);
      this.problem.textContent = "";
    } catch (problem) {
      this.problem.textContent = `No SD file: ${problem.message}`;
    }
  }
}
