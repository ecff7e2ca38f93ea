"""Entries of embedding models and rankers: stored weights, graphs, warm starts and cards. Run by `make test-train`."""

import json
import shutil
import sys
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
import tiny_entries
import torch
from onnx import numpy_helper

from scripts.lint import cards, manifest
from scripts.train import collection, stored
from scripts.train.embedding import __main__ as embedding
from scripts.train.embedding import examples, report, twomode, vectors
from scripts.train.embedding import export as embedding_export
from scripts.train.ranking import __main__ as ranking
from scripts.train.ranking import export as ranking_export
from scripts.train.ranking import pairs, ranker
from scripts.train.ranking import report as ranking_report

SHIPPED = tiny_entries.REPOSITORY
EXPORTS = {"minilm_embed_qa": embedding_export, "minilm_rank_qa": ranking_export}
TEXTS = ("What is a retort?", "A retort is a vessel in which substances are distilled, such as alcohol.", "Tea")


def call(monkeypatch, main, *arguments):
    monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", *map(str, arguments)])
    main()


def constants(file):
    """Returns the numbers of a graph, without names: torch numbers them."""
    tensors = (numpy_helper.to_array(t) for t in onnx.load(file).graph.initializer if "invariant/" not in t.name)
    return Counter((str(t.dtype), t.shape, t.tobytes()) for t in tensors)


def outputs(file, feed):
    names = (feed[key].numpy() for key in range(3))
    return onnxruntime.InferenceSession(str(file)).run(None, dict(zip(embedding_export.INPUTS, names)))[0]


def feeds(name):
    tokenizer = vectors.load_tokenizer(SHIPPED / name / "tokenizer.json")
    if name == "minilm_rank_qa":
        query, *passages = vectors.token_ids(tokenizer, TEXTS, 128)
        return pairs.stack([pairs.join(query, passage, 512) for passage in passages])
    ids, mask = vectors.pad(vectors.token_ids(tokenizer, [twomode.QUERY_PREFIX + text for text in TEXTS], 128))
    return ids, mask, torch.zeros_like(ids)


@pytest.fixture
def copied(tmp_path):
    """The shipped entries of embedding and ranking, without their graphs."""
    for name in EXPORTS:
        shutil.copytree(SHIPPED / name, tmp_path / name, ignore=shutil.ignore_patterns("*.onnx"))
    return tmp_path


@pytest.mark.parametrize("name", EXPORTS)
def test_the_stored_weights_give_the_shipped_graph(name, copied):
    """The same constants, and the same outputs bit for bit."""
    EXPORTS[name].main(["--repository", str(copied), "--entry", name])
    made, shipped = (folder / name / "1" / "model.onnx" for folder in (copied, SHIPPED))
    assert constants(made) == constants(shipped)
    feed = feeds(name)
    np.testing.assert_array_equal(outputs(made, feed), outputs(shipped, feed))


def test_the_network_of_an_entry_computes_as_its_graph():
    with torch.inference_mode():
        found = twomode.load(SHIPPED / "minilm_embed_qa")(*feeds("minilm_embed_qa"))
        logits = ranker.load(SHIPPED / "minilm_rank_qa")(*feeds("minilm_rank_qa"))
    for name, value in (("minilm_embed_qa", found), ("minilm_rank_qa", logits)):
        wanted = outputs(SHIPPED / name / "1" / "model.onnx", feeds(name))
        np.testing.assert_allclose(value.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_a_ranker_keeps_only_its_own_weights(copied):
    again = copied / "again"
    shutil.copytree(copied / "minilm_rank_qa", again)
    model = ranker.load(copied / "minilm_rank_qa")
    ranker.store(again, model, copied / "minilm_embed_qa", is_int8=True)
    assert (again / stored.WEIGHTS).stat().st_size < 4_000_000
    for name, value in ranker.load(again).state_dict().items():
        assert torch.allclose(value, model.state_dict()[name], rtol=1e-6, atol=0), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: (e / stored.WEIGHTS).unlink(), "model.safetensors: "),
        (lambda e: (e / stored.WEIGHTS).write_bytes(b"damaged"), "model.safetensors: "),
        (lambda e: (e / stored.CONFIG).write_text("{"), "config.json: "),
        (lambda e: (e / stored.CONFIG).write_text("[]"), "config.json: an object is expected"),
        (
            lambda e: edit(e, model_type="else"),
            "do not fit: layers.0.attention_norm.bias is missing|not the configuration of a ranker",
        ),
        (lambda e: edit(e, hidden_size=-1, share="low"), "hidden_size must be|share must be finite numbers"),
        (lambda e: edit(e, hidden_size=0, share=float("nan")), "hidden_size must be|share must be finite numbers"),
        (
            lambda e: edit(e, hidden_size=96, embedding={"entry": "minilm_embed_qa", "sha256": "0"}),
            "encoder.layers.0.attention_norm.bias is .384,., not .96,.|needs minilm_embed_qa with .* of SHA-256 0",
        ),
        (lambda e: edit(e, num_hidden_layers=7, embedding={"entry": "../x"}), "layers.6|must be the name of an entry"),
        (lambda e: edit(e, hidden_size=2**23, embedding={"entry": ".."}), "do not fit|must be the name of an entry"),
        (lambda e: edit(e, type_vocab_size=3, embedding={"entry": "a\0b"}), "do not fit|must be the name of an entry"),
    ],
)
def test_a_wrong_entry_is_named(change, message, copied):
    for name, load in (("minilm_rank_qa", ranker.load), ("minilm_embed_qa", twomode.load)):
        change(copied / name)
        with pytest.raises(ValueError, match=message):
            load(copied / name)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff", b'{"version": "1.0", "model": {"type": "WordPiece"}}'])
def test_a_wrong_tokenizer_is_named(content, tmp_path):
    if content is not None:
        (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(ValueError, match="tokenizer.json: "):
        vectors.load_tokenizer(tmp_path / "tokenizer.json")


def edit(entry, **values):
    config = json.loads((entry / stored.CONFIG).read_text())
    (entry / stored.CONFIG).write_text(json.dumps(config | values))


TINY = "--config cpu --batch 8 --threads 1 --device cpu --precision fp32".split()
TREATMENTS = ("aspirin", "rest", "water", "cold air", "warm tea", "surgery", "light", "a diet", "sleep", "honey")


@pytest.fixture
def data(tmp_path, monkeypatch):
    rows = [
        {
            "query": f"How is disease number {i} treated?",
            "passage": f"Disease {i} is treated with {TREATMENTS[i % 10]} every {i} hours.",
            "title": f"Disease {i}",
        }
        for i in range(90)
    ]
    (tmp_path / "own.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    call(monkeypatch, collection.main, tmp_path / "own.jsonl", "--data", tmp_path / "data")
    return tmp_path / "data"


def test_an_own_entry_keeps_small_changes(copied):
    """fp16 keeps changes of a tenth of a step of int8, of which int8 keeps none. Torch and the graph agree on both."""
    name = "minilm_embed_qa"
    changes = {}
    for is_int8 in (False, True):
        model = twomode.load(copied / name)
        start = model.encoder.layers[3].up.weight.detach().clone()
        step = stored.tensors(copied / name)[f"encoder.layers.3.up.weight{stored.STEP}"]
        sign = torch.randn(start.shape, generator=torch.Generator().manual_seed(1)).sign()
        model.encoder.layers[3].up.weight.data += 0.1 * step * sign
        entry = copied / f"own_{is_int8}"
        entry.mkdir()
        twomode.store(entry, model, is_int8)
        embedding_export.write_onnx(entry)
        served = twomode.load(entry)
        changes[is_int8] = ((served.encoder.layers[3].up.weight - start) / (0.1 * step * sign)).mean().item()
        with torch.inference_mode():
            wanted = served(*feeds(name)).numpy()
        np.testing.assert_allclose(outputs(entry / "1" / "model.onnx", feeds(name)), wanted, rtol=1e-4, atol=1e-5)
    assert changes[False] == pytest.approx(1, abs=0.01) and abs(changes[True]) < 0.01


def test_own_models_are_trained_exported_and_started_from(data, tmp_path, monkeypatch):
    """MiniLM, an embedding model of it, a ranker on that, and both trained further."""
    minilm, repository, runs = tmp_path / "minilm", tmp_path / "repository", ["--runs", tmp_path / "runs"]
    tiny_entries.write_minilm(minilm)
    out = tmp_path / "runs" / "own-examples"
    arguments = "--data", data, "--sets", "own", "--threads", 1
    call(monkeypatch, examples.main, *arguments, "--start", minilm, "--out", out)
    training = [*TINY, *runs, "--data", data, "--samples", 16, "--eval-samples", 8]
    call(monkeypatch, embedding.main, *training, "--name", "one", "--start", minilm, "--examples", out)
    measure = ["--data", data, "--threads", 1]
    run = tmp_path / "runs" / "one"
    assert any("ndcg10" in json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines())
    call(monkeypatch, report.main, "--run", run, *measure, "--split", "dev", "--alpha", 0.5)
    assert not (run / report.NAME).exists()
    export = ["--repository", str(repository), "--run", str(run)]
    with pytest.raises(SystemExit, match="export: .*figures.json: no such file; run the report first"):
        embedding_export.main([*export, "--id", "own/embedding-v1", "--entry", "own_embedding"])
    call(monkeypatch, report.main, "--run", run, *measure, "--alpha", 0.5)
    embedding_export.main([*export, "--id", "own/embedding-v1", "--entry", "own_embedding"])
    entry = repository / "own_embedding"
    text = (entry / "CARD.md").read_text()
    assert (
        cards.find_heading_problems(text) == [] and "16 samples in 2 steps of 8" in text and "license: unknown" in text
    )
    assert (
        "`own.passages.jsonl.gz` | 90 |" in text
        and "Trained from `minilm`" in text
        and "trained ones (1): 0.5." in text
    )
    assert text.count("    python -m program ") == 2 and str(tmp_path) not in text
    assert "the best evaluation (`ndcg10`), after " in " ".join(text.split()) and (entry / "1/model.onnx").exists()

    # A ranker on it.
    call(monkeypatch, ranking.main, *training, "--name", "two", "--embedding", entry, "--examples", out)
    run = tmp_path / "runs" / "two"
    call(monkeypatch, ranking_report.main, "--run", run, *measure)
    ranking_export.main(
        ["--repository", str(repository), "--run", str(run), "--id", "own/ranking-v1", "--entry", "own_ranking"]
    )
    config = stored.config(repository / "own_ranking")
    assert config["embedding"] == {"entry": "own_embedding", "sha256": stored.digest(entry)}
    assert not [name for name in stored.tensors(repository / "own_ranking") if name.startswith("encoder.")]
    text = (repository / "own_ranking" / "CARD.md").read_text()
    assert cards.find_heading_problems(text) == [] and "| `own` | " in text and "pipeline_tag: text-ranking" in text
    found = manifest.read_entries(repository)
    assert {name: one["id"] for name, one in found.items()} == {
        "own_embedding": "own/embedding-v1",
        "own_ranking": "own/ranking-v1",
    }

    # Both trained further, from their entries. The examples are mined again, with other vectors.
    further = tmp_path / "runs" / "further-examples"
    call(monkeypatch, examples.main, *arguments, "--start", entry, "--out", further)
    for main, start in ((embedding.main, entry), (ranking.main, repository / "own_ranking")):
        name = f"further-{start.name}"
        call(monkeypatch, main, *training, "--name", name, "--start", start, "--examples", further)
    with pytest.raises(SystemExit, match="was mined with another model than"):
        call(monkeypatch, embedding.main, *training, "--name", "three", "--start", entry, "--examples", out)
    before = ranker.load(repository / "own_ranking")
    after = ranking_report.trained_ranker(tmp_path / "runs" / "further-own_ranking", 0.0)
    assert all(torch.equal(value, before.state_dict()[name]) for name, value in after.state_dict().items())

    # A ranker needs the very weights of its embedding model.
    tiny_entries.write_minilm(tmp_path / "other", seed=2)
    twomode.store(entry, twomode.load(tmp_path / "other"))
    with pytest.raises(SystemExit, match="own_ranking/config.json: the ranker needs own_embedding with"):
        ranking_export.main(["--repository", str(repository), "--entry", "own_ranking"])
