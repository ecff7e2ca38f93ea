"""Makes the starting molecules of the optimisation benchmarks from their public files. Each function returns the
uncompressed content of each result. splits/NAME.txt has a letter for each line of the source; d: it is used.

qed_opt            a SMILES per line
plogp_opt          a SMILES per line with its penalised logP (plogp_raw = logP - SA - ring), the same normalised
                   (plogp_norm), logP (Crippen), SA score, atoms of the largest ring above six (long_ring), and the
                   published value (plogp_source)
genmol_fragments   the columns of the source
"""

from __future__ import annotations

from collections.abc import Callable

from rdkit import Chem
from rdkit.Chem import Crippen
from rdkit.Contrib.SA_Score import sascorer

from scripts.train.data.texts import SPLITS, Contents, WrongSourceError

LOGP = (2.4570953396190123, 1.434324401111988)
SA = (-3.0525811293166134, 0.8335207024513095)
RING = (-0.0485696876403053, 0.2860212110245455)
"""Mean and standard deviation of logP, -SA and -ring over ZINC250k (github.com/wengong-jin/icml18-jtnn)."""


def used(name: str, lines: list[str]) -> list[str]:
    """Returns the lines of a source that are used."""
    letters = (SPLITS / f"{name}.txt").read_text("ascii").replace("\n", "")
    if len(lines) != len(letters):
        raise WrongSourceError(f"{len(lines)} lines, expected {len(letters)} (splits/{name}.txt)")
    return [line for line, letter in zip(lines, letters) if letter == "d"]


def qed_opt(contents: Contents) -> list[bytes]:
    """Starting molecules of the QED task of Jin et al. 2019: of its test and of its validation part."""
    return [
        "".join(line.split()[0] + "\n" for line in used(f"qed_opt_{part}", text.decode().splitlines())).encode()
        for part, text in zip(("dev", "tune"), contents.values())
    ]


def plogp_opt(contents: Contents) -> list[bytes]:
    """Starting molecules of the task of penalised logP of Jin et al. 2018: of its test and of its validation part."""
    out = []
    for part, text in zip(("dev", "tune"), contents.values()):
        rows = ["\t".join(("smiles", "plogp_raw", "plogp_norm", "logp", "sa", "long_ring", "plogp_source"))]
        rows += [penalised_logp(*line.split()) for line in used(f"plogp_opt_{part}", text.decode().splitlines())]
        out.append("".join(f"{row}\n" for row in rows).encode())
    return out


def penalised_logp(smiles: str, published: str) -> str:
    """Returns the row of a molecule."""
    molecule = Chem.MolFromSmiles(smiles)
    logp, sa = Crippen.MolLogP(molecule), sascorer.calculateScore(molecule)
    ring = max(0, max((len(atoms) for atoms in molecule.GetRingInfo().AtomRings()), default=0) - 6)
    normalised = sum(
        (value - mean) / deviation for value, (mean, deviation) in ((logp, LOGP), (-sa, SA), (-ring, RING))
    )
    figures = (f"{value:.6f}" for value in (logp - sa - ring, normalised, logp, sa))
    return "\t".join((smiles, *figures, str(ring), published))


def genmol_fragments(contents: Contents) -> list[bytes]:
    """Five of the ten drugs of the benchmark of fragments (Noutahi et al. 2024; Lee et al. 2025)."""
    (text,) = contents.values()
    return ["".join(f"{line}\n" for line in used("genmol_fragments_dev", text.decode().splitlines())).encode()]


BUILDERS: dict[str, Callable[[Contents], list[bytes]]] = {
    "qed_opt": qed_opt,
    "plogp_opt": plogp_opt,
    "genmol_fragments": genmol_fragments,
}
"""Functions by set."""
