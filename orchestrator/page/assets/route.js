// The synthesis of a molecule: its reactions, drawn when the reader opens it.

import { element } from "./dom.js";
import { describe, drawing } from "./drawing.js";

const size = { width: 150, height: 110 }; // pixels of a drawing

// routeDetails returns a closed element that shows a route {steps}, or null without steps.
export function routeDetails(route) {
  if (!route || route.steps.length === 0) return null;
  const count = route.steps.length;
  const steps = element("ol", { className: "steps" });
  const details = element(
    "details",
    { className: "route" },
    element("summary", { textContent: count === 1 ? "1 step" : `${count} steps` }),
    steps,
  );
  details.addEventListener("toggle", () => showSteps(steps, route), { once: true });
  return details;
}

async function showSteps(home, { steps }) {
  const molecules = [...new Set(steps.flatMap(({ precursors, product }) => [...precursors, product]))];
  let rows;
  try {
    rows = await describe(molecules, {}, size);
  } catch (problem) {
    home.replaceChildren(element("li", { className: "problem", textContent: problem.message }));
    return;
  }
  const bySmiles = new Map(molecules.map((smiles, i) => [smiles, rows[i]]));
  const picture = (smiles) => {
    const row = bySmiles.get(smiles);
    return row.svg ? drawing(row, smiles) : element("code", { textContent: smiles });
  };
  const sign = (textContent) => element("span", { className: "sign", textContent });
  home.replaceChildren(
    ...steps.map(({ reaction, precursors, product }) =>
      element(
        "li",
        {},
        element("p", { className: "facts", textContent: reaction }),
        element(
          "div",
          { className: "reaction" },
          ...precursors.flatMap((smiles, i) => (i === 0 ? [picture(smiles)] : [sign("+"), picture(smiles)])),
          sign("→"),
          picture(product),
        ),
      ),
    ),
  );
}
