#!/bin/bash
# Unpacks RDKit, the code, the molecules and the fonts into READER_WORK.
set -e
here=$(cd "$(dirname "$0")" && pwd); work=${READER_WORK:-/tmp/reader}
for l in "$here"/xlibs/*; do ldconfig -p | grep -q "$(basename $l) " || { cp "$l" /usr/lib/x86_64-linux-gnu/; echo "carried $(basename $l)"; }; done; ldconfig
mkdir -p "$work/site" "$work/data" "$work/code"
tar xf "$here/rdkit.tar.xz" -C "$work/site"
tar xf "$here/code.tar.xz" -C "$work/code"
cp "$here"/*.smi.gz "$work/data/"
cp "$here"/train_reader.py "$here"/*.sh "$work/"
fonts=${READER_FONTS:-/usr/local/share/fonts/reader}
mkdir -p "$fonts" && tar xf "$here/fonts.tar.xz" -C "$fonts"
cd "$work/code" && PYTHONPATH="$work/site:$work/code" ${PYTHON:-python3} -c "
import torch, rdkit, safetensors, tqdm, tensorboard, onnx
from scripts.train.vision import __main__, styles
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D
d = rdMolDraw2D.MolDraw2DCairo(300, 300); d.DrawMolecule(Chem.MolFromSmiles('CCO')); d.FinishDrawing(); assert len(d.GetDrawingText()) > 1000
print('installed: torch', torch.__version__, 'cuda', torch.cuda.is_available(), 'rdkit', rdkit.__version__, 'fonts', len(styles.fonts()))"
