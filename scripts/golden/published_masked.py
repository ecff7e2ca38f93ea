"""Trains two tiny GenMol checkpoints with the public code, and records what that code computes with them.

    git clone https://github.com/NVIDIA-Digital-Bio/genmol        # the CHECKOUT
    python3.11 -m venv .venv-genmol
    .venv-genmol/bin/pip install torch transformers==4.56.2 safe-mol==0.1.14 bionemo-moco lightning hydra-core onnx
    PYTHONPATH=CHECKOUT/src:. .venv-genmol/bin/python scripts/golden/published_masked.py train MOLECULES.smi
    PYTHONPATH=CHECKOUT/src:. .venv-genmol/bin/python scripts/golden/published_masked.py record

`train` writes scripts/tests/testdata/genmol/{v1,v2}: model.ckpt, as lightning's Trainer saves it but without the state
of the optimizer; tokenizer.json, as safe-mol saves it; len.pk, the lengths of the strings. Version 2 has attachment
numbers in angle brackets. `record` writes golden.json there: logits, token ids of texts, the rows that the sampler
draws from fragments, and the positions and tokens of each step of the sampler. For the steps, the random numbers of
PyTorch are replaced by those that the graph of `retort model import` computes from a seed (scripts.train.graph).
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import re
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np
import torch

FOLDER = Path(__file__).resolve().parents[1] / "tests/testdata/genmol"
VERSIONS = ("v1", "v2")
SECONDS = 480  # of training


def stub_wandb() -> None:
    """Lets safe-mol be imported without wandb and trl, which only its own training needs."""
    package = types.ModuleType("safe")
    [location] = [Path(p, "safe") for p in sys.path if Path(p, "safe/converter.py").exists()]
    package.__path__ = [str(location)]
    sys.modules["safe"] = package
    from safe import converter, utils

    vars(package).update(
        encode=converter.encode, decode=converter.decode, utils=utils, SAFEConverter=converter.SAFEConverter
    )


stub_wandb()
os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = (
    "1"  # the checkpoints come from this script, and have OmegaConf's classes
)
import genmol.model  # noqa: E402
import genmol.sampler  # noqa: E402
import lightning  # noqa: E402
import omegaconf  # noqa: E402
import safe  # noqa: E402
from genmol.utils import bracket_safe_converter  # noqa: E402
from rdkit import RDLogger  # noqa: E402
from safe.tokenizer import SAFETokenizer  # noqa: E402

from scripts.train.graph import key, uniform  # noqa: E402
from scripts.train.masked.sampler import CONTEXT, ORDER, TOKEN  # noqa: E402

RDLogger.DisableLog("rdApp.*")


def use_tokenizer(folder: Path) -> None:
    """Makes the public code load the tokenizer of a folder instead of the published one."""

    def load():
        tokenizer = SAFETokenizer.load(str(folder / "tokenizer.json")).get_pretrained()
        tokenizer.add_tokens(["<", ">"])
        return tokenizer

    genmol.model.get_tokenizer = load


def configuration(vocabulary: int, brackets: bool) -> omegaconf.DictConfig:
    """Returns the published configs/base.yaml in small."""
    model = {
        "attention_probs_dropout_prob": 0.1,
        "classifier_dropout": None,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 48,
        "initializer_range": 0.02,
        "intermediate_size": 96,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 128,
        "model_type": "bert",
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "pad_token_id": 3,
        "position_embedding_type": "absolute",
        "torch_dtype": "float32",
        "type_vocab_size": 2,
        "use_cache": True,
        "vocab_size": vocabulary,
    }
    training = {
        "T": 0,
        "ema": 0.9999,
        "antithetic_sampling": True,
        "sampling_eps": 1e-3,
        "global_mean_loss": True,
        "use_bracket_safe": brackets,
    }
    optimizer = {"weight_decay": 0, "lr": 1.5e-2, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8}
    data = {"size": 64, "loader": {"global_batch_size": "${data.size}"}}
    return omegaconf.OmegaConf.create({"model": model, "training": training, "optim": optimizer, "data": data})


def strings(molecules: list[str], brackets: bool) -> list[str]:
    """Returns SAFE strings as in training: canonical, or with brackets and in random order."""
    plain = safe.SAFEConverter(ignore_stereo=True)
    encoded = [plain.encoder(m, allow_empty=True) for m in molecules]
    return [bracket_safe_converter.safe2bracketsafe(text) for text in encoded] if brackets else encoded


def train_tokenizer(texts: list[str], path: Path) -> int:
    """Writes a tokenizer.json as safe-mol does, and returns the number of its tokens."""
    tokenizer = SAFETokenizer("bpe", trainer_args={"vocab_size": 90, "min_frequency": 20})
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join([*texts, *TEXTS * 100]))  # TEXTS have brackets and %10, which get tokens of their own
        file.flush()
        tokenizer.train([file.name])
    tokenizer.tokenizer.model_max_length = 128
    tokenizer.save(str(path))
    return len(tokenizer)


def train(molecules: list[str], version: str) -> None:
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    folder, brackets = FOLDER / version, version == "v2"
    folder.mkdir(parents=True, exist_ok=True)
    texts = strings(molecules, brackets=False)
    size = train_tokenizer(texts, folder / "tokenizer.json")
    use_tokenizer(folder)
    config = configuration(size + (2 if brackets else 0), brackets)
    model = genmol.model.GenMol(config)
    texts = strings(molecules, brackets)
    lengths = [len(ids) for ids in model.tokenizer(texts)["input_ids"]]
    with (folder / "len.pk").open("wb") as file:
        pickle.dump(random.sample(lengths, min(2000, len(lengths))), file, protocol=4)

    def collate(batch):
        encoded = model.tokenizer(batch, return_tensors="pt", padding=True, truncation=True, max_length=128)
        return {"input_ids": encoded["input_ids"], "attention_mask": encoded["attention_mask"]}

    loader = torch.utils.data.DataLoader(texts, batch_size=64, shuffle=True, collate_fn=collate)
    with tempfile.TemporaryDirectory() as kept:
        callback = lightning.pytorch.callbacks.ModelCheckpoint(dirpath="checkpoints", filename="{step}", save_top_k=-1)
        trainer = lightning.Trainer(
            accelerator="cpu",
            max_time={"seconds": SECONDS},
            max_epochs=10_000,
            gradient_clip_val=1.0,
            logger=False,
            callbacks=[callback],
            enable_progress_bar=False,
            default_root_dir=kept,
        )
        callback.dirpath = kept
        trainer.fit(model, loader)
        print(version, trainer.global_step, "steps, loss", trainer.callback_metrics.get("train_loss"))
        trainer.save_checkpoint(Path(kept, "model.ckpt"))
        saved = torch.load(Path(kept, "model.ckpt"), weights_only=False)
    saved["optimizer_states"] = []
    saved["callbacks"] = {}
    torch.save(saved, folder / "model.ckpt")


class RandomNumbers:
    """Replaces the random numbers of the public sampler by those of the graph, for one row with a seed."""

    def __init__(self, seed: int) -> None:
        self.seed, self.step = seed, 0

    def draw(self, purpose: int, length: int) -> np.ndarray:
        parts = np.array([[self.seed]]), np.array([[self.step * 4 + purpose]]), np.arange(length)[None]
        return uniform(key(*parts))

    def rand(self, shape, **_):
        return torch.tensor(self.draw(ORDER, shape[1]))

    def sample(self, distribution):
        u = torch.tensor(self.draw(TOKEN, distribution.probs.shape[1]))[..., None]
        drawn = (torch.cumsum(distribution.probs, -1) < u).sum(-1)
        return drawn.clamp(max=distribution.probs.shape[-1] - 1)

    def choose(self, positions: list[int], count: int) -> list[int]:
        u = self.draw(CONTEXT, max(positions, default=0) + 1)[0]
        return sorted(positions, key=lambda at: u[at])[:count]


def steps(sampler, row: list[int], settings: dict) -> tuple[list, str | None]:
    """Returns the positions and tokens that each step of Sampler.generate fills in."""
    numbers, states = RandomNumbers(settings["seed"]), []
    public, rand, choose = sampler.mdlm.step_confidence, torch.rand, random.sample
    sample = torch.distributions.Categorical.sample

    def step(logits, x, i, *rest):
        after = public(logits, x, i, *rest, num_tokens_unmask=settings["step_size"])
        changed = (after != x)[0].nonzero()[:, 0].tolist()
        states.append([[at, int(after[0, at])] for at in changed])
        numbers.step += 1
        return after

    try:
        sampler.mdlm.step_confidence, torch.rand = step, numbers.rand
        torch.distributions.Categorical.sample = lambda distribution: numbers.sample(distribution)
        vars(random)["sample"] = numbers.choose
        if settings["step_size"] > 1:  # Sampler.generate always unmasks one token
            count = sampler.mdlm.get_num_steps_confidence
            sampler.mdlm.get_num_steps_confidence = lambda x: -(-count(x) // settings["step_size"])
        molecules = sampler.generate(
            torch.tensor([row]),
            softmax_temp=settings["temperature"],
            randomness=settings["noise"],
            gamma=settings["gamma"],
        )
    finally:
        sampler.mdlm.step_confidence, torch.rand, random.sample = public, rand, choose
        torch.distributions.Categorical.sample = sample
        if settings["step_size"] > 1:
            sampler.mdlm.get_num_steps_confidence = count
    return states, molecules[0] if molecules else None


def decoded(sampler, count: int = 120) -> list[dict]:
    """Returns SAFE strings that the sampler makes, many of them damaged, and the molecules it reads from them."""
    torch.manual_seed(3)
    random.seed(3)
    rows: list = []
    tokenizer = sampler.model.tokenizer
    start = torch.full((count, 26), sampler.model.mask_index)
    start[:, 0], start[:, -1] = tokenizer.bos_token_id, tokenizer.eos_token_id
    step = sampler.mdlm.step_confidence

    def keep(*arguments):
        rows[:] = [step(*arguments)]
        return rows[0]

    sampler.mdlm.step_confidence = keep
    sampler.generate(start, softmax_temp=0.8, randomness=0.5)
    sampler.mdlm.step_confidence = step
    pairs = []
    for text in tokenizer.batch_decode(rows[0], skip_special_tokens=True):
        if text.endswith("."):
            continue  # safe-mol reads no molecule from such a text if a number is open; Retort ignores the dot
        plain = bracket_safe_converter.bracketsafe2safe(text) if "<" in text else text
        smiles = genmol.sampler.safe_to_smiles(plain)
        pairs.append({"text": text, "molecule": sorted(smiles.split("."), key=len)[-1] if smiles else None})
    return pairs


# Fragments with open positions: motif, scaffold, linker, and one with stereo and a chlorine.
FRAGMENTS = ("[1*]c1ccccc1", "[1*]N1CCN([2*])CC1", "[1*]C1CCCC1.[1*]c1ccncc1", "[1*][C@@H](C)Cl")
TEXTS = ("c1ccccc1", "N12CCN3CC1.c13ccccc1Cl.C2=O", "[nH]1cccc1.C[NH+]%10C.Br%10", "CC(=O)[O-].[O-][N+]=O", "<1>C<2>")

SETTINGS = (
    {"temperature": 1.2, "noise": 2.0, "gamma": 0.3, "step_size": 1, "seed": 7},
    {"temperature": 0.5, "noise": 0.5, "gamma": 0.0, "step_size": 1, "seed": 8},
    {"temperature": 0.4, "noise": 0.0, "gamma": 0.0, "step_size": 1, "seed": 9},
    {"temperature": 1.0, "noise": 1.0, "gamma": 0.5, "step_size": 3, "seed": 10},
)


def draw_row(sampler, fragment: str, masks: int) -> list[int]:
    """Returns the row that the sampler completes: Sampler.fragment_completion, fragment_linking_onestep."""
    rows = []

    def insert(x, *_, **__):
        ids = x[0]
        rows.append(torch.hstack([ids[:-1], torch.full((masks,), sampler.model.mask_index), ids[-1:]])[None])
        return rows[-1]

    sampler._insert_mask, sampler.generate = insert, lambda *_, **__: []
    try:
        if "." in fragment:
            sampler.fragment_linking_onestep(fragment)
        else:
            sampler.fragment_completion(fragment, apply_filter=False)
    finally:
        del sampler._insert_mask, sampler.generate
    return rows[0][0].tolist()


def record(version: str) -> dict:
    folder = FOLDER / version
    use_tokenizer(folder)
    torch.set_num_threads(1)
    sampler = genmol.sampler.Sampler(str(folder / "model.ckpt"))
    tokenizer = sampler.model.tokenizer
    fragments: list[dict[str, Any]] = []
    cases = []
    for fragment in FRAGMENTS:
        ids = draw_row(sampler, fragment, masks=20)
        fragments.append({"fragment": fragment, "ids": ids})
    rows = [[tokenizer.bos_token_id] + [tokenizer.mask_token_id] * 30 + [tokenizer.eos_token_id]]
    rows += [case["ids"] for case in fragments[:3]]
    for row in rows:
        for settings in SETTINGS:
            states, molecule = steps(sampler, row, settings)
            cases.append({"row": row, **settings, "steps": states, "molecule": molecule})
    with torch.no_grad():
        logits = sampler.model(torch.tensor([rows[1]]), torch.ones(1, len(rows[1]), dtype=torch.bool))[0]
    texts = [{"text": text, "ids": ids} for text, ids in zip(TEXTS, tokenizer(list(TEXTS))["input_ids"], strict=True)]
    return {
        "config": omegaconf.OmegaConf.to_container(sampler.model.config.model),
        "tokens": texts,
        "decoded": decoded(sampler),
        "fragments": fragments,
        "logits": {"row": rows[1], "values": [[round(float(x), 6) for x in at] for at in logits]},
        "cases": cases,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("train", "record"))
    parser.add_argument("molecules", type=Path, nargs="?", help="SMILES, one a line, for train")
    parser.add_argument("--version", choices=VERSIONS, action="append")
    given = parser.parse_args()
    if given.what == "train":
        molecules = given.molecules.read_text().split()
        for version in given.version or VERSIONS:
            train(molecules, version)
        return
    golden = {version: record(version) for version in VERSIONS}
    text = json.dumps(golden, separators=(",", ":"))
    (FOLDER / "golden.json").write_text(re.sub(r"(?=\{\"(?:row|text|fragment|config)\")", "\n", text) + "\n")


if __name__ == "__main__":
    main()
