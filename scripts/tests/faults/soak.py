"""Mixed load with faults: killed processes of models and servers, paused servers, swapped models, disconnected clients.
Prints failures by kind, the number of Tritons that died by themselves, and memory, goroutines and descriptors at the
start and the end.

    .venv-tests/bin/python scripts/tests/faults/soak.py --minutes 30      (make soak)

The gateway has two Tritons. A failure is a status other than 200 for a request that should be served; it is listed with
the injected fault. Requests in flight on a killed Triton are retried once on the other one and should not fail.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import requests

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import CHAT, EMBEDDING, RANKING, Memory, connect, head, program
from fuzz import fuzz
from servers import APIS, ROOT, Gateway, Triton, kill
from test_sick_models import stubs

LEAVERS = [
    ("latent", "/generate", b'{"smi":"CC(Cc1ccc(cc1)C(C(=O)O)C)C","particles":50,"iterations":50,"stream":true}'),
    (
        "chat",
        "/v1/chat/completions",
        b'{"model":"%s","messages":[{"role":"user","content":"What is caffeine?"}],"stream":true}' % CHAT.encode(),
    ),
    ("embedding", "/v1/embeddings", b'{"model":"%s","input":["What eases pain?"]}' % EMBEDDING.encode()),
]
LOADS = [
    ("embedding", "/v1/embeddings", {"model": EMBEDDING, "input": "What eases pain?"}),
    ("embedding", "/v1/embeddings", {"model": EMBEDDING, "input": [f"text number {i}" for i in range(64)]}),
    (
        "ranking",
        "/v1/ranking",
        {
            "model": RANKING,
            "query": {"text": "Which drug eases pain?"},
            "passages": [{"text": f"Drug {i}."} for i in range(16)],
        },
    ),
    ("latent", "/hidden", {"sequences": ["CCO", "CC(Cc1ccc(cc1)C(C(=O)O)C)C"]}),
    ("latent", "/sampling", {"sequences": ["CC(Cc1ccc(cc1)C(C(=O)O)C)C"], "num_molecules": 2}),
    ("masked", "/generate", {"smiles": "c1ccccc1.[*{10-15}]", "num_molecules": 2}),
    (
        "chat",
        "/v1/chat/completions",
        {"model": CHAT, "messages": [{"role": "user", "content": "What is aspirin?"}], "stop": ["s", "C"]},
    ),
]


class Soak:
    def __init__(self, gateway: Gateway, tritons: list[Triton], repository: Path, seed: int) -> None:
        self.gateway = gateway
        self.tritons = tritons
        self.repository = repository
        self.dice = random.Random(seed)
        self.fault = "none"
        self.ended = threading.Event()
        self.answers: Counter[tuple[str, str, str]] = Counter()
        self.killed = 0
        self.lock = threading.Lock()

    def client(self, load: tuple[str, str, dict]) -> None:
        api, path, body = load
        session = requests.Session()
        while not self.ended.wait(0.02):
            fault = self.fault
            try:
                outcome = str(session.post(self.gateway.urls[api] + path, json=body, timeout=180).status_code)
            except requests.RequestException as error:
                outcome = type(error).__name__
            with self.lock:
                self.answers[api, outcome, fault] += 1

    def leaver(self, api: str, path: str, text: bytes) -> None:
        """A client that disconnects during its request or the answer."""
        while not self.ended.wait(0.3):
            with connect(self.gateway.urls[api]) as sock:
                sock.sendall(head(path, len(text)) + text[: random.choice([10, len(text)])])
                sock.settimeout(random.uniform(0.01, 0.2))
                try:
                    sock.recv(100)
                except (TimeoutError, ConnectionResetError):
                    continue

    def inject(self) -> None:
        """One fault, and a pause in which everything should recover."""
        server = self.dice.choice(self.tritons)
        name = self.dice.choice(
            ["kill a model's process", "kill a Triton", "stop a Triton for 3 s", "swap a model", "load"]
        )
        self.fault = name
        if name == "kill a model's process":
            for pid in stubs(server, self.dice.choice(["minilm_embed", "minilm_rank_qa", "latent_decoder", "masked"]))[
                :1
            ]:
                kill(pid)
        elif name == "kill a Triton":
            for pid in server.processes():
                if Path(f"/proc/{pid}/comm").read_text().strip() == "tritonserver":
                    kill(pid)
                    self.killed += 1
        elif name == "stop a Triton for 3 s":
            servers = [
                pid for pid in server.processes() if Path(f"/proc/{pid}/comm").read_text().strip() == "tritonserver"
            ]
            for pid in servers:
                signal_to(pid, signal.SIGSTOP)
            time.sleep(3)
            for pid in servers:
                signal_to(pid, signal.SIGCONT)
        elif name == "swap a model":
            (self.repository / "minilm_embed_qa" / "config.pbtxt").touch()
        time.sleep(20)

    def run(self, minutes: float) -> None:
        threads = [threading.Thread(target=self.client, args=(load,), daemon=True) for load in LOADS]
        threads += [threading.Thread(target=self.leaver, args=leaver, daemon=True) for leaver in LEAVERS]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 60 * minutes
        while time.monotonic() < until:
            self.inject()
            print(f"{(until - time.monotonic()) / 60:5.1f} min left  {self.fault:24}  {self.state()}", flush=True)
        self.ended.set()
        for thread in threads:
            thread.join(200)

    def state(self) -> str:
        """Memory, goroutines and descriptors of the gateway."""
        pid = program(self.gateway)
        metrics = requests.get(self.gateway.url + "/metrics", timeout=60).text
        goroutines = re.search(r"^go_goroutines (\d+)", metrics, re.MULTILINE).group(1)
        descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return f"{Memory(pid).now():.0f} MiB, {goroutines} goroutines, {descriptors} descriptors"


def signal_to(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--requests", type=int, default=100_000, help="requests of the fuzzer, at the end; 0 for none")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder, "models")
        shutil.copytree(ROOT / "model_repository", repository)
        with (
            Triton(repository) as one,
            Triton(repository) as two,
            Gateway(f"{one.url},{two.url}", repository) as gateway,
        ):
            gateway.wait_ready(*APIS)
            soak = Soak(gateway, [one, two], repository, options.seed)
            initial_state = soak.state()
            soak.run(options.minutes)
            findings = fuzz(gateway.urls, options.requests, options.seed, 5.0) if options.requests else 0
            time.sleep(5)
            print(f"at the start: {initial_state}\nat the end:   {soak.state()}\n")
            for (api, outcome, fault), count in sorted(soak.answers.items()):
                print(f"{api:10} {outcome:20} {fault:24} {count}")
            deaths = sum(t.output().count("restarting it") for t in (one, two)) - soak.killed
            print(f"Tritons that died by themselves: {deaths}")
            return 1 if findings or deaths else 0


if __name__ == "__main__":
    sys.exit(main())
