"""Runs OpenAI's client with files and batches and prints the results by case, as one line of JSON.

.venv-openai/bin/python scripts/tests/batch_client.py http://127.0.0.1:8000 http://127.0.0.1:8003
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable

from openai import NotFoundError, OpenAI, OpenAIError

MODEL = "retort/minilm-embedqa-v2"
TEXTS = ["Caffeine is a stimulant.", "Aspirin is an analgesic.", "Which drug eases pain?"]
PATIENCE = 240
"""Seconds that a batch may take on a busy machine."""
MAIN, EMBEDDING = sys.argv[1:3]


def client(url: str = MAIN, key: str = "first") -> OpenAI:
    return OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


def lines(url: str, bodies: list[dict]) -> bytes:
    return "".join(
        json.dumps({"custom_id": f"line-{i}", "method": "POST", "url": url, "body": body}) + "\n"
        for i, body in enumerate(bodies)
    ).encode()


def upload(to: OpenAI, content: bytes):
    return to.files.create(file=("requests.jsonl", io.BytesIO(content)), purpose="batch")


def start(to: OpenAI, url: str, content: bytes, **more):
    return to.batches.create(input_file_id=upload(to, content).id, endpoint=url, completion_window="24h", **more)


def ended(to: OpenAI, batch_id: str):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        batch = to.batches.retrieve(batch_id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        time.sleep(0.1)
    raise TimeoutError(batch.to_json())


def read(to: OpenAI, file_id: str | None) -> list[dict]:
    return [json.loads(line) for line in to.files.content(file_id).text.splitlines()] if file_id else []


def refused(call: Callable[[], object]) -> list:
    try:
        call()
    except OpenAIError as error:
        return [type(error).__name__, error.code, error.param]
    return ["none"]


def embeddings() -> list:
    """A batch of embeddings: counts, ids in the order of the lines, a vector, the object of a line that fails."""
    ours = client()
    bodies: list[dict] = [{"model": MODEL, "input": text} for text in TEXTS] + [
        {"model": "none", "input": "x"},
        {"model": MODEL, "input": "x", "stream": True},
    ]
    batch = ended(ours, start(ours, "/v1/embeddings", lines("/v1/embeddings", bodies), metadata={"name": "first"}).id)
    output, errors = read(ours, batch.output_file_id), read(ours, batch.error_file_id)
    alone = ours.embeddings.create(model=MODEL, input=TEXTS[0], encoding_format="float").data[0].embedding
    vector = output[0]["response"]["body"]["data"][0]["embedding"]
    return [
        batch.status,
        batch.request_counts.to_dict(),
        batch.metadata,
        [line["custom_id"] for line in output],
        sorted(output[0]),
        max(abs(a - b) for a, b in zip(vector, alone)) < 1e-3,
        [
            [line["custom_id"], line["response"]["status_code"], line["response"]["body"]["error"]["code"]]
            for line in errors
        ],
        ours.files.retrieve(batch.output_file_id).purpose,
    ]


def other_endpoints() -> list:
    """Batches for other APIs from the main port, and on an API's own port."""
    ours, own = client(), client(EMBEDDING)
    bodies: dict[str, dict] = {
        "/v1/ranking": {
            "model": "retort/rankqa-minilm-v2",
            "query": {"text": TEXTS[2]},
            "passages": [{"text": text} for text in TEXTS[:2]],
        },
        "/v1/chat/completions": {
            "model": "retort/molecule-reader-v8",
            "messages": [{"role": "user", "content": "What can you do?"}],
        },
        "/latent/sampling": {"sequences": ["CCO"]},
        "/latent/hidden": {"sequences": ["CCO"]},
        "/latent/embedding": {"sequences": ["CCO"]},
        "/masked/generate": {"smiles": "C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]", "num_molecules": 1},
    }
    batches = {url: start(ours, url, lines(url, [body])) for url, body in bodies.items()}
    completed = {url: ended(ours, batch.id).request_counts.completed for url, batch in batches.items()}
    wrong = refused(lambda: start(own, "/v1/ranking", b"x"))
    there = ended(
        own,
        start(
            own, "/v1/embeddings", lines("/v1/embeddings", [{"model": MODEL, "input": "x", "input_type": "query"}])
        ).id,
    )
    return [completed, wrong, there.request_counts.completed]


def wrong_files() -> list:
    """Files that fail a batch, with code and line of each error, and requests that are refused at once."""
    ours = client()
    good = json.loads(lines("/v1/embeddings", [{"model": MODEL, "input": "x"}]))
    broken = [
        json.dumps(good),
        "no json",
        json.dumps(good),
        json.dumps({**good, "url": "/v1/ranking", "custom_id": "a"}),
        "",
        json.dumps({**good, "method": "GET", "custom_id": "b"}),
        json.dumps({k: v for k, v in good.items() if k != "custom_id"}),
        "[1]",
    ]
    batch = ended(ours, start(ours, "/v1/embeddings", "\n".join(broken).encode()).id)
    empty = ended(ours, start(ours, "/v1/embeddings", b"\n\n").id)
    return [
        batch.status,
        [[e.code, e.line, e.param] for e in batch.errors.data],
        [e.code for e in empty.errors.data],
        refused(lambda: start(ours, "/v1/nothing", b"x")),
        refused(
            lambda: ours.batches.create(input_file_id="file-none", endpoint="/v1/embeddings", completion_window="24h")
        ),
        refused(lambda: ours.files.create(file=("x", io.BytesIO(b"x")), purpose="assistants")),
        refused(lambda: ours.batches.retrieve("batch_none")),
    ]


def lists() -> list:
    """Pages of files and batches, also after deletions."""
    ours = client(key="second")
    ids = [upload(ours, f"content {i}".encode()).id for i in range(5)]
    page = ours.files.list(limit=2)
    pages = [file.id for file in page]  # the client requests the next pages by itself
    first = [[file.id for file in page.data], page.has_more]
    text = ours.files.content(ids[3]).text
    deleted = ours.files.delete(ids[3]).deleted
    batches = [
        ours.batches.create(input_file_id=ids[0], endpoint="/v1/embeddings", completion_window="24h").id
        for _ in range(3)
    ]
    for batch in batches:
        ended(ours, batch)
    listed = [batch.id for batch in ours.batches.list(limit=1)]
    expiring = ours.files.create(
        file=("x", io.BytesIO(b"x")), purpose="batch", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    return [
        pages == ids[::-1],
        first == [ids[:2:-1], True],
        text,
        deleted,
        refused(lambda: ours.files.retrieve(ids[3])),
        listed == batches[::-1],
        [file.id for file in ours.files.list(order="asc", purpose="batch")][:4] == [*ids[:3], ids[4]],
        expiring.expires_at - expiring.created_at,
        refused(lambda: ours.files.list(limit=0)),
        refused(lambda: ours.files.list(after="file-none")),
    ]


def other_key() -> list:
    """Files and batches of one key are invisible to another."""
    first, second = client(), client(key="second")
    file = upload(first, lines("/v1/embeddings", [{"model": MODEL, "input": "x"}]))
    batch = ended(
        first, first.batches.create(input_file_id=file.id, endpoint="/v1/embeddings", completion_window="24h").id
    )
    calls = [
        lambda: second.files.retrieve(file.id),
        lambda: second.files.content(batch.output_file_id),
        lambda: second.files.delete(file.id),
        lambda: second.batches.retrieve(batch.id),
        lambda: second.batches.cancel(batch.id),
        lambda: second.batches.create(input_file_id=file.id, endpoint="/v1/embeddings", completion_window="24h"),
    ]
    return [
        [refused(call)[0] for call in calls] == [NotFoundError.__name__] * len(calls),
        file.id in [f.id for f in second.files.list()],
        refused(lambda: client(key="none").files.list())[0],
    ]


def cancelled() -> list:
    """A cancelled batch keeps its answers; a batch that has ended cannot be cancelled."""
    ours = client()
    batch = start(
        ours, "/v1/embeddings", lines("/v1/embeddings", [{"model": MODEL, "input": f"text {i}"} for i in range(5000)])
    )
    while not (batch := ours.batches.retrieve(batch.id)).request_counts.completed:
        time.sleep(0.05)
    status = ours.batches.cancel(batch.id).status
    held = refused(lambda: ours.files.delete(batch.input_file_id))[0] if status == "cancelling" else status
    batch = ended(ours, batch.id)
    output = read(ours, batch.output_file_id)
    ids = [line["custom_id"] for line in output]
    return [
        status,
        held,
        batch.status,
        0 < len(output) < 5000,
        len(set(ids)) == len(ids) == batch.request_counts.completed,
        batch.error_file_id,
        refused(lambda: ours.batches.cancel(batch.id))[0],
    ]


if __name__ == "__main__":
    cases = [embeddings, other_endpoints, wrong_files, lists, other_key, cancelled]
    results: dict[str, object] = {}
    for case in cases:
        try:
            began = time.monotonic()
            results[case.__name__] = case()
            print(f"{case.__name__}: {time.monotonic() - began:.1f} s", file=sys.stderr)
        except Exception as error:  # shown by the test
            results[case.__name__] = f"{type(error).__name__}: {error}"
    print(json.dumps(results))
