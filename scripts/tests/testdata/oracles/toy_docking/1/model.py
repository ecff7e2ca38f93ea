"""A toy that behaves as a docking program does: a pocket from a file, a slow-ish score of each molecule, none for what
does not fit.

smiles in; affinity, which stands for kcal/mol, and score, from 0 to 1, out. The pocket wants molecules of a certain
size, donors, acceptors and lipophilicity. A molecule with a larger ring than the pocket has room for has no score: NaN.
"""

import json
import math
import pathlib

import numpy as np
import triton_python_backend_utils as pb_utils
from rdkit import Chem
from rdkit.Chem import Crippen, rdMolDescriptors


class TritonPythonModel:
    def initialize(self, args):
        folder = pathlib.Path(args["model_repository"], args["model_version"])
        self.pocket = json.loads((folder / "pocket.json").read_text())

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        texts = pb_utils.get_input_tensor_by_name(request, "smiles").as_numpy().ravel()
        scored = np.array([self.dock(text.decode()) for text in texts], np.float32).reshape(-1, 2)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("score", scored[:, :1]), pb_utils.Tensor("affinity", scored[:, 1:])]
        )

    def dock(self, smiles):
        """Score and affinity of a molecule."""
        mol = Chem.MolFromSmiles(smiles)
        if mol is None or max(map(len, mol.GetRingInfo().AtomRings()), default=0) > self.pocket["largest_ring"]:
            return math.nan, math.nan
        misfit = (
            abs(mol.GetNumHeavyAtoms() - self.pocket["volume"]) / 5
            + abs(rdMolDescriptors.CalcNumHBD(mol) - self.pocket["donors"])
            + abs(rdMolDescriptors.CalcNumHBA(mol) - self.pocket["acceptors"]) / 2
            + abs(Crippen.MolLogP(mol) - self.pocket["lipophilicity"])
        )
        return math.exp(-misfit / 4), -10 + misfit
