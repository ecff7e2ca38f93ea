"""Writes a masked model in the published form of GenMol, with 87 million weights, random in its matrices."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
from environments import ROOT

HIDDEN, INNER, LAYERS, HEADS, POSITIONS, VOCABULARY = 768, 3072, 12, 12, 256, 1880
"""The published configuration of GenMol. Tokens beyond those of the tests are chains of atoms."""


def write(folder: Path) -> Path:
    """Writes a folder of BertForMaskedLM, 87 million weights in fp16, of random matrices."""
    folder.mkdir()
    source = ROOT / "scripts/tests/testdata/genmol/v1"
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    chains = ("".join(chain) for length in itertools.count(2) for chain in itertools.product("CNO", repeat=length))
    for chain in chains:
        if len(vocabulary) == VOCABULARY:
            break
        vocabulary.setdefault(chain, len(vocabulary))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(source / "len.pk", folder)
    config = json.loads((source.parent / "golden.json").read_text())["v1"]["config"] | {
        "architectures": ["BertForMaskedLM"],
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS,
    }
    (folder / "config.json").write_text(json.dumps(config))
    write_tensors(folder / "model.safetensors", published_shapes())
    return folder


def published_shapes() -> dict[str, tuple[int, ...]]:
    """Returns the shapes of the weights of BertForMaskedLM by name."""
    maps = {"cls.predictions.transform.dense": (HIDDEN, HIDDEN)}
    norms = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for i in range(LAYERS):
        layer = f"bert.encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            maps[f"{layer}.attention.{part}"] = (HIDDEN, HIDDEN)
        maps[f"{layer}.intermediate.dense"] = (INNER, HIDDEN)
        maps[f"{layer}.output.dense"] = (HIDDEN, INNER)
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    sizes = {"word": VOCABULARY, "position": POSITIONS, "token_type": 2}
    shapes: dict[str, tuple[int, ...]] = {
        f"bert.embeddings.{name}_embeddings.weight": (size, HIDDEN) for name, size in sizes.items()
    }
    shapes |= {f"{name}.weight": shape for name, shape in maps.items()}
    shapes |= {f"{name}.bias": shape[:1] for name, shape in maps.items()}
    shapes |= {f"{name}.{kind}": (HIDDEN,) for name in norms for kind in ("weight", "bias")}
    return shapes | {"cls.predictions.bias": (VOCABULARY,)}


def write_tensors(path: Path, shapes: dict[str, tuple[int, ...]]) -> None:
    """Writes a safetensors file: matrices are random, norms are the identity, biases are zero."""
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    source = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, shape in shapes.items():
            values = np.full(shape, float(name.endswith("weight")), np.float32)
            if len(shape) == 2:
                values = source.standard_normal(shape, np.float32) * np.float32(0.02)
            file.write(values.astype(np.float16).tobytes())
