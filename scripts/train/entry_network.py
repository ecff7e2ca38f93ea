"""The network of a molecule model in an entry: see scripts.train.stored.

config.json: shape    the sizes of the network
             ranges   minimum and maximum input of each linear map that is computed in integers, by its name
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from scripts.train import quantise, stored
from scripts.train.graph import Ranges
from scripts.train.latent.tokens import Vocabulary as SmilesVocabulary
from scripts.train.layers import Attention
from scripts.train.masked.vocabulary import Vocabulary as SafeVocabulary

Words = TypeVar("Words", SmilesVocabulary, SafeVocabulary)


def write(entry: Path, network: nn.Module, shape: Any, ranges: Ranges, **more: Any) -> None:
    """Writes the network's weights, and its configuration. shape: a dataclass."""
    names = {module: name for name, module in network.named_modules()}
    config = {
        "shape": dataclasses.asdict(shape),
        **more,
        "ranges": {names[module]: list(bounds) for module, bounds in ranges.items()},
    }
    stored.write(entry, served_tensors(network, ranges), config)


def served_tensors(network: nn.Module, integers: Collection[nn.Module]) -> dict[str, torch.Tensor]:
    """Returns the parameters as the graph has them: the weights of `integers` in int8, all others in fp16.

    The graphs divide the queries of attention by the square root of their size before they round them. So fp16
    queries are stored divided by it, and it is their step.
    """
    divisors: dict[nn.Module, float] = {m.q: m.size**0.5 for m in network.modules() if isinstance(m, Attention)}
    tensors = {}
    for owner, module in network.named_modules():
        for name, parameter in module.named_parameters(owner, recurse=False):
            if module in integers and name.endswith(".weight"):
                step, rounded = quantise.round_weight(parameter)
                tensors[name], tensors[name + stored.STEP] = torch.from_numpy(rounded), torch.from_numpy(step)[:, None]
            elif module in divisors:
                divisor = torch.tensor(divisors[module], dtype=torch.float64)
                tensors[name], tensors[name + stored.STEP] = (parameter.double() / divisor).half(), divisor
            else:
                tensors[name] = parameter.half()
    return tensors


def load_exactly(entry: Path, build: Callable[[dict[str, Any]], nn.Module]) -> tuple[nn.Module, Ranges, dict[str, Any]]:
    """Returns network, ranges and configuration of an entry, to make its graph.

    In double precision, because then the weights round to the stored numbers. ValueError: see stored.load.
    """
    network, config = stored.load(entry, build, torch.float64)
    modules = dict(network.named_modules())
    try:
        ranges = {modules[name]: (float(low), float(high)) for name, (low, high) in config["ranges"].items()}
        for name, (low, high) in config["ranges"].items():
            if not (math.isfinite(low) and math.isfinite(high) and low <= 0 <= high):
                raise ValueError(
                    f"{name} must be from a finite number of at most 0 to one of at least 0: {low}, {high}"
                )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{entry / stored.CONFIG}: ranges: {type(error).__name__}: {error}") from error
    return network, ranges, config


def read_vocabulary(path: Path, kind: type[Words], size: int) -> Words:
    """Returns the vocabulary of a network with that many tokens. ValueError, which names the file: it is another."""
    try:
        vocabulary = kind.read(path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if len(vocabulary) != size:
        raise ValueError(f"{path}: {len(vocabulary)} tokens, but the weights are for {size}")
    return vocabulary
