"""What the benchmarks of the APIs start: a gateway on free ports, and infinity on one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from environments import CACHE, ROOT, environment

APIS = ("latent", "masked", "embedding", "ranking", "chat")
PEER_MODEL, PEER_RANKER = "all-MiniLM-L6-v2", "ranker"


class Server:
    """A process that listens on `url`; its lines go to a file, which is shown should it fail."""

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
        while not answers(url):
            if self.process.poll() is not None or time.monotonic() > deadline:
                last = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
                raise RuntimeError(f"{self.name} did not start; its last lines:\n{last}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Ask the process to end, then make it and all it started."""
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
    """bin/retort in front of a running Triton.

    `url` is the address of the API, or the main port with `jobs`, the folder of the stored jobs.
    """
    main, *own = free_ports(1 + len(APIS))
    ports = {f"RETORT_{api.upper()}_PORT": str(port) for api, port in zip(APIS, own)}
    kept = {"RETORT_JOBS": "true", "RETORT_JOBS_DATA": jobs} if jobs else {"RETORT_JOBS": "false"}
    url, ready = (
        (f"http://127.0.0.1:{main}", f"/{api}/v1/health/ready")
        if jobs
        else (f"http://127.0.0.1:{own[APIS.index(api)]}", "/v1/health/ready")
    )
    return Server(
        "gateway",
        [str(ROOT / "bin" / "retort"), "serve"],
        {
            "RETORT_HOST": "127.0.0.1",
            "RETORT_PORT": str(main),
            **ports,
            **kept,
            "RETORT_TRITON_URL": triton,
            "RETORT_MODEL_REPOSITORY": str(repository),
        },
        url,
        ready,
        60,
    )


def infinity() -> Server:
    """infinity-emb with its ONNX engine on the same weights in fp32, as its own documentation starts it."""
    folder = CACHE / "peer" / PEER_MODEL
    if not (folder / "model.onnx").exists():
        in_peer("model.py", folder)
    return infinity_on(folder, PEER_MODEL, "--pooling-method", "mean")


def infinity_ranker(entry: Path) -> Server:
    """infinity-emb with its ONNX engine on the very graph of a ranking entry."""
    folder = CACHE / "peer" / PEER_RANKER
    shutil.rmtree(kept(PEER_RANKER), ignore_errors=True)  # of another ranker, perhaps
    in_peer("ranker.py", entry, folder)
    return infinity_on(folder, PEER_RANKER)


OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "INFINITY_ANONYMOUS_USAGE_STATS": "0",
}

# How long infinity may take to start, in seconds: it imports PyTorch, which a busy machine reads for minutes.
PEER_STARTS = 900


def kept(name: str) -> Path:
    """Where infinity keeps the graph it has optimised. It takes any that it finds there, so each model has a folder."""
    return CACHE / "huggingface" / name


def peer_python() -> Path:
    return environment(".venv-peer", ROOT / "scripts" / "bench" / "peer" / "requirements.txt")


def in_peer(script: str, *arguments: Path) -> None:
    subprocess.run(
        [peer_python(), ROOT / "scripts" / "bench" / "peer" / script, *arguments],
        env={**os.environ, **OFFLINE},
        check=True,
    )


def infinity_on(folder: Path, name: str, *more: str) -> Server:
    [port] = free_ports(1)
    # It looks the graph up by the path it finds, optimum by a bare name: the two agree in the folder itself.
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
        {**OFFLINE, "HF_HOME": str(kept(name))},
        f"http://127.0.0.1:{port}",
        "/health",
        PEER_STARTS,
        folder,
    )


def check_same(ours: str, theirs: str, model: str, peer_model: str) -> float:
    """The cosine of what both answer for a text: both serve the same weights."""
    text = "Why does aspirin dissolve in water?"
    a, b = vector(f"{ours}/v1/embeddings", model, text), vector(f"{theirs}/embeddings", peer_model, text)
    dot, norms = sum(x * y for x, y in zip(a, b)), (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
    if dot < 0.995 * norms:
        raise RuntimeError(f"the servers do not serve the same weights: cosine {dot / norms:.4f}")
    return dot / norms


def vector(url: str, model: str, text: str) -> list[float]:
    return ask(url, {"model": model, "input": text})["data"][0]["embedding"]


def check_same_ranker(ours: str, theirs: str, model: str) -> float:
    """The largest difference of the logits that both give passages."""
    query = "Which drug eases pain?"
    passages = [
        "Aspirin is an analgesic.",
        "The Rhine flows north past the old town, and further on through the plain.",
        "Pain",
    ]
    body = {"model": model, "query": {"text": query}, "passages": [{"text": p} for p in passages]}
    logits = {r["index"]: r["logit"] for r in ask(f"{ours}/v1/ranking", body)["rankings"]}
    peer_body = {"model": PEER_RANKER, "query": query, "documents": passages, "raw_scores": True}
    found = ask(f"{theirs}/rerank", peer_body)["results"]
    apart = max(abs(r["relevance_score"] - logits[r["index"]]) for r in found)
    if len(found) != len(passages) or apart > 0.01:
        raise RuntimeError(f"the servers do not serve the same weights: logits differ by {apart:.4f}")
    return apart


def ask(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on now, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def say(line: str) -> None:
    print(f"bench | {line}", file=sys.stderr, flush=True)
