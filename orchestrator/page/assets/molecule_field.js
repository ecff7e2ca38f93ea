// A field for a molecule: its text, the editor, and below them the drawing with properties, or what is wrong.

import { element, later, number } from "./dom.js";
import { describe, drawing, onScheme } from "./drawing.js";
import { beside } from "./problems.js";

export class MoleculeField {
  constructor(field, { properties = true } = {}) {
    this.field = field;
    this.properties = properties;
    this.input = field.querySelector("input");
    this.preview = element("div", { className: "preview" });
    field.append(this.preview);
    this.input.addEventListener("input", later(250, () => this.look()));
    field.querySelector("[data-draw]").addEventListener("click", () => this.draw());
    onScheme(() => this.look());
    this.look();
  }

  async draw() {
    const { draw } = await import("./editor.js");
    const drawn = await draw(this.input.value);
    if (drawn !== null) this.set(drawn);
  }

  set(smiles) {
    this.input.value = smiles;
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    this.look();
  }

  // look shows what the text says. Answers that come after a newer question are left out.
  async look() {
    const text = this.input.value.trim();
    this.asked = text;
    if (text === "") {
      this.preview.replaceChildren();
      beside(this.field, "");
      return;
    }
    try {
      const [row] = await describe([text], {}, this.properties ? { width: 320, height: 190 } : { width: 210, height: 120 });
      if (this.asked !== text) return;
      beside(this.field, row.error ? `This is no molecule: ${row.error}.` : "");
      this.preview.replaceChildren(...(row.error ? [] : this.content(row)));
    } catch (problem) {
      if (this.asked === text) beside(this.field, problem.message);
    }
  }

  content(row) {
    const shown = [drawing(row, `Drawing of ${row.smiles}`)];
    if (this.properties) shown.push(element("p", { className: "facts", textContent: facts(row) }));
    return shown;
  }
}

// facts are the properties of a molecule in a line.
export function facts(row) {
  return [row.formula, `${number(row.weight, 1)} g/mol`, `QED ${number(row.qed)}`, `LogP ${number(row.logp)}`, `TPSA ${number(row.tpsa, 0)}`, `SA ${number(row.sa ?? NaN, 1)}`].join(" · ");
}
