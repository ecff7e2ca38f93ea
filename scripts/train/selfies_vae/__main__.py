"""Trains the autoencoder on a file with a SMILES per line, and writes what an entry of the model repository needs:

    python -m scripts.train.selfies_vae --molecules DATA/zinc250k_train.smi.gz --minutes 20 --run runs/selfies_vae

encoder.onnx  input_ids int64 [batch, length] -> hiddens float [batch, latent], the means
decoder.onnx  hiddens float [batch, latent] -> logits float [batch, length, symbols]
alphabet.json the SELFIES symbols by id; 0 is [nop], the padding
latent.json   mean and standard deviation of each latent coordinate over the molecules, and the radius of noise
vocab.txt     the SMILES tokens of the molecules
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import time
from pathlib import Path

import numpy as np
import selfies
import torch
from rdkit import Chem, RDLogger

from scripts.train.latent.tokens import split
from scripts.train.selfies_vae.model import VAE, Encoder, Shape

PADDING = "[nop]"
RADIUS = 0.5
"""The standard deviation of the noise at scaled_radius 1, in standard deviations of the latent coordinates."""
WARM_UP = 0.3
"""The share of the training in which beta grows from 0."""


def read(path: Path, longest: int, limit: int) -> tuple[list[str], list[list[str]]]:
    """The canonical SMILES of molecules of at most longest symbols, and their SELFIES symbols."""
    RDLogger.DisableLog("rdApp.*")
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    smiles: list[str] = []
    rows: list[list[str]] = []
    with opened as lines:
        for line in lines:
            molecule = Chem.MolFromSmiles(line.split()[0]) if line.strip() else None
            if molecule is None or len(smiles) == limit:
                continue
            canonical = Chem.MolToSmiles(molecule)
            try:
                symbols = list(selfies.split_selfies(selfies.encoder(canonical)))
            except selfies.EncoderError:
                continue
            if len(symbols) <= longest:
                smiles.append(canonical)
                rows.append(symbols)
    return smiles, rows


def train(model: VAE, ids: torch.Tensor, arguments: argparse.Namespace) -> None:
    """Trains until the minutes or the steps are over, with a learning rate that falls to 0."""
    optimizer = torch.optim.Adam(model.parameters(), lr=arguments.rate)
    start, step, printed = time.monotonic(), 0, 0.0
    while True:
        elapsed = time.monotonic() - start
        done = step / arguments.steps if arguments.steps else elapsed / (60 * arguments.minutes)
        if done >= 1:
            return
        for group in optimizer.param_groups:
            group["lr"] = arguments.rate * 0.5 * (1 + math.cos(math.pi * done))
        batch = ids[torch.randint(len(ids), (arguments.batch,))]
        loss = model.loss(batch, arguments.beta * min(1.0, done / WARM_UP))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if elapsed - printed >= 20:
            printed = elapsed
            with torch.no_grad():
                written = model.decoder(model.encoder(batch)[0]).argmax(2)
            exact = (written == batch).all(1).float().mean()
            print(f"{elapsed:5.0f} s  step {step}  loss {loss.item():.2f}  exact {exact:.1%}", flush=True)


class Means(torch.nn.Module):
    """The encoder without the variance."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.encoder(ids)[0]


def export(model: VAE, run: Path) -> None:
    """Writes both graphs."""

    shape = model.shape
    graphs: dict[str, tuple[torch.nn.Module, torch.Tensor, str, str]] = {
        "encoder": (Means(model.encoder), torch.zeros(2, shape.length, dtype=torch.int64), "input_ids", "hiddens"),
        "decoder": (model.decoder, torch.zeros(2, shape.latent), "hiddens", "logits"),
    }
    for name, (module, example, input_name, output_name) in graphs.items():
        torch.onnx.export(
            module.eval(),
            (example,),
            str(run / f"{name}.onnx"),
            input_names=[input_name],
            output_names=[output_name],
            dynamic_axes={input_name: {0: "batch"}, output_name: {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )


def statistics(model: VAE, ids: torch.Tensor) -> dict[str, object]:
    """The content of latent.json."""
    with torch.no_grad():
        hiddens = torch.cat([model.encoder(rows)[0] for rows in ids[:20_000].split(512)]).double().numpy()
    deviations = np.maximum(hiddens.std(0), 1e-3)
    radius = RADIUS * math.sqrt(float(np.mean(deviations**2)))
    return {
        "mean": [round(x, 5) for x in hiddens.mean(0).tolist()],
        "sd": [round(x, 5) for x in deviations.tolist()],
        "radius": round(radius, 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=Path, required=True, help="a SMILES per line, .gz or not")
    parser.add_argument("--run", type=Path, default=Path("runs/selfies_vae"))
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--steps", type=int, default=0, help="instead of --minutes")
    parser.add_argument("--limit", type=int, default=40_000, help="most molecules to read")
    parser.add_argument("--longest", type=int, default=28, help="most SELFIES symbols of a molecule")
    parser.add_argument("--latent", type=int, default=48, help="size of the latent vector")
    parser.add_argument("--width", type=int, default=192, help="units of the GRU")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--beta", type=float, default=0.05, help="weight of the Kullback-Leibler divergence")
    parser.add_argument("--rate", type=float, default=2e-3, help="first learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)

    smiles, rows = read(arguments.molecules, arguments.longest, arguments.limit)
    if not rows:
        raise SystemExit(f"{arguments.molecules}: no molecule of at most {arguments.longest} SELFIES symbols")
    alphabet = [PADDING, *sorted({symbol for row in rows for symbol in row} - {PADDING})]
    number = {symbol: k for k, symbol in enumerate(alphabet)}
    length = max(map(len, rows)) + 1
    ids = torch.zeros(len(rows), length, dtype=torch.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor([number[symbol] for symbol in row])
    print(f"{len(rows):,} molecules, {len(alphabet)} symbols, rows of {length}", flush=True)

    model = VAE(Shape(len(alphabet), length, arguments.latent, arguments.width))
    train(model, ids, arguments)
    model.eval()
    arguments.run.mkdir(parents=True, exist_ok=True)
    export(model, arguments.run)
    (arguments.run / "alphabet.json").write_text(json.dumps({"length": length, "symbols": alphabet}) + "\n")
    (arguments.run / "latent.json").write_text(json.dumps(statistics(model, ids)) + "\n")
    tokens = sorted({token for text in smiles for token in split(text)})
    (arguments.run / "vocab.txt").write_text("".join(f"{token}\n" for token in tokens))


if __name__ == "__main__":
    main()
