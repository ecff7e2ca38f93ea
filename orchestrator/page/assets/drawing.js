// Drawings and properties of molecules, computed by the server.

import { post } from "./api.js";
import { element } from "./dom.js";

const darkScheme = matchMedia("(prefers-color-scheme: dark)");

// onColorScheme calls redraw when the page changes between light and dark.
export const onColorScheme = (redraw) => darkScheme.addEventListener("change", redraw);

// describe returns the properties and drawings of molecules, requested a hundred at a time. options can have the
// members reference or template.
export async function describe(smiles, options, { width, height, dark = darkScheme.matches }, signal) {
  const rows = [];
  for (let i = 0; i < smiles.length; i += 100) {
    const body = { molecules: smiles.slice(i, i + 100), draw: { width, height, dark }, ...options };
    rows.push(...(await post("/page/molecules", body, signal)).molecules);
  }
  return rows;
}

// drawing returns an <img> of a molecule, so that scripts in the SVG cannot run.
export function drawing(row, alternative) {
  const address = URL.createObjectURL(new Blob([row.svg], { type: "image/svg+xml" }));
  const img = element("img", { src: address, alt: alternative, className: "drawing", draggable: false });
  img.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
  return img;
}

// drawPNG returns a PNG of a molecule, black on white, as a data URL.
export async function drawPNG(smiles, width = 400, height = 320) {
  const [row] = await describe([smiles], {}, { width, height, dark: false });
  if (row.error) throw new Error(row.error);
  const img = drawing(row, "");
  await img.decode();
  const canvas = element("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.drawImage(img, 0, 0, width, height);
  return canvas.toDataURL("image/png");
}
