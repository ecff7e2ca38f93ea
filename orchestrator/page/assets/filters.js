// The filters of results: each row has a property, a side and a bound that every result is within.

import { button, element, number } from "./dom.js";

// properties: name, label, and the side and bound that a new row has.
const properties = [
  ["SA", "SA (effort)", "max", 4],
  ["synthesis_steps", "Synthesis steps", "max", 3],
  ["PAINS", "PAINS", "max", 0],
  ["Brenk", "Brenk", "max", 0],
  ["novelty", "Novelty", "min", 0.3],
  ["QED", "QED", "min", 0.5],
  ["LogP", "LogP", "max", 5],
  ["TPSA", "TPSA", "max", 140],
  ["MW", "Weight (g/mol)", "max", 500],
  ["donors", "H-bond donors", "max", 5],
  ["acceptors", "H-bond acceptors", "max", 10],
  ["rotatable_bonds", "Rotatable bonds", "max", 10],
];
const sides = [
  ["max", "at most"],
  ["min", "at least"],
];

const options = (pairs) => pairs.map(([value, textContent]) => element("option", { value, textContent }));

export class Filters {
  // field is the element with the rows and the button that adds one.
  constructor(field, changed) {
    this.home = field.querySelector(".filters");
    this.changed = changed;
    field.querySelector("[data-add-filter]").addEventListener("click", () => this.add());
  }

  set(filters) {
    this.home.replaceChildren();
    for (const filter of filters) if (filter?.name) this.add(filter); // a link may be broken
  }

  add(filter = { name: this.unused() }) {
    const name = element("select", { attributes: { "aria-label": "Filtered property" } }, ...options(properties));
    const side = element("select", { attributes: { "aria-label": "Side" } }, ...options(sides));
    const bound = element("input", { type: "number", step: "any", attributes: { "aria-label": "Bound" } });
    const reset = () => ([, , side.value, bound.value] = properties.find(([known]) => known === name.value));
    const row = element(
      "div",
      { className: "term filter" },
      name,
      side,
      bound,
      button(
        "✕",
        () => {
          row.remove();
          this.changed();
        },
        { className: "quiet", title: "Remove this filter", attributes: { "aria-label": "Remove this filter" } },
      ),
    );
    row.parts = { name, side, bound };
    name.addEventListener("change", reset);
    name.value = filter.name;
    if (name.value === "") name.value = properties[0][0];
    reset();
    if (filter.side !== undefined) [side.value, bound.value] = [filter.side, filter.bound];
    this.home.append(row);
    this.changed();
  }

  // unused returns the first property without a filter.
  unused() {
    const used = this.read().map(({ name }) => name);
    return (properties.find(([name]) => !used.includes(name)) ?? properties[0])[0];
  }

  // read returns the rows, for the link.
  read() {
    return [...this.home.children].map(({ parts: { name, side, bound } }) => ({
      name: name.value,
      side: side.value,
      bound: bound.value,
    }));
  }

  // requestMembers returns the members of the request: the filters, and the values of their properties as scores.
  requestMembers() {
    const rows = this.read();
    if (rows.length === 0) return {};
    return {
      // An empty bound is no number, which the service refuses beside its row.
      filters: rows.map(({ name, side, bound }) => ({ name, [side]: bound === "" ? null : Number(bound) })),
      scores: [...new Set(rows.map(({ name }) => name))],
    };
  }
}

// leftOutText says how many molecules the filters of an answer left out; "" without filters.
export function leftOutText(leftOut) {
  if (!leftOut) return "";
  const parts = leftOut.filters.map(({ name, molecules }) => `${name} ${number(molecules)}`);
  return ` Left out: ${number(leftOut.molecules)} (${parts.join(", ")}).`;
}
