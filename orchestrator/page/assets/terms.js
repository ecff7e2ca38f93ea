// The terms of an objective: each row has a property, a goal and a weight.

import { button, element } from "./dom.js";

// properties: name, label, the range over which a term of several rises or falls, and, if the property needs one, the
// member and placeholder of its argument.
const properties = [
  ["QED", "QED", 0, 1],
  ["plogP", "Penalised logP", -4, 6],
  ["SA", "SA (effort)", 1, 6],
  ["LogP", "LogP", 0, 5],
  ["TPSA", "TPSA", 20, 140],
  ["MW", "Weight (g/mol)", 200, 500],
  ["donors", "H-bond donors", 0, 5],
  ["acceptors", "H-bond acceptors", 0, 10],
  ["rotatable_bonds", "Rotatable bonds", 0, 10],
  ["aromatic_rings", "Aromatic rings", 0, 4],
  ["fraction_sp3", "Share of sp³ carbon", 0, 1],
  ["heavy_atoms", "Heavy atoms", 10, 40],
  ["similarity", "Similar to …", 0, 1, "smiles", "SMILES"],
  ["substructure", "Has the pattern …", 0, 1, "smarts", "SMARTS"],
];
const minimizedAtFirst = new Set(["SA"]); // the initial goal is "lower"

export class Terms {
  constructor(home, changed) {
    this.home = home;
    this.changed = changed;
    this.set([{ name: "QED" }]);
  }

  set(terms) {
    this.home.replaceChildren();
    for (const term of terms) this.add(term);
  }

  add(term = { name: "SA" }) {
    const name = element(
      "select",
      { attributes: { "aria-label": "Property" } },
      ...properties.map(([value, text]) => element("option", { value, textContent: text })),
    );
    const goal = element(
      "select",
      { attributes: { "aria-label": "Goal" } },
      ...[
        ["high", "higher"],
        ["low", "lower"],
        ["in", "between"],
      ].map(([value, textContent]) => element("option", { value, textContent })),
    );
    const input = (label, value) =>
      element("input", { type: "number", step: "any", value: value ?? "", attributes: { "aria-label": label } });
    const from = input("From", term.from);
    const to = input("To", term.to);
    const about = element("input", {
      value: term.about ?? "",
      spellcheck: false,
      attributes: { "aria-label": "Molecule or pattern" },
    });
    const weight = input("Weight", term.weight ?? 1);
    weight.min = "0";
    const row = element(
      "div",
      { className: "term" },
      name,
      goal,
      element("span", { className: "range" }, from, " to ", to),
      about,
      element("label", { className: "inline weight" }, "weight ", weight),
      button("✕", () => this.remove(row), {
        className: "quiet",
        title: "Remove this term",
        attributes: { "aria-label": "Remove this term" },
      }),
    );
    row.parts = { name, goal, from, to, about, weight };
    name.value = term.name;
    goal.value = term.goal ?? (minimizedAtFirst.has(term.name) ? "low" : "high");
    name.addEventListener("change", () => {
      from.value = to.value = about.value = "";
      goal.value = minimizedAtFirst.has(name.value) ? "low" : "high";
      this.updateRows();
    });
    goal.addEventListener("change", () => this.updateRows());
    this.home.append(row);
    this.updateRows();
    this.changed();
  }

  remove(row) {
    if (this.home.children.length > 1) row.remove();
    this.updateRows();
    this.changed();
  }

  // updateRows shows the inputs that the property and goal of each row need.
  updateRows() {
    const several = this.home.children.length > 1;
    for (const row of this.home.children) {
      const { name, goal, from, to, about, weight } = row.parts;
      const [, , least, most, member, placeholder] = properties.find(([known]) => known === name.value);
      about.hidden = !member;
      about.placeholder = placeholder ?? "";
      goal.hidden = Boolean(member);
      row.querySelector(".range").hidden = Boolean(member) || !(several || goal.value === "in");
      weight.parentElement.hidden = !several;
      if (from.value === "") from.value = least;
      if (to.value === "") to.value = most;
      row.lastChild.hidden = !several;
    }
  }

  // read returns the rows, for the link.
  read() {
    return [...this.home.children].map((row) => {
      const { name, goal, from, to, about, weight } = row.parts;
      return {
        name: name.value,
        goal: goal.value,
        from: from.value,
        to: to.value,
        about: about.value,
        weight: weight.value,
      };
    });
  }

  // requestMembers returns the members of the request. A single property is the score; several terms are a weighted
  // mean of how far each is met, from 0 to 1.
  requestMembers() {
    const rows = this.read();
    if (rows.length === 1 && rows[0].goal !== "in" && !argumentOf(rows[0].name))
      return { property_name: rows[0].name, minimize: rows[0].goal === "low" };
    return { objective: { combine: "arithmetic_mean", terms: rows.map(termOf) } };
  }
}

const argumentOf = (name) => properties.find(([known]) => known === name)[4];

function termOf({ name, goal, from, to, about, weight }) {
  const term = { name, weight: Number(weight) };
  const member = argumentOf(name);
  if (member) return { ...term, [member]: about.trim() };
  const range = [Number(from), Number(to)];
  if (goal === "in") return { ...term, modifier: { type: "window", min: range[0], max: range[1] } };
  if (goal === "low") range.reverse();
  return { ...term, modifier: { type: "clipped", lower: range[0], upper: range[1] } }; // 0 at lower, 1 at upper
}
