"""Figures of the latent model: reconstruction, and samples around seeds at several radii.

Definitions as in the MolMIM model card:

exact          the decoded SMILES is the same molecule
validity       decodes to a molecule
uniqueness     distinct among valid
non-identical  not the seed, among valid
"""

from __future__ import annotations

from pathlib import Path

import torch
from rdkit import Chem, RDLogger

from scripts.train import batches
from scripts.train.latent import corpus, decoding
from scripts.train.latent.model import Model
from scripts.train.latent.tokens import PAD, Vocabulary

RDLogger.DisableLog("rdApp.*")


VALID = ["zinc250k_valid.smi.gz", "chembl_subsets_valid.smi.gz", "common_chemicals_valid.smi.gz"]
"""Files of held-out molecules."""


def read_sets(data: Path, files: list[str], count: int) -> dict[str, list[str]]:
    """Returns the first molecules of each file, by its name without _valid and suffix, the prefix of its figures."""
    sets = {
        Path(name).name.split(".")[0].removesuffix("_valid"): corpus.read_file(data, name)[:count] for name in files
    }
    if len(sets) < len(files):
        raise SystemExit(f"training: --valid {' '.join(files)}: the names must differ before the first dot")
    return sets


def canonical(smiles: str, stereo: bool = True) -> str | None:
    """Returns RDKit's canonical SMILES, or None if the text is empty or invalid."""
    molecule = Chem.MolFromSmiles(smiles) if smiles else None
    return Chem.MolToSmiles(molecule, isomericSmiles=stereo) if molecule is not None else None


def is_valid(smiles: str) -> bool:
    """Reports whether RDKit accepts the text and the molecule has no radicals."""
    molecule = Chem.MolFromSmiles(smiles) if smiles else None
    return molecule is not None and not any(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms())


@torch.no_grad()
def encode(model: Model, vocabulary: Vocabulary, molecules: list[str], batch: int = 256) -> torch.Tensor:
    """Returns z of each molecule, float32 [molecules, latent] on the device of the model."""
    device, out = next(model.parameters()).device, []
    order = sorted(range(len(molecules)), key=lambda i: len(molecules[i]))
    for start in range(0, len(order), batch):
        rows = [vocabulary.encode(molecules[i]) for i in order[start : start + batch]]
        ids = torch.from_numpy(batches.pad(rows, PAD)).to(device)
        out.append(model.encoder(ids, (ids != PAD).long()))
    inverse = torch.tensor(order).argsort()
    return torch.cat(out)[inverse.to(device)]


def decode(
    model: Model, vocabulary: Vocabulary, z: torch.Tensor, graph: decoding.Decode | None = None, batch: int = 250
) -> list[str]:
    """Decodes each row of z greedily to SMILES; graph: decode with it instead of the model."""
    out: list[str] = []
    for part in z.split(batch):
        ids = graph(part, 0.0) if graph else decoding.decode_with_cache(model.decoder, part)
        out += [vocabulary.decode(row) for row in ids.tolist()]
    return out


def reconstruction(
    model: Model, vocabulary: Vocabulary, molecules: list[str], graph: decoding.Decode | None = None
) -> dict[str, float]:
    """Returns the shares of molecules that round-trip exactly, ignoring stereochemistry, and to a valid molecule."""
    decoded = decode(model, vocabulary, encode(model, vocabulary, molecules), graph)
    exact = flat = valid = 0
    for original, text in zip(molecules, decoded):
        molecule = canonical(text)
        valid += molecule is not None
        exact += original == text or (molecule is not None and molecule == canonical(original))
        flat += molecule is not None and canonical(text, False) == canonical(original, False)
    count = len(molecules)
    return {"exact": exact / count, "exact_no_stereo": flat / count, "valid": valid / count}


def sampling(
    model: Model,
    vocabulary: Vocabulary,
    seeds: list[str],
    radius: float,
    each: int,
    seed: int = 7,
    graph: decoding.Decode | None = None,
) -> dict[str, float]:
    """Samples `each` texts around each seed: z plus normal noise with standard deviation radius, decoded greedily."""
    z = encode(model, vocabulary, seeds).repeat_interleave(each, 0)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(z.shape, generator=generator).to(z.device)
    samples = [canonical(s) for s in decode(model, vocabulary, z + radius * noise, graph)]
    start = [canonical(s) for s in seeds for _ in range(each)]
    valid = [(m, s) for m, s in zip(samples, start) if m is not None]
    new = sum(m != s for m, s in valid)
    return {
        "validity": len(valid) / len(samples),
        "uniqueness": len({m for m, _ in valid}) / max(len(valid), 1),
        "non_identical": new / max(len(valid), 1),
    }


def quick(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> dict[str, float]:
    """Returns the figures reported during training."""
    figures = reconstruction(model, vocabulary, molecules)
    around = sampling(model, vocabulary, molecules[:30], 1.0, 5)
    return {**figures, **{f"radius1_{k}": v for k, v in around.items()}}
