"""The weights of a model repository entry, of which its graph is made and with which a training can start.

ENTRY/model.safetensors   the parameters under their names in PyTorch
ENTRY/config.json         what else the export needs: the sizes of the network, the ranges of integer layers

A weight that is served in int8 is stored in int8: NAME, and NAME.step, with which it is multiplied and whose shape
broadcasts to it. The others are stored in the type in which they are served. Steps are fp32 or fp64.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import safetensors.torch
import torch
from torch import nn

from scripts.train import checkpoint, files

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
SHAPE = "shape.json"
"""The file of a run that has the sizes of its network."""
STEP = ".step"
"""Suffix of the name of a weight's step sizes."""
MOST_PARAMETERS = 10_000
"""Most parameter tensors of a network: a wrong number of layers is reported within seconds."""
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Network = TypeVar("Network", bound=nn.Module)


def write(entry: Path, tensors: dict[str, torch.Tensor], config: dict[str, Any]) -> None:
    """Writes weights and configuration into an entry."""
    stored = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    files.replace(entry / WEIGHTS, safetensors.torch.save(stored))
    files.replace(entry / CONFIG, (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode())


def read(entry: Path, kind: torch.dtype = torch.float32) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Returns the weights in the given type, and the configuration.

    ValueError, which names the file: it is missing or damaged, or a step does not fit its weight.
    """
    return dequantise(tensors(entry), entry / WEIGHTS, kind), config(entry)


def tensors(entry: Path) -> dict[str, torch.Tensor]:
    """Returns the tensors as they are stored. ValueError, which names the file: it is missing or damaged."""
    try:
        return safetensors.torch.load_file(entry / WEIGHTS)
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"{entry / WEIGHTS}: {error}") from error


def config(entry: Path) -> dict[str, Any]:
    """Returns the configuration. ValueError, which names the file: it is missing, or no JSON object."""
    return read_object(entry / CONFIG)


def read_object(file: Path) -> dict[str, Any]:
    """Returns the object in a JSON file. ValueError, which names the file: it is missing, or no JSON object."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{file}: an object is expected, got {found!r:.40}")
    return found


def dequantise(
    stored: dict[str, torch.Tensor], file: Path, kind: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    """Returns the weights of stored tensors in the given type.

    ValueError, which names the file and the tensor: a wrong type, a number that is not finite, or a step that does not
    fit its weight.
    """
    weights = {}
    for name, value in stored.items():
        if name.endswith(STEP):
            weight = name.removesuffix(STEP)
            if weight not in stored or weight.endswith(STEP):
                raise ValueError(f"{file}: {name}: step sizes without a weight")
            continue
        step = stored.get(name + STEP)
        if value.dtype not in FLOATS and (step is None or value.dtype != torch.int8):
            raise ValueError(f"{file}: {name} has the type {value.dtype}, not a float or int8 with {name}{STEP}")
        if step is not None:
            value = value.double() * fitting(step, value, f"{file}: {name}{STEP}")
        weights[name] = value.to(kind)
        if not weights[name].isfinite().all():
            raise ValueError(f"{file}: {name} has a number that is not finite")
    return weights


def fitting(step: torch.Tensor, weight: torch.Tensor, name: str) -> torch.Tensor:
    """Returns the step sizes of a weight in fp64. ValueError: wrong type, or a shape that does not broadcast to it."""
    try:
        fits = step.dtype in FLOATS and torch.broadcast_shapes(step.shape, weight.shape) == weight.shape
    except RuntimeError:
        fits = False
    if not fits:
        shapes = f"{step.dtype} {tuple(step.shape)} for a weight of {tuple(weight.shape)}"
        raise ValueError(f"{name}: step sizes do not fit: {shapes}")
    return step.double()


def load(
    entry: Path, build: Callable[[dict[str, Any]], Network], kind: torch.dtype = torch.float32
) -> tuple[Network, dict[str, Any]]:
    """Returns the network that `build` makes of the configuration, with the weights, and the configuration.

    ValueError, which names the file: see read, or the network cannot be built or has other weights.
    """
    weights, found = read(entry, kind)
    return load_network(entry / WEIGHTS, entry / CONFIG, lambda: build(found).to(kind), weights), found


def load_run(run: Path, build: Callable[[dict[str, Any]], Network]) -> Network:
    """Returns the network that `build` makes of a run's shape, with the weights to export, in eval mode.

    ValueError, which names the file or the run: a file is missing or damaged, or they do not fit.
    """
    shape = read_object(run / SHAPE)
    try:
        weights = checkpoint.weights(run)
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"{run}: {error}") from error
    return load_network(run, run / SHAPE, lambda: build(shape), weights)


def load_network(
    file: Path,
    sizes_file: Path,
    build: Callable[[], Network],
    weights: dict[str, torch.Tensor],
    keeps: Callable[[str], bool] = lambda name: False,
) -> Network:
    """Returns the network that `build` makes, with the weights, in eval mode. keeps: whether a weight stays as built.

    file, sizes_file: where weights and sizes are from. The sizes are compared before the network gets any memory.
    ValueError, which names the file: the network cannot be built, or weights are missing, unknown or of another shape.
    """
    wanted = {name: value for name, value in outline(sizes_file, build).state_dict().items() if not keeps(name)}
    sizes, found = ({name: tuple(value.shape) for name, value in part.items()} for part in (wanted, weights))
    if wrong := sorted(name for name in sizes.keys() | found.keys() if sizes.get(name) != found.get(name)):
        details = ", ".join(f"{n} is {found.get(n, 'missing')}, not {sizes.get(n, 'known')}" for n in wrong[:3])
        raise ValueError(f"{file}: {len(wrong)} weights do not fit: {details}")
    network = build()
    network.load_state_dict(weights, strict=False)
    return network.eval()


def outline(sizes_file: Path, build: Callable[[], Network], key: str = "") -> Network:
    """Returns a network that has shapes but no numbers, on the device meta.

    key: the key in the file of its sizes. ValueError, which names file and key: the network cannot be built, or has
    more than MOST_PARAMETERS.
    """
    registered = itertools.count(1)

    def count(*_: Any) -> None:
        if next(registered) > MOST_PARAMETERS:
            raise ValueError(f"a network of more than {MOST_PARAMETERS:,} parameter tensors")

    hook = torch.nn.modules.module.register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"):
            return build()
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError) as error:
        place = f"{sizes_file}: {key}" if key else str(sizes_file)
        raise ValueError(f"{place}: {type(error).__name__}: {error}") from error
    finally:
        hook.remove()


def digest(entry: Path) -> str:
    """Returns the SHA-256 of the weights. ValueError, which names the file: it cannot be read."""
    try:
        return hashlib.sha256((entry / WEIGHTS).read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(f"{entry / WEIGHTS}: {error}") from error
