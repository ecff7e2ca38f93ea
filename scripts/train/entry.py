"""One entry of the model repository: config.pbtxt, the graph, and the files beside them."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

from scripts.lint import manifest

KINDS = {"INT64", "INT32", "FP32"}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input or output without its batch dimension; -1 is a free one."""

    name: str
    kind: str
    dims: tuple[int, ...]

    def text(self) -> str:
        assert self.kind in KINDS, self.kind
        return f'  {{ name: "{self.name}"  data_type: TYPE_{self.kind}  dims: [ {", ".join(map(str, self.dims))} ] }}'


@dataclasses.dataclass(frozen=True)
class Entry:
    """What config.pbtxt says. `comment` is its first line; parameters are what the gateway must know of the model."""

    name: str
    comment: str
    batch: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parameters: dict[str, str]

    def config(self) -> str:
        """The text of config.pbtxt."""
        lines = [
            f"# {self.comment} Tensors and parameters: ../README.md; weights: CARD.md.",
            f'name: "{self.name}"',
            'backend: "onnxruntime"',
            f"max_batch_size: {self.batch}",
            "",
        ]
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            lines += [f"{kind} [", ",\n".join(t.text() for t in tensors), "]"]
        lines += [
            "",
            "# RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS replaces the number in the live config.",
            "dynamic_batching { max_queue_delay_microseconds: 100 }",
            "",
            "# One copy of the weights per device; on a CPU its threads follow the cores. No kind, so Triton picks the device.",
            "instance_group [ { count: 1 } ]",
            "",
        ]
        width = max(map(len, self.parameters)) + 2
        lines += [
            f"parameters {{ key: {quote(k):<{width}}  value {{ string_value: {quote(v)} }} }}"
            for k, v in self.parameters.items()
        ]
        return "\n".join(lines) + "\n"

    def write(self, repository: Path, files: dict[str, str]) -> Path:
        """Writes config.pbtxt and the text files; returns the path for the graph."""
        folder = repository / self.name
        (folder / "1").mkdir(parents=True, exist_ok=True)
        for name, text in {"config.pbtxt": self.config(), **files}.items():
            (folder / name).write_text(text)
        return folder / "1" / "model.onnx"


def quote(text: str) -> str:
    """A string of the protobuf text format."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def created(run: Path) -> str:
    """When the run's weights were written, in seconds since 1970, to the day."""
    return str(
        int((run / "weights.pt").stat().st_mtime if (run / "weights.pt").exists() else time.time()) // 86400 * 86400
    )


def check_new(model_id: str | None, repository: Path) -> None:
    """Ends the program if the id is missing or the repository's manifest has it already: new outputs need a new id."""
    if not model_id:
        raise SystemExit("export: --id is needed: the public id of the exported model")
    if model_id in manifest.load(repository)["ids"]:
        raise SystemExit(f"export: {model_id} stands for other files (manifest.json): choose a new id")


def set_id(config: Path, model_id: str) -> None:
    """Replaces the model_id in config.pbtxt."""
    text, count = manifest.ID.subn(lambda m: m[0].replace(f'"{m[1]}"', f'"{model_id}"'), config.read_text())
    if count != 1:
        raise SystemExit(f"export: {config} needs one parameter model_id, and has {count}")
    config.write_text(text)
