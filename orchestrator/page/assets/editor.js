// The molecule editor: openchemlib's canvas in a dialog, loaded when it is first opened.

const dialog = document.getElementById("editor");
const home = dialog.querySelector(".canvas");
let loaded = null;
let editor = null;

async function open(smiles) {
  loaded ??= import("./third_party/openchemlib.js");
  const { CanvasEditor, Molecule } = await loaded;
  editor ??= new CanvasEditor(home);
  let molecule = new Molecule(0, 0);
  try {
    if (smiles.trim() !== "") molecule = Molecule.fromSmiles(smiles.trim());
  } catch {
    // start with an empty canvas
  }
  editor.setMolecule(molecule);
  return Molecule;
}

// draw opens the editor with a molecule and returns the result as SMILES, or null if the user cancels.
export async function draw(smiles) {
  dialog.showModal();
  const Molecule = await open(smiles);
  return new Promise((resolve) => {
    const end = (answer) => {
      dialog.removeEventListener("close", cancel);
      dialog.close();
      resolve(answer);
    };
    const cancel = () => end(null);
    dialog.addEventListener("close", cancel);
    dialog.querySelector("[data-cancel]").onclick = cancel;
    dialog.querySelector("[data-empty]").onclick = () => editor.setMolecule(new Molecule(0, 0));
    dialog.querySelector("[data-use]").onclick = () => end(toSMILES(editor.getMolecule()));
  });
}

// toSMILES returns SMILES, in which atoms labelled ? or R1 are open positions (*).
const toSMILES = (molecule) => molecule.toIsomericSmiles().replace(/\[(\?|R\d*)\]/g, "*");
