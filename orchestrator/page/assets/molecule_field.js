// A field for a molecule: its SMILES, a button that opens the editor, and the drawing with properties or the error.

import { debounce, element, number } from "./dom.js";
import { describe, drawing, onColorScheme } from "./drawing.js";
import { showBeside } from "./problems.js";

export class MoleculeField {
  constructor(field, { properties = true } = {}) {
    this.field = field;
    this.properties = properties;
    this.input = field.querySelector("input");
    this.preview = element("div", { className: "preview" });
    field.append(this.preview);
    this.input.addEventListener(
      "input",
      debounce(250, () => this.update()),
    );
    field.querySelector("[data-draw]").addEventListener("click", () => this.openEditor());
    onColorScheme(() => this.update());
    this.update();
  }

  async openEditor() {
    const { draw } = await import("./editor.js");
    const drawn = await draw(this.input.value);
    if (drawn !== null) this.set(drawn);
  }

  set(smiles) {
    this.input.value = smiles;
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    this.update();
  }

  // update shows the molecule of the text. Answers for an older text are ignored.
  async update() {
    const text = this.input.value.trim();
    this.current = text;
    if (text === "") {
      this.preview.replaceChildren();
      showBeside(this.field, "");
      return;
    }
    try {
      const [row] = await describe(
        [text],
        {},
        this.properties ? { width: 320, height: 190 } : { width: 210, height: 120 },
      );
      if (this.current !== text) return;
      showBeside(this.field, row.error ? `This is not a molecule: ${row.error}.` : "");
      this.preview.replaceChildren(...(row.error ? [] : this.content(row)));
    } catch (problem) {
      if (this.current === text) showBeside(this.field, problem.message);
    }
  }

  content(row) {
    const shown = [drawing(row, `Drawing of ${row.smiles}`)];
    if (this.properties) shown.push(element("p", { className: "facts", textContent: facts(row) }));
    return shown;
  }
}

// facts returns the properties of a molecule as one line.
export function facts(row) {
  return [
    row.formula,
    `${number(row.weight, 1)} g/mol`,
    `QED ${number(row.qed)}`,
    `LogP ${number(row.logp)}`,
    `TPSA ${number(row.tpsa, 0)}`,
    `SA ${number(row.sa ?? NaN, 1)}`,
  ].join(" · ");
}
