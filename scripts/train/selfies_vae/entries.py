"""Writes the entries of a trained autoencoder into a model repository:

    python -m scripts.train.selfies_vae.entries --run runs/selfies_vae --id NAME --repository model_repository

Both entries are Python models of Triton that read and write SMILES. They have a copy of the package selfies, so that
Triton's environment needs only onnxruntime and numpy.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
from pathlib import Path

SERVING = Path(__file__).parent / "serving"
CONFIG = """# {comment} orchestrator/docs/operate/LATENT.md
name: "{name}"
backend: "python"
max_batch_size: 128

input [ {{ name: "{input}"  data_type: {input_type}  dims: [ {input_size} ] }} ]
output [ {{ name: "{output}"  data_type: {output_type}  dims: [ {output_size} ] }} ]

dynamic_batching {{ max_queue_delay_microseconds: 100 }}
instance_group [ {{ count: 1  kind: KIND_CPU }} ]

parameters {{ key: "retort_api"  value {{ string_value: "latent" }} }}
parameters {{ key: "role"        value {{ string_value: "{role}" }} }}
parameters {{ key: "model_id"    value {{ string_value: "{id}" }} }}
"""
COMMENTS = {"encoder": "SMILES to a latent vector.", "decoder": "Latent vectors to SMILES."}


def write(run: Path, repository: Path, model_id: str, name: str = "selfies_vae") -> None:
    """Writes NAME_encoder and NAME_decoder. Each appears only once it is complete."""
    size = len(json.loads((run / "latent.json").read_text())["mean"])
    package = importlib.util.find_spec("selfies")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("entries: install the package selfies")
    text, vector = ("smiles", "TYPE_STRING", 1), ("hiddens", "TYPE_FP32", size)
    for role, (given, answered) in {"encoder": (text, vector), "decoder": (vector, text)}.items():
        staging = repository / f".{name}_{role}"
        shutil.rmtree(staging, ignore_errors=True)
        version = staging / "1"
        version.mkdir(parents=True)
        config = CONFIG.format(
            comment=COMMENTS[role],
            name=f"{name}_{role}",
            role=role,
            id=model_id,
            input=given[0],
            input_type=given[1],
            input_size=given[2],
            output=answered[0],
            output_type=answered[1],
            output_size=answered[2],
        )
        if role == "encoder":
            for file in ("vocab.txt", "latent.json"):
                shutil.copy(run / file, staging / file)
            longest = max(2, json.loads((run / "alphabet.json").read_text())["length"])
            config += f'parameters {{ key: "max_model_len"  value {{ string_value: "{2 * longest}" }} }}\n'
        (staging / "config.pbtxt").write_text(config)
        shutil.copy(SERVING / f"{role}.py", version / "model.py")
        shutil.copy(run / f"{role}.onnx", version / f"{role}.onnx")
        shutil.copy(run / "alphabet.json", version / "alphabet.json")
        copied = Path(package.submodule_search_locations[0])
        shutil.copytree(copied, version / "selfies", ignore=shutil.ignore_patterns("__pycache__"))
        target = repository / f"{name}_{role}"
        shutil.rmtree(target, ignore_errors=True)
        staging.rename(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/selfies_vae"))
    parser.add_argument("--repository", type=Path, default=Path("model_repository"))
    parser.add_argument("--id", required=True, help="public id of the model")
    parser.add_argument("--name", default="selfies_vae", help="first part of the names of the entries")
    arguments = parser.parse_args()
    arguments.repository.mkdir(parents=True, exist_ok=True)
    write(arguments.run, arguments.repository, arguments.id, arguments.name)


if __name__ == "__main__":
    main()
