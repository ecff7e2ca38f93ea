// Drawings and properties, from the server's own chemistry.

import { post } from "./api.js";
import { element } from "./dom.js";

const darkness = matchMedia("(prefers-color-scheme: dark)");

// onScheme calls back when the colours of the page have changed, so that drawings are made again.
export const onScheme = (redraw) => darkness.addEventListener("change", redraw);

// describe asks for molecules, a hundred at a time: options are the members reference and template, or none.
export async function describe(smiles, options, { width, height, dark = darkness.matches }, signal) {
  const rows = [];
  for (let i = 0; i < smiles.length; i += 100) {
    const body = { molecules: smiles.slice(i, i + 100), draw: { width, height, dark }, ...options };
    rows.push(...(await post("/page/molecules", body, signal)).molecules);
  }
  return rows;
}

// drawing is a picture of a molecule. As a picture it can run nothing, whatever is in it.
export function drawing(row, alternative) {
  const address = URL.createObjectURL(new Blob([row.svg], { type: "image/svg+xml" }));
  const img = element("img", { src: address, alt: alternative, className: "drawing", draggable: false });
  img.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
  return img;
}

// picture makes a PNG of a molecule, black on white, as a data URL.
export async function picture(smiles, width = 400, height = 320) {
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
