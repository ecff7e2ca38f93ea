"""The servers that the benchmarks start on free ports: the gateway, and infinity-emb as its peer."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from environments import CACHE, ROOT, environment

APIS = ("latent", "masked", "embedding", "ranking", "chat")
PEER_MODEL, PEER_RANKER = "all-MiniLM-L6-v2", "ranker"


class Server:
    """A server process with the base address `url`.

    It is ready when the path `ready` answers, within `seconds`. Its output goes to a log file, whose last lines are in
    the error if it does not start.
    """

    def __init__(
        self,
        name: str,
        command: list[str],
        variables: dict[str, str],
        url: str,
        ready: str,
        seconds: float,
        folder: Path = ROOT,
    ) -> None:
        self.name, self.url = name, url
        CACHE.mkdir(parents=True, exist_ok=True)
        self.log = CACHE / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self.wait(url + ready, seconds)
        except BaseException:
            self.stop()
            raise

    def wait(self, url: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_ready(url):
            if self.process.poll() is not None or time.monotonic() > deadline:
                last = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
                raise RuntimeError(f"{self.name} did not start; its last lines:\n{last}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Sends SIGTERM to the process and, when it has ended or after 40 s, SIGKILL to its process group."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def gateway(
    triton: str, api: str = "embedding", jobs: str = "", repository: Path = ROOT / "model_repository"
) -> Server:
    """Starts bin/retort in front of a running Triton.

    The server's `url` is the port of the API. With `jobs`, a folder for the store of jobs, it is the main port.
    """
    main_port, *api_ports = free_ports(1 + len(APIS))
    settings = {
        "RETORT_HOST": "127.0.0.1",
        "RETORT_PORT": str(main_port),
        "RETORT_TRITON_URL": triton,
        "RETORT_MODEL_REPOSITORY": str(repository),
        "RETORT_JOBS": "true" if jobs else "false",
    }
    for name, port in zip(APIS, api_ports):
        settings[f"RETORT_{name.upper()}_PORT"] = str(port)
    url, ready = f"http://127.0.0.1:{api_ports[APIS.index(api)]}", "/v1/health/ready"
    if jobs:
        settings["RETORT_JOBS_DATA"] = jobs
        url, ready = f"http://127.0.0.1:{main_port}", f"/{api}/v1/health/ready"
    return Server("gateway", [str(ROOT / "bin" / "retort"), "serve"], settings, url, ready, 60)


def infinity() -> Server:
    """Starts infinity-emb with its ONNX engine on the gateway's weights in fp32, as its documentation says."""
    folder = CACHE / "peer" / PEER_MODEL
    if not (folder / "model.onnx").exists():
        run_for_peer("model.py", folder)
    return start_infinity(folder, PEER_MODEL, "--pooling-method", "mean")


def infinity_ranker(entry: Path) -> Server:
    """Starts infinity-emb with its ONNX engine on the graph of a ranking entry."""
    folder = CACHE / "peer" / PEER_RANKER
    shutil.rmtree(graph_cache(PEER_RANKER), ignore_errors=True)  # it may be of another ranker
    run_for_peer("ranker.py", entry, folder)
    return start_infinity(folder, PEER_RANKER)


OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "INFINITY_ANONYMOUS_USAGE_STATS": "0",
}

PEER_START_SECONDS = 900
"""Upper bound of infinity's start: it imports PyTorch, which takes minutes on a busy machine."""


def graph_cache(name: str) -> Path:
    """The folder with the graph that infinity has optimised. It uses any graph there, so each model has a folder."""
    return CACHE / "huggingface" / name


def peer_python() -> Path:
    return environment(".venv-peer", ROOT / "scripts" / "bench" / "peer" / "requirements.txt")


def run_for_peer(script: str, *arguments: Path) -> None:
    """Runs a script of bench/peer in the peer's environment."""
    subprocess.run(
        [peer_python(), ROOT / "scripts" / "bench" / "peer" / script, *arguments],
        env={**os.environ, **OFFLINE},
        check=True,
    )


def start_infinity(folder: Path, name: str, *more: str) -> Server:
    [port] = free_ports(1)
    # infinity needs the path of the graph, and optimum its bare name: in the folder itself both are the same.
    command = [
        str(peer_python().parent / "infinity_emb"),
        "v2",
        "--model-id",
        ".",
        "--served-model-name",
        name,
        "--engine",
        "optimum",
        "--device",
        "cpu",
        "--no-bettertransformer",
        *more,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    return Server(
        "infinity",
        command,
        {**OFFLINE, "HF_HOME": str(graph_cache(name))},
        f"http://127.0.0.1:{port}",
        "/health",
        PEER_START_SECONDS,
        folder,
    )


def check_same_model(ours: str, theirs: str, model: str, peer_model: str) -> float:
    """Returns the cosine of both servers' vectors of a text. RuntimeError: they do not serve the same weights."""
    text = "Why does aspirin dissolve in water?"
    a, b = vector(f"{ours}/v1/embeddings", model, text), vector(f"{theirs}/embeddings", peer_model, text)
    dot, norms = sum(x * y for x, y in zip(a, b)), (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    if dot < 0.995 * norms:
        raise RuntimeError(f"the servers do not serve the same weights: cosine {dot / norms:.4f}")
    return dot / norms


def vector(url: str, model: str, text: str) -> list[float]:
    return post(url, {"model": model, "input": text})["data"][0]["embedding"]


def check_same_ranker(ours: str, theirs: str, model: str) -> float:
    """Returns the largest difference of both servers' logits. RuntimeError: they do not serve the same weights."""
    query = "Which drug eases pain?"
    passages = [
        "Aspirin is an analgesic.",
        "The Rhine flows north past the old town, and further on through the plain.",
        "Pain",
    ]
    body = {"model": model, "query": {"text": query}, "passages": [{"text": p} for p in passages]}
    logits = {r["index"]: r["logit"] for r in post(f"{ours}/v1/ranking", body)["rankings"]}
    peer_body = {"model": PEER_RANKER, "query": query, "documents": passages, "raw_scores": True}
    results = post(f"{theirs}/rerank", peer_body)["results"]
    difference = max(abs(r["relevance_score"] - logits[r["index"]]) for r in results)
    if len(results) != len(passages) or difference > 0.01:
        raise RuntimeError(f"the servers do not serve the same weights: logits differ by {difference:.4f}")
    return difference


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False


def free_ports(count: int) -> list[int]:
    """Returns different ports that are not in use now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
