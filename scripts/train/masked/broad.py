"""Training strings of molecules of every kind: stereo, charges, rare elements and large rings as the data have them.

    python -m scripts.train.masked --data DATA --mix broad --runs-of-tokens 0 --name broad --minutes 600
    python -m scripts.train.masked --data DATA --mix broad --name broad --minutes 600 --finish 30

The first call writes the strings of some 300,000 molecules (about 5 ms each), weighted as those of the latent model
(scripts.train.latent.corpus). Without runs of tokens a token of the model is one of SMILES, and nearly one of
published templates: a string of n tokens and c cuts has n + c tokens of SAFE, whose every cut is a dot and two ring numbers where
this form has a dot and an open end. So 15 published masks are some 7 heavy atoms; `worth` measures the ratio of the two.

Molecules with QED >= 0.6 and SA <= 4 are marked: a row of one of them begins with [QUALITY] in place of [BOS] three times
in four. A template that begins with [QUALITY] asks for such molecules, and one with [BOS] for molecules as the data have them.
Likewise three rows in four end with a token for their length in published tokens in place of [EOS] (vocabulary.LENGTHS): so a
template asks for as long a molecule as its given fragments and masks together are.
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
    "zinc250k_train.smi.gz": 0.35,
    "broad_train.smi.gz": 0.45,
    "everyday_train.smi": 0.15,
    "muv_druglike.smi.gz": 0.05,
}
"""Share of the files among the strings. Salts have none: a string is one molecule."""
LARGEST = 200
"""Tokens of a string; a longer one is left out."""


def molecules(folder: Path, count: int, seed: int) -> list[str]:
    """About `count` molecules, those with a larger weight several times; mixtures, isotopes and what RDKit refuses are left out."""
    files = [(corpus.read_molecules(folder / name), share) for name, share in SHARES.items()]
    smiles, times = corpus.mixed(files, seed, count)
    return [m for m, n in zip(smiles, times) for _ in range(n) if "." not in m and Chem.MolFromSmiles(m) is not None]


def sides(smiles: str) -> list[safe.Side]:
    """The sides of a molecule's cuts, with stereo if its string can be read back so; one side, of no bond, where there is nothing
    to cut."""
    stereo = any(mark in smiles for mark in "@/\\")
    if stereo:
        cuts = safe.sides(smiles, True) or [safe.Side(safe.whole(smiles, True), ())]
        text = "".join(safe.nested(cuts, 0)) if len(cuts) > 1 else cuts[0].text
        if safe.decode(text) == Chem.CanonSmiles(smiles):
            return cuts
    return safe.sides(smiles) or [safe.Side(safe.whole(smiles), ())]


def good(smiles: str) -> bool:
    """Whether a molecule has the quality that GenMol counts: QED >= 0.6 and SA <= 4."""
    molecule = Chem.MolFromSmiles(smiles)
    return QED.qed(molecule) >= 0.6 and sascorer.calculateScore(molecule) <= 4


def worth(ids: np.ndarray, vocabulary: Vocabulary) -> float:
    """Tokens of SAFE, the published tokenisation, that a token of these strings stands for, in the mean."""
    return float(vocabulary.published()[ids].mean())
