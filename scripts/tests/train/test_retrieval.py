"""The retrieval models' parts: pairs, samplers, the loss of modes, the ranker's evidence and its graph."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest
import torch

from scripts.eval import retrieval, retrieval_models
from scripts.train import checkpoint
from scripts.train.embedding import bert, bm25, rotation, twomode, vectors
from scripts.train.embedding.__main__ import Sampler
from scripts.train.embedding.corpora import Collection, Query
from scripts.train.embedding.examples import Mined
from scripts.train.embedding.export import INPUTS, graph
from scripts.train.ranking import cached_encoder, intent_projection, pairs, ranker, short
from scripts.train.ranking.__main__ import loss as list_loss
from scripts.train.ranking.export import hidden_mask

SHAPE = bert.Shape(vocab_size=2048, hidden_size=384, num_hidden_layers=2, num_attention_heads=12, intermediate_size=64)


class Letters:
    """Stands in for a tokenizer: one id a character, between [CLS] 101 and [SEP] 102."""

    def encode_batch(self, texts):
        return [type("Encoding", (), {"ids": [101, *(1000 + ord(c) % 900 for c in t), 102]}) for t in texts]


def mined() -> Mined:
    rows = np.eye(384, dtype=np.float32)
    return Mined(
        "made",
        [f"passage {i}" for i in range(12)],
        rows[:12],
        [f"query {i}" for i in range(8)],
        rows[:8],
        list(range(8)),
        [[(i + 1) % 12, (i + 2) % 12] for i in range(8)],
        [f"g{i // 2}" for i in range(12)],
    )


def two_mode() -> twomode.TwoMode:
    torch.manual_seed(3)
    model = twomode.TwoMode(bert.Encoder(SHAPE), torch.linalg.qr(torch.randn(384, 384)).Q)
    return model.eval()


QUERY, PASSAGE = [1010, 1011], [1012, 1013, 1014]  # ids of the prefixes, of different lengths on purpose


def model() -> ranker.Ranker:
    two = two_mode()
    prefixes = (torch.tensor(QUERY), torch.tensor(PASSAGE))
    return ranker.Ranker(
        two.encoder,
        two.turn.weight.detach(),
        torch.randn(384, 384),
        torch.rand(2048) * 5,
        prefixes,
        ranker.Reading(together=1),
    ).eval()


def test_a_pair_keeps_its_query_and_cuts_the_passage():
    row, first = pairs.join([101, 7, 8, 102], [101, 20, 21, 22, 23, 102], 7)
    assert (row, first) == ([101, 7, 8, 102, 20, 21, 102], 4)
    whole, _ = pairs.join([101, 7, 102], [101, 20, 102], 7)
    assert whole == [101, 7, 102, 20, 102]


def test_batches_by_length_hold_every_row_once_within_the_budget():
    lengths = [5, 90, 3, 40, 41, 8, 7, 300]
    batches = vectors.batches_by_length(lengths, 100)
    assert sorted(i for b in batches for i in b) == list(range(8))
    assert all(len(b) == 1 or max(lengths[i] for i in b) * len(b) <= 100 for b in batches)


def test_bm25_prefers_the_rare_word():
    scores = bm25.Index(["the cat sat", "the dog sat", "the dog ran far"]).scores("the cat")
    assert scores.argmax() == 0 and scores[1] < scores[0]


def test_the_batch_of_a_step_depends_on_seed_and_step_only():
    def sampler(seed):
        return Sampler([mined()], Letters(), 4, 1, 12, 6, 32, 32, seed)

    one, other = sampler(5), sampler(5)
    other(0)
    assert torch.equal(one(3).queries[0], other(3).queries[0]) and torch.equal(one(3).encoded[0], other(3).encoded[0])
    assert any(not torch.equal(sampler(6)(s).queries[0], one(s).queries[0]) for s in range(4))


def test_candidates_of_the_targets_group_do_not_count_as_wrong():
    made = mined()
    numbers, target, allowed = twomode.draw_candidates(made, np.arange(8), 1, 99, np.random.default_rng(1))
    assert sorted(numbers) == list(range(12))
    for query in range(8):
        assert numbers[target[query]] == made.positives[query]
        wrong_groups = {int(numbers[c]) for c in range(12) if not allowed[query, c]}
        assert wrong_groups == {query ^ 1}  # the query with the same answer


def test_the_rotation_keeps_whole_cosines():
    turned = rotation.fit([mined()], 1, steps=3, batch=4, bank=8)
    assert torch.allclose(turned @ turned.T, torch.eye(384), atol=1e-4)


def test_the_mode_loss_is_0_beyond_its_margin():
    torch.manual_seed(1)
    two = twomode.TwoMode(bert.Encoder(SHAPE))
    batch = Sampler([mined()], Letters(), 4, 1, 12, 6, 32, 32, 1)(0)

    def loss(mode, margin):
        return float(twomode.loss(two, batch, twomode.Weights(0.0, mode, margin))[0].detach())

    assert loss(1.0, -100.0) == pytest.approx(loss(0.0, 0.0))
    assert loss(1.0, 5.0) > loss(0.0, 0.0) + 1


def test_a_logit_does_not_depend_on_its_batch():
    rows = [([101, 1500, 102, 1500, 1600, 102], 3), ([101, 1700, 1701, 1702, 102, *range(1000, 1040), 102], 5)]
    with torch.no_grad():
        together = model()(*pairs.stack(rows))
        alone = torch.cat([model()(*pairs.stack([r])) for r in rows])
    assert torch.allclose(together, alone, atol=1e-4)


def test_the_ranker_computes_the_cosine_of_the_embedding():
    """With all other weights 0, the logit is the cosine of the two-mode model, which encodes each text alone."""
    read, two = model(), two_mode()
    with torch.no_grad():
        read.evidence.zero_(), read.offset.zero_()
        read.evidence[list(ranker.EVIDENCE).index("cosine")] = 1 / ranker.LEVER
        rows = [([101, 1500, 1501, 102, 1500, 1600, 102], 4), ([101, 1700, 102, *range(1100, 1150), 102], 3)]
        logits = read(*pairs.stack(rows))[:, 0]
        for (row, first), logit in zip(rows, logits):
            query = two(*vectors.pad([[101, *QUERY, *row[1:first]]]))
            passage = two(*vectors.pad([[101, *PASSAGE, *row[first:]]]))
            assert float(logit) == pytest.approx(float((query * passage).sum()), abs=1e-5)


def test_the_cached_encoder_scores_like_the_ranker():
    read = model()
    rows = pairs.stack(
        [
            ([101, 1500, 1501, 102, 1500, 1600, 102], 4),
            ([101, 1700, 102, *range(1100, 1150), 102], 3),
            ([101, 1700, 102, 1500, 1600, 102], 3),
        ]
    )
    reader = cached_encoder.CachedEncoder(read, 40)
    found = reader(*rows)
    with torch.no_grad():
        assert torch.allclose(found, read(*rows), atol=0.03)  # cached as bfloat16
    assert len(reader.cache) == 4  # two queries and two passages
    found.sum().backward()
    assert read.upper[0].up.weight.grad.abs().sum() > 0
    reader(*rows)
    assert len(reader.cache) == 4


def test_a_pair_may_fill_all_positions():
    with torch.no_grad():
        logit = model()(*pairs.stack([([101, 1500, 102, *[1600] * 508, 102], 3)]))
    assert torch.isfinite(logit).all()


def test_only_layers_above_the_embedding_are_trained():
    read = model()
    trained = {name.split(".")[0] for name, p in read.named_parameters() if p.requires_grad}
    assert trained == {"upper", "offset", "weigh", "summary", "product"}
    read(*pairs.stack([([101, 1500, 102, 1600, 102], 3)])).sum().backward()
    assert read.upper[0].up.weight.grad.abs().sum() > 0 and read.encoder.layers[-1].up.weight.grad is None


def intents() -> Mined:
    """40 texts of four intents, as alike as their numbers are near."""
    rows = np.eye(384, dtype=np.float32)[:40] + 0.1
    return Mined(
        "intents",
        [f"text {i}" for i in range(40)],
        rows,
        ["a", "b"],
        rows[:2],
        [0, 1],
        [[39], [38]],
        [f"g{i // 10}" for i in range(40)],
    )


def test_texts_of_one_intent_answer_each_other():
    made = pairs.query_set(intents(), near=5)
    assert made.queries == ["a", "b", *(f"text {i}" for i in range(40))]
    assert made.right[0] == list(range(10)) and made.right[2 + 11] == [10, *range(12, 20)]
    assert all(len(w) == 5 and not set(w) & set(r) for r, w in zip(made.right, made.wrong))


def test_another_kind_of_answer_about_the_subject_is_wrong():
    made = mined()
    made.name, made.groups = "medquad", [f"subject {i // 4}|kind {i % 2}" for i in range(12)]
    assert pairs.related(made)[5] == [4, 6] and pairs.related(mined())[5] == []
    query_set = pairs.query_set(made)
    assert query_set.wrong[query_set.queries.index("query 4")] == [5, 6, 7]


def test_every_fourth_easy_query_is_used():
    made = mined()
    assert pairs.query_set(made).queries == ["query 0", "query 4"]
    made.query_vectors = made.query_vectors.copy()
    made.query_vectors[3] = made.passage_vectors[4]  # a wrong one is nearest
    assert pairs.query_set(made).queries == ["query 0", "query 3", "query 4"]


def test_the_intent_projection_groups_texts_by_intent():
    torch.manual_seed(1)
    groups = torch.arange(48) % 4
    texts = torch.nn.functional.normalize(torch.eye(384)[groups] * 0.5 + torch.randn(48, 384) * 0.1, dim=-1)
    before = torch.eye(384).requires_grad_(True)

    def loss(of):
        return intent_projection.neighbour_loss(of, texts, texts, groups, 48, 48)

    loss(before).backward()
    assert float(loss(before - 5 * before.grad)) < float(loss(before)) - 0.01
    made = pairs.query_set(mined())
    found = intent_projection.list_loss(torch.eye(384), made, np.random.default_rng(1), wrong=2)
    assert float(found) == pytest.approx(
        math.log(1 + 2 * math.exp(-twomode.SCALE)), abs=1e-6
    )  # right passages equal the query, wrong ones are orthogonal


def test_lists_start_with_right_passages():
    sampler = pairs.Sampler(
        [pairs.query_set(mined()), pairs.query_set(intents(), near=8)],
        {"made": 1, "intents": 3},
        lambda texts, most: vectors.token_ids(Letters(), texts, most),
        2,
        4,
        32,
        32,
        5,
    )
    assert sampler.steps == [25, 75]
    drawn = [sampler(step) for step in range(100)]
    assert sum(d.right == 3 for d in drawn) == 75
    assert {(d.candidates, d.right, len(d.rows[0])) for d in drawn} == {(4, 1, 8), (8, 3, 16)}
    again = sampler(7)
    assert torch.equal(again.rows[0], drawn[7].rows[0])
    made = sampler.sets[1]
    for query in range(4):
        found = sampler.candidates_of(1, query, 3, 8, np.random.default_rng(query))
        assert set(found[:3]) <= set(made.right[query]) and not set(found[3:]) & set(made.right[query])


NOUNS = """  1 This software and database is being provided to you, the LICENSEE, by Princeton University
00000001 06 n 01 medicine 0 003 ~ 00000002 n 0000 ~ 00000003 n 0000 ~ 00000006 n 0000 | (medicine) something that treats or prevents symptoms of disease
00000002 06 n 02 analgesic 0 pain_pill 0 003 @ 00000001 n 0000 ~ 00000004 n 0000 + 00000009 v 0101 | a medicine used to relieve pain; "he took an analgesic"
00000003 06 n 01 antipyretic 0 002 @ 00000001 n 0000 ~ 00000005 n 0000 | any medicine that lowers body temperature to prevent or alleviate fever
00000004 06 n 01 aspirin 0 001 @ 00000002 n 0000 | the acetylated derivative of salicylic acid; used as an analgesic
00000005 06 n 01 aminopyrine 0 001 @ 00000003 n 0000 | a white crystalline compound used in place of acetylsalicylic acid
00000006 06 n 01 placebo 0 001 @ 00000001 n 0000 | an innocuous or inert medication
"""  # noqa: E501 (lines of WordNet)


def test_a_dictionary_gives_short_questions(tmp_path):
    (tmp_path / "data.noun").write_text(NOUNS)
    source = short.Dictionary(tmp_path)
    pain = source.all["00000002"]
    assert (pain.words, pain.gloss, pain.above, pain.kinds) == (
        ["analgesic", "pain pill"],
        "a medicine used to relieve pain",
        ["00000001"],
        ["00000004"],
    )
    questions = {short.question_for(pain, Random(seed)) for seed in range(40)}
    assert {"Which medicine is used to relieve pain?", "What can be used to relieve pain?"} <= questions
    assert "Which medicine lowers body temperature to prevent or alleviate fever?" in {
        short.question_for(source.all["00000003"], Random(seed)) for seed in range(40)
    }
    sentences = {source.statement("00000002", "example", Random(seed)) for seed in range(40)}
    assert sentences <= {
        f"{subject} is {kind}." for subject in ("Aspirin", "An aspirin") for kind in ("an analgesic", "a pain pill")
    }
    lists = [made for seed in range(200) if (made := source.draw_list(Random(seed)))]
    assert lists and all(right not in wrong and len(wrong) > 1 for _, right, wrong in lists)
    assert any("analgesic" in right and any("antipyretic" in w for w in wrong) for _, right, wrong in lists)


def test_sentences_with_the_answer_are_right(tmp_path):
    passage = (
        "Normandy is a region of France. The Normans came there in the 10th century. They gave it their name to keep."
    )
    wiki: dict[str, list[dict]] = {
        "passages": [{"pid": "p", "text": passage}],
        "queries": [
            {
                "qid": "1",
                "query": "When did the Normans come?",
                "pos": ["p"],
                "split": "train",
                "answer": "10th century",
            },
            {"qid": "2", "query": "Who?", "pos": ["p"], "split": "test", "answer": "Normans"},
        ],
    }
    for kind in ("passages", "queries"):
        for name in short.ANSWERED:
            with gzip.open(tmp_path / f"{name}.{kind}.jsonl.gz", "wt") as file:
                file.writelines(json.dumps(row) + "\n" for row in wiki[kind])
    found = list(short.sentences(tmp_path, 5, 1))
    others = ["Normandy is a region of France.", "They gave it their name to keep."]
    count = len(short.ANSWERED)
    assert found == count * [("When did the Normans come?", "The Normans came there in the 10th century.", others)]
    query_set = short.query_set_of("sentences", found)
    assert (
        len(query_set.mined.passages) == 3 and query_set.right == count * [[0]] and query_set.wrong == count * [[1, 2]]
    )


def test_lists_of_sentences_have_one_that_answers(tmp_path):
    rows = [
        {
            "question": "Who?",
            "answers": [1, 2],
            "candidates": ["Tea is hot.", "Ada did.", "It was Ada.", "Tea is hot."],
        },
        {"question": "Why?", "answers": [], "candidates": ["Tea is hot."]},
    ]
    (tmp_path / "selqa-ass-dev.json").write_text(json.dumps(rows))
    [(question, right, wrong)] = short.selqa(tmp_path, 1)
    assert question == "Who?" and right in ("Ada did.", "It was Ada.") and wrong == ["Tea is hot."]


def test_the_loss_falls_with_higher_logits_of_right_passages():
    def batch():
        return pairs.Lists((torch.zeros(0),) * 3, 4, 2)

    def at(*scores):
        return float(list_loss(lambda *rows: torch.tensor(scores), batch())[0])

    assert at(3.0, 3, 0, 0) < at(1.0, 1, 0, 0) < at(0.0, 0, 0, 0)
    assert at(3.0, 3, 0, 0) < at(3.0, -3, 0, 0)


def test_the_graph_equals_torch(tmp_path: Path):
    import onnx

    read = model()
    with torch.no_grad():
        read.summary.weight.normal_(0, 0.1), read.weigh.weight.normal_(0, 0.05)
    onnx.save(graph(read, "logits"), str(tmp_path / "model.onnx"))
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    rows = [
        ([101, 1500, 1501, 102, 1500, 1600, 102], 4),
        ([101, 1700, 102, *range(1100, 1150), 102], 3),
        ([101, 1500, 102, 102], 3),
    ]
    feeds = pairs.stack(rows)
    with torch.no_grad():
        wanted = read(*feeds).numpy()
    assert np.abs(session.run(None, dict(zip(INPUTS, (f.numpy() for f in feeds))))[0] - wanted).max() < 1e-3


def test_rare_words_found_in_the_passage_raise_the_logit():
    query = [101, 1500, 1501, 102]
    found = ([*query, 1500, 1501, 102], 4)
    missed = ([*query, 1400, 1401, 102], 4)
    with torch.no_grad():
        logits = model()(*pairs.stack([found, missed]))[:, 0]
    assert logits[0] > logits[1]


def test_a_word_counts_only_in_the_passage():
    ids = torch.tensor([[101, 1500, 1501, 1502, 102, 1501, 1400, 1501, 102]])
    answers = torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1, 1]])
    assert ranker.occurs(ids, answers)[0, 1:4].tolist() == [0, 1, 0]


def test_the_upper_layers_do_not_count_for_a_long_query():
    """Other upper layers change the logit of a short query, but not of a query of 90 tokens."""
    one, other = model(), model()
    with torch.no_grad():
        other.upper[0].up.weight += torch.randn_like(other.upper[0].up.weight)
        for row, same in (
            (([101, 1500, 102, 1500, 1600, 102], 3), False),
            (([101, *range(1100, 1190), 102, 1500, 1600, 102], 92), True),
        ):
            assert torch.allclose(one(*pairs.stack([row])), other(*pairs.stack([row])), atol=1e-4) == same


TEXTS = [[101, 1500, 1501, 102], [101, *range(1100, 1150), 102], [101, 102]]
PAIRS = [
    ([101, 1500, 1501, 102, 1500, 1600, 102], 4),
    ([101, 1700, 102, *range(1100, 1150), 102], 3),
    ([101, 102, 1500, 102], 2),
]


@pytest.mark.parametrize("kind", ["embedding", "ranker"])
def test_a_graph_that_skips_padding_has_the_same_outputs(kind: str):
    """In batches of any shape, also without a mask. No linear map gets padding."""
    from onnx import helper

    from scripts.convert.unpadded import unpadded

    if kind == "embedding":
        plain = graph(two_mode(), "sentence_embedding")
        tensors = [*vectors.pad(TEXTS), torch.zeros(len(TEXTS), max(map(len, TEXTS)), dtype=torch.int64)]
        made = unpadded(plain)
    else:
        plain = graph(model(), "logits")
        tensors = list(pairs.stack(PAIRS))
        made = unpadded(plain, hidden_mask(plain))
    before, after = (onnxruntime.InferenceSession(g.SerializeToString()) for g in (plain, made))
    for rows in (slice(0, 3), slice(0, 1), slice(2, 3)):
        feed = dict(zip(INPUTS, (t[rows].numpy() for t in tensors)))
        for mask in (
            feed["attention_mask"],
            np.ones_like(feed["attention_mask"]),
            np.zeros_like(feed["attention_mask"]),
        ):
            given = feed | {"attention_mask": mask}
            wanted, found = before.run(None, given)[0], after.run(None, given)[0]
            assert found.shape == wanted.shape
            if mask.any():
                assert np.abs(found - wanted).max() < 1e-4 * max(1, np.abs(wanted).max())

    seen = []
    for one in (plain, made):
        (up,) = [n.output[0] for n in one.graph.node if n.op_type == "MatMul" and "layers.1/up" in n.output[0]]
        one.graph.output.append(helper.make_tensor_value_info(up, 1, None))
        seen.append(
            onnxruntime.InferenceSession(one.SerializeToString())
            .run([up], dict(zip(INPUTS, (t.numpy() for t in tensors))))[0]
            .shape
        )
    rows, length = tensors[1].shape
    put_before = seen[0][1] - length  # by the ranker, before each pair
    assert seen[1][0] == int(tensors[1].sum()) + rows * put_before and (put_before > 0) == (kind == "ranker")


@pytest.mark.parametrize("kind", ["embedding", "ranker"])
def test_a_graph_whose_sums_do_not_depend_on_the_batch(kind: str):
    """Outputs equal those of the plain graph up to rounding; a row has the same bits alone and in any batch."""
    from scripts.convert.batch_invariant import batch_invariant

    if kind == "embedding":
        plain = graph(two_mode(), "sentence_embedding")
        rows = [[101, *range(1000, 1000 + n), 102] for n in (1, 2, 3, 5, 14, 29, 61, 130)]
        ids, mask = vectors.pad(rows)
        tensors = [ids, mask, torch.zeros_like(ids)]
    else:
        plain = graph(model(), "logits")
        joined = [[101, 1500, 1501, 102, *range(1000, 1000 + n), 102] for n in (1, 2, 3, 5, 14, 29, 61, 130)]
        tensors = list(pairs.stack([(row, 4) for row in joined]))
    made = batch_invariant(plain)
    assert batch_invariant(made) == made
    before, after = (onnxruntime.InferenceSession(g.SerializeToString()) for g in (plain, made))
    together = after.run(None, dict(zip(INPUTS, (t.numpy() for t in tensors))))[0]
    wanted = before.run(None, dict(zip(INPUTS, (t.numpy() for t in tensors))))[0]
    assert np.abs(together - wanted).max() < 1e-4 * max(1, np.abs(wanted).max())
    for i, length in enumerate(tensors[1].sum(1).tolist()):
        alone = after.run(None, dict(zip(INPUTS, (t[i : i + 1, :length].numpy() for t in tensors))))[0]
        np.testing.assert_array_equal(alone[0], together[i])


@pytest.mark.parametrize("version", [17, 20])
def test_a_logarithm_does_not_depend_on_its_place(version: int):
    from onnx import TensorProto, helper

    from scripts.convert.batch_invariant import batch_invariant

    def values(name: str) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", "tokens"])

    flags = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("on", "still")]
    body = helper.make_graph(
        [helper.make_node("Log", ["x"], ["logarithms"]), helper.make_node("Identity", ["on"], ["still"])],
        "body",
        [helper.make_tensor_value_info("turn", TensorProto.INT64, []), flags[0], values("x")],
        [flags[1], values("logarithms")],
    )
    once = helper.make_tensor("once", TensorProto.INT64, [], [1])
    loop = helper.make_node("Loop", ["once", "", "in"], ["out"], body=body)
    plain = helper.make_model(
        helper.make_graph([loop], "graph", [values("in")], [values("out")], [once]),
        opset_imports=[helper.make_opsetid("", version)],
        ir_version=8,
    )
    numbers = np.random.default_rng(1).random((60, 37), np.float32)

    def changed(model) -> bool:
        run = onnxruntime.InferenceSession(model.SerializeToString()).run
        together = run(None, {"in": numbers})[0]
        np.testing.assert_allclose(together, np.log(numbers), rtol=1e-5, atol=1e-6)
        return any((run(None, {"in": numbers[i : i + 1]})[0] != together[i]).any() for i in range(len(numbers)))

    assert changed(plain) and not changed(batch_invariant(plain))


def test_models_of_other_exporters_are_rewritten_or_refused():
    """A constant may be a number in place of a tensor; axes as attributes, of old opsets, are refused."""
    from onnx import TensorProto, helper

    from scripts.convert.batch_invariant import batch_invariant

    def doubled_logarithm(version: int):
        nodes = [
            helper.make_node("Constant", [], ["two"], value_float=2.0),
            helper.make_node("Log", ["in"], ["logarithm"]),
            helper.make_node("Mul", ["logarithm", "two"], ["out"]),
        ]
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", 3]) for name in ("in", "out")]
        opsets = [helper.make_opsetid("", version)]
        return helper.make_model(
            helper.make_graph(nodes, "graph", ends[:1], ends[1:]), opset_imports=opsets, ir_version=8
        )

    session = onnxruntime.InferenceSession(batch_invariant(doubled_logarithm(13)).SerializeToString())
    numbers = np.array([[0.5, 1, 4]], np.float32)
    np.testing.assert_allclose(session.run(None, {"in": numbers})[0], 2 * np.log(numbers), rtol=1e-6)
    with pytest.raises(ValueError, match="opset 12"):
        batch_invariant(doubled_logarithm(12))


def test_a_graph_without_hidden_states_is_refused():
    from onnx import TensorProto, helper

    from scripts.convert.unpadded import unpadded

    other = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["attention_mask"], ["out"])],
            "other",
            [helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["b", "t"])],
            [helper.make_tensor_value_info("out", TensorProto.INT64, ["b", "t"])],
        )
    )
    with pytest.raises(ValueError, match="LayerNormalization"):
        unpadded(other)


def test_alpha_mixes_the_weights():
    fresh, trained = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    own = fresh.weight.detach().clone()
    mixed = checkpoint.blend(fresh, trained.state_dict(), 0.25)
    assert torch.allclose(mixed.weight, 0.75 * own + 0.25 * trained.weight)


def test_an_encoder_loads_from_published_names(tmp_path: Path):
    from safetensors.torch import save_file

    encoder = bert.Encoder(SHAPE)
    save_file({bert.published_name(k): v for k, v in encoder.state_dict().items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"vocab_size": 2048, "num_hidden_layers": 2, "intermediate_size": 64}')
    again = bert.load_encoder(tmp_path)
    assert torch.equal(again.layers[1].down.weight, encoder.layers[1].down.weight)


def test_the_shipped_entries_are_measured_without_a_server():
    """The commands of model_repository/RETRIEVAL.md run in this environment: nDCG, torch and ONNX Runtime together."""
    repository = Path(__file__).parents[3] / "model_repository"
    embedding = retrieval_models.embedder(f"onnx:{repository}/minilm_embed_qa", 1)
    ranking = retrieval_models.scorer(f"onnx:{repository}/minilm_rank_qa", 1, 512)
    passages = {
        "benzene": "Benzene is an aromatic hydrocarbon with six carbon atoms.",
        "paris": "Paris is the capital and largest city of France.",
        "retort": "A retort is a glass vessel in which liquids are distilled.",
    }
    queries = [
        Query("1", "What is the capital of France?", frozenset(["paris"])),
        Query("2", "Which vessel is used to distil liquids?", frozenset(["retort"])),
    ]
    args = SimpleNamespace(seed=1, queries=0, ranked=0, top=3, distractors=-1, short=128)
    found = retrieval.retrieval_set(Collection("made", passages, queries), None, embedding, ranking, args)
    assert (found["queries"], found["passages"], found["embedding"], found["ranked"]) == (2, 3, 1.0, 1.0)
