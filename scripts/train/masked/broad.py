"""Training strings of molecules of every kind: with stereochemistry, charges, rare elements and large rings.

    python -m scripts.train.masked --data DATA --merges 0 --name broad --samples 2000000

The first call writes the strings of about 300,000 molecules (5 ms each), weighted as in scripts.train.latent.corpus.

With --merges 0 each token of the model is one SMILES token. A string of n tokens and c cuts has n + c tokens of SAFE,
the published tokenisation: SAFE writes a cut as a dot and two ring numbers, this form as a dot and an open end. So 15
published masks are about 7 heavy atoms; published_tokens_per_token measures the ratio.

Three in four rows of a molecule with QED >= 0.6 and SA <= 4 start with [QUALITY] instead of [BOS]. A template that
starts with [QUALITY] requests such molecules; one that starts with [BOS] follows the distribution of the data. Three in
four rows end with a token for their length in published tokens instead of [EOS] (vocabulary.LENGTHS), so a template
requests a molecule of the length of its fragments and masks.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rdkit import Chem
from rdkit.Chem import QED
from rdkit.Contrib.SA_Score import sascorer

from scripts.train.latent import corpus
from scripts.train.masked import safe
from scripts.train.masked.vocabulary import Vocabulary

SHARES = {
    "zinc250k_train.smi.gz": 0.33,
    "chembl_subsets_train.smi.gz": 0.45,
    "common_chemicals_train.smi.gz": 0.10,
    "coconut_subsets_train.smi.gz": 0.07,
    "muv_druglike.smi.gz": 0.05,
}
"""Share of each file among the strings. No file of salts: a string is one molecule."""
MAX_TOKENS = 200
"""Longer strings are dropped."""
MAX_COPIES = 4
"""Copies of a molecule on average, at most: a copy has two strings, from different ends."""


def molecules(folder: Path, shares: dict[str, float], count: int, seed: int) -> list[str]:
    """Returns about `count` molecules, heavier-weighted ones several times, without mixtures, placeholders (`*`) and
    invalid SMILES."""
    files = corpus.read(folder, shares)
    most = MAX_COPIES * sum(len(molecules) for molecules, _ in files)
    smiles, times = corpus.mix(files, seed, min(count, most))
    return [m for m, n in zip(smiles, times) for _ in range(n) if _is_molecule(m)]


def _is_molecule(smiles: str) -> bool:
    return "." not in smiles and "*" not in smiles and Chem.MolFromSmiles(smiles) is not None


def sides(smiles: str) -> list[safe.Side]:
    """Returns the sides of a molecule's cuts, with stereochemistry if it survives a round trip.

    A molecule without cuts has one side, which has no bond.
    """
    stereo = any(mark in smiles for mark in "@/\\")
    if stereo:
        cuts = safe.sides(smiles, True) or [safe.Side(safe.encode_uncut(smiles, True), ())]
        text = "".join(safe.nested_pieces(cuts, 0)) if len(cuts) > 1 else cuts[0].text
        if safe.decode(text) == Chem.CanonSmiles(smiles):
            return cuts
    return safe.sides(smiles) or [safe.Side(safe.encode_uncut(smiles), ())]


def has_quality(smiles: str) -> bool:
    """Reports whether a molecule meets GenMol's quality criterion: QED >= 0.6 and SA <= 4."""
    molecule = Chem.MolFromSmiles(smiles)
    return QED.qed(molecule) >= 0.6 and sascorer.calculateScore(molecule) <= 4


def published_tokens_per_token(ids: np.ndarray, vocabulary: Vocabulary) -> float:
    """Returns how many tokens of SAFE, the published tokenisation, a token of these strings represents on average."""
    return float(vocabulary.published_lengths()[ids].mean())
