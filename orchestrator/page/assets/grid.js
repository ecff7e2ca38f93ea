// The grid of results: drawings with scores, sorted and filtered, to copy and download.

import { post } from "./api.js";
import { button, copy, debounce, download, element, number } from "./dom.js";
import { describe, drawing, onColorScheme } from "./drawing.js";
import { routeDetails } from "./route.js";

const sortOrders = {
  score: ["Score", (a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity)],
  similarity: ["Similarity", (a, b) => (b.row?.similarity ?? 0) - (a.row?.similarity ?? 0)],
  qed: ["QED", (a, b) => (b.row?.qed ?? 0) - (a.row?.qed ?? 0)],
  logp: ["LogP, low first", (a, b) => (a.row?.logp ?? 0) - (b.row?.logp ?? 0)],
  weight: ["Weight, low first", (a, b) => (a.row?.weight ?? 0) - (b.row?.weight ?? 0)],
  sa: ["Easy to make first", (a, b) => (a.row?.sa ?? 11) - (b.row?.sa ?? 11)],
  found: ["As found", (a, b) => a.place - b.place],
};

// columns are the columns of CSV files and the data fields of SD files.
const columns = [
  ["smiles", (m) => m.smiles],
  ["score", (m) => m.score],
  ["similarity", (m) => m.row?.similarity],
  ["formula", (m) => m.row?.formula],
  ["weight", (m) => m.row?.weight],
  ["logp", (m) => m.row?.logp],
  ["tpsa", (m) => m.row?.tpsa],
  ["qed", (m) => m.row?.qed],
  ["sa", (m) => m.row?.sa],
];
const formatValue = (value) => (typeof value === "number" ? String(Number(value.toPrecision(6))) : (value ?? ""));

// drawingSize returns the size of a drawing. On phones, where two cards are side by side, larger drawings would be
// scaled down until their lines are too thin.
const drawingSize = () => (innerWidth < 500 ? { width: 180, height: 132 } : { width: 300, height: 220 });

// Grid shows molecules {smiles, score}. onStart, if given, is called with the SMILES of a card whose "Start here" is
// pressed.
export class Grid {
  constructor(home, { name, onStart }) {
    this.name = name;
    this.onStart = onStart;
    this.molecules = [];
    this.options = {};
    this.cards = new Map();
    this.order = element(
      "select",
      { onchange: () => this.render() },
      ...Object.entries(sortOrders).map(([value, [text]]) => element("option", { value, textContent: text })),
    );
    this.filter = element("input", {
      type: "search",
      placeholder: "e.g. qed > 0.8, logp < 3, c1ccncc1",
      spellcheck: false,
      oninput: debounce(200, () => this.render()),
    });
    this.count = element("span", { className: "count", attributes: { role: "status" } });
    this.problem = element("p", { className: "problem", attributes: { role: "alert" } });
    const copier = button("Copy SMILES", () =>
      copy(
        this.visible()
          .map((m) => m.smiles)
          .join("\n"),
        copier,
      ),
    );
    this.tools = element(
      "div",
      { className: "tools", hidden: true },
      element("label", { className: "inline" }, "Sort by ", this.order),
      element("label", { className: "inline grow" }, "Filter ", this.filter),
      this.count,
      copier,
      button("CSV", () => this.csv(), { title: "Download as CSV" }),
      button("SDF", () => this.sdf(), { title: "Download as an SD file" }),
    );
    this.legend = element("p", { className: "legend hint", hidden: true });
    this.list = element("ul", { className: "grid", attributes: { "aria-label": "Results" } });
    this.empty = element("p", { className: "empty", textContent: home.dataset.empty });
    home.append(this.tools, this.problem, this.legend, this.list, this.empty);
    onColorScheme(() => {
      this.cards.clear();
      this.show(this.molecules, this.options);
    });
  }

  // show replaces the molecules. options are those of describe. Molecules that are shown already keep their cards.
  async show(molecules, options = {}) {
    if (JSON.stringify(options) !== JSON.stringify(this.options)) this.cards.clear();
    this.options = options;
    const known = new Map(this.molecules.map((m) => [m.smiles, m.row]));
    this.molecules = molecules.map((m, place) => ({
      ...m,
      place,
      row: this.cards.has(m.smiles) ? known.get(m.smiles) : undefined,
    }));
    this.empty.hidden = molecules.length > 0;
    this.tools.hidden = molecules.length === 0;
    this.showLegend();
    const missing = this.molecules.filter((m) => !m.row);
    if (missing.length > 0) {
      const requested = this.molecules;
      const rows = await describe(
        missing.map((m) => m.smiles),
        options,
        drawingSize(),
      ).catch((problem) => missing.map(() => ({ error: problem.message })));
      if (requested !== this.molecules) return;
      missing.forEach((m, i) => (m.row = rows[i]));
    }
    this.render();
  }

  showLegend() {
    const parts = [];
    const meaning = (kind, text) =>
      element(
        "span",
        {},
        element("span", { className: `chip ${kind}`, attributes: { "aria-hidden": "true" } }),
        ` ${text} `,
      );
    if (this.options.reference)
      parts.push(meaning("changed", "not in the starting molecule"), meaning("lost", "removed here"));
    if (this.options.template) parts.push(meaning("given", "given fragment"));
    this.legend.replaceChildren(...parts);
    this.legend.hidden = parts.length === 0 || this.molecules.length === 0;
  }

  // visible returns the molecules that pass the filter, sorted.
  visible() {
    return this.molecules.filter(this.filterPredicate()).sort(sortOrders[this.order.value][1]);
  }

  // filterPredicate parses the filter: comparisons of columns, and parts of the SMILES.
  filterPredicate() {
    const tests = this.filter.value
      .split(",")
      .map((text) => text.trim())
      .filter(Boolean)
      .map((text) => {
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

  render() {
    const visible = this.visible();
    this.count.textContent =
      visible.length === this.molecules.length
        ? `${visible.length} molecules`
        : `${visible.length} of ${this.molecules.length}`;
    this.list.replaceChildren(...visible.map((m) => this.card(m)));
  }

  card(m) {
    const card = this.cards.get(m.smiles) ?? this.newCard(m);
    this.cards.set(m.smiles, card);
    card.querySelector(".score").textContent =
      m.score === undefined || m.score === null
        ? `QED ${number(m.row?.qed)}`
        : `${m.label ?? "Score"} ${number(m.score, 3)}`;
    card.querySelector(".values").textContent = Object.entries(m.scores ?? {})
      .map(([name, value]) => `${name} ${number(value)}`)
      .join(" · ");
    const route = JSON.stringify(m.route ?? null);
    if (card.shownRoute !== route) {
      card.shownRoute = route;
      card.querySelector(".route-home").replaceChildren(...[routeDetails(m.route)].filter(Boolean));
    }
    return card;
  }

  newCard(m) {
    const copier = button("Copy", () => copy(m.smiles, copier), { className: "quiet", title: "Copy the SMILES" });
    const similar = m.row?.similarity === undefined ? "" : `similarity ${number(m.row.similarity)}`;
    const actions = element("div", { className: "actions" }, copier);
    if (this.onStart)
      actions.append(
        button("Start here", () => this.onStart(m.smiles), { className: "quiet", title: "Start from this molecule" }),
      );
    return element(
      "li",
      { className: "card" },
      m.row?.svg
        ? drawing(m.row, `Drawing of ${m.smiles}`)
        : element("p", { className: "problem", textContent: m.row?.error ?? "" }),
      element(
        "p",
        { className: "line" },
        element("strong", { className: "score" }),
        element("span", { textContent: similar }),
      ),
      element("p", {
        className: "facts",
        textContent: m.row?.formula ? summary(m.row) : "",
      }),
      element("p", { className: "facts values" }),
      element("div", { className: "route-home" }),
      element("code", { className: "smiles", textContent: m.smiles, title: m.smiles }),
      actions,
    );
  }

  csv() {
    const cell = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const lines = [
      columns.map(([name]) => name),
      ...this.visible().map((m) => columns.map(([, of]) => cell(String(formatValue(of(m)))))),
    ];
    download(`${this.name}.csv`, "text/csv", `${lines.map((line) => line.join(",")).join("\n")}\n`);
  }

  async sdf() {
    const records = this.visible()
      .filter((m) => !m.row?.error)
      .map((m, i) => ({
        smiles: m.smiles,
        title: `${this.name} ${i + 1}`,
        properties: columns.map(([name, of]) => ({ name, value: String(formatValue(of(m))) })),
      }));
    try {
      download(`${this.name}.sdf`, "chemical/x-mdl-sdfile", (await post("/page/sdf", { molecules: records })).sdf);
      this.problem.textContent = "";
    } catch (problem) {
      this.problem.textContent = `No SD file: ${problem.message}`;
    }
  }
}

// summary returns the properties on a card.
function summary(row) {
  const parts = [`${number(row.weight, 1)} g/mol`, `LogP ${number(row.logp)}`];
  parts.push(`TPSA ${number(row.tpsa, 0)}`, `SA ${number(row.sa ?? NaN, 1)}`);
  return parts.join(" · ");
}
