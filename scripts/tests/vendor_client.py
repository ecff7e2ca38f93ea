"""What the vendor's clients and notebooks do, and print what came as JSON.

    python vendor_client.py triton GRPC_URL PYTRITON < {"model": {"input": [values, datatype]}}
    python vendor_client.py molmim LATENT_URL SMILES SIGMA

PYTRITON is the folder that nvidia-pytriton lies in. Run by test_vendor_clients.py in the environment of
requirements-rerank.txt.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import numpy as np
import requests


def triton(url: str, folder: str) -> dict[str, dict[str, list[int]]]:
    """The shapes that nvidia-pytriton's gRPC client gets of each model."""
    sys.path.append(folder)  # last, because its numpy is not this environment's
    from pytriton.client import DecoupledModelClient, ModelClient

    shapes = {}
    for model, inputs in json.load(sys.stdin).items():
        arrays = {
            name: np.char.encode(np.array(values), "utf-8").astype(object)
            if datatype == "bytes"
            else np.array(values, datatype)
            for name, (values, datatype) in inputs.items()
        }
        streams = model == "molecule_reader"
        with (DecoupledModelClient if streams else ModelClient)(
            f"grpc://{url}", model, init_timeout_s=60, inference_timeout_s=60
        ) as client:
            # The vendor's streaming client drops the content of the final event: here the last word.
            answer = list(client.infer_sample(**arrays))[-1] if streams else client.infer_batch(**arrays)
        shapes[model] = {name: list(array.shape) for name, array in answer.items()}
    return shapes


def molmim(url: str, smiles: str, sigma: str) -> list[list[str]]:
    """The notebooks' loop of controlled generation: CMA-ES with a user's oracle, over /hidden and /decode."""
    import cma

    start = np.array(requests.post(f"{url}/hidden", json={"sequences": [smiles]}, timeout=60).json()["hiddens"])
    strategy = cma.CMAEvolutionStrategy(start.squeeze(), float(sigma), {"popsize": 20, "seed": 1, "verbose": -9})
    generations = []
    for _ in range(3):
        points = strategy.ask()
        body = {"hiddens": [[list(point)] for point in points], "mask": [[True]] * len(points)}
        decoded = requests.post(f"{url}/decode", json=body, timeout=60).json()["generated"]
        # An oracle without chemistry: how close the length of the SMILES is to thirty.
        strategy.tell(points, [abs(len(text) - 30) for text in decoded])
        generations.append(decoded)
    return generations


if __name__ == "__main__":
    clients: dict[str, Callable[..., object]] = {"triton": triton, "molmim": molmim}
    print(json.dumps(clients[sys.argv[1]](*sys.argv[2:])))
