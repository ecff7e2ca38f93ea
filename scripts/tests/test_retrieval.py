"""The retrieval models' parts: pairs, samplers, the loss of modes, the ranker's evidence and the measure."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="scripts/train/requirements.txt is not installed here")

from scripts.eval.retrieval import ndcg, reranked
from scripts.train.embedding import bert, bm25, rotation, twomode, vectors
from scripts.train.embedding.__main__ import Sampler
from scripts.train.embedding.examples import Mined
from scripts.train.embedding.export import blended
from scripts.train.ranking import pairs, ranker

SHAPE = bert.Shape(vocab_size=2000, hidden_size=384, num_hidden_layers=2, num_attention_heads=12, intermediate_size=64)


class Letters:
    """Stands in for a tokenizer: one id a character, between [CLS] 101 and [SEP] 102."""

    def encode_batch(self, texts):
        return [type("Encoding", (), {"ids": [101, *(1000 + ord(c) % 900 for c in t), 102]}) for t in texts]


def mined() -> Mined:
    rows = np.eye(384, dtype=np.float32)
    return Mined("made", [f"passage {i}" for i in range(12)], rows[:12], [f"query {i}" for i in range(8)], rows[:8],
                 list(range(8)), [[(i + 1) % 12, (i + 2) % 12] for i in range(8)], [f"g{i // 2}" for i in range(12)])


def model() -> ranker.Ranker:
    torch.manual_seed(3)
    return ranker.Ranker(bert.Encoder(SHAPE), torch.rand(2000) * 5, ranker.Reading(apart=1)).eval()


def test_ndcg_is_that_of_a_worked_example():
    found = ndcg([0, 2, 0, 1], [2, 1])
    assert found == pytest.approx((2 / math.log2(3) + 1 / math.log2(5)) / (2 + 1 / math.log2(3)))
    assert ndcg([1.0], [1.0, 1.0]) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_reranking_moves_only_the_best():
    scores = np.array([[0.9, 0.8, 0.7, 0.6]])
    by_length = type("S", (), {"logits": lambda self, asked: [np.array([len(t) for t in ts], float) for _, ts in asked]})()
    moved = reranked(scores, ["q"], ["a", "bbb", "cc", "dddddd"], by_length, 3)
    assert np.argsort(-moved[0]).tolist() == [1, 2, 0, 3]


def test_a_pair_keeps_its_query_and_cuts_the_passage():
    row, first = pairs.paired([101, 7, 8, 102], [101, 20, 21, 22, 23, 102], 7)
    assert (row, first) == ([101, 7, 8, 102, 20, 21, 102], 4)
    whole, _ = pairs.paired([101, 7, 102], [101, 20, 102], 7)
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
    sampler = lambda seed: Sampler([mined()], Letters(), 4, 1, 12, 6, 32, 32, seed)
    one, other = sampler(5), sampler(5)
    other(0)
    assert torch.equal(one(3).queries[0], other(3).queries[0]) and torch.equal(one(3).live[0], other(3).live[0])
    assert any(not torch.equal(sampler(6)(s).queries[0], one(s).queries[0]) for s in range(4))


def test_candidates_of_the_targets_group_do_not_count_as_wrong():
    made = mined()
    numbers, target, allowed = twomode.candidates(made, np.arange(8), 1, 99, np.random.default_rng(1))
    assert sorted(numbers) == list(range(12))
    for query in range(8):
        assert numbers[target[query]] == made.positives[query]
        told = {int(numbers[c]) for c in range(12) if not allowed[query, c]}
        assert told == {query ^ 1}  # its one twin


def test_the_rotation_keeps_whole_cosines():
    turned = rotation.fit([mined()], 1, steps=3, batch=4, bank=8)
    assert torch.allclose(turned @ turned.T, torch.eye(384), atol=1e-4)


def test_the_mode_part_asks_nothing_beyond_its_margin():
    torch.manual_seed(1)
    two = twomode.TwoMode(bert.Encoder(SHAPE))
    batch = Sampler([mined()], Letters(), 4, 1, 12, 6, 32, 32, 1)(0)
    loss = lambda mode, margin: float(twomode.loss(two, batch, twomode.Weights(0.0, mode, margin))[0].detach())
    assert loss(1.0, -100.0) == pytest.approx(loss(0.0, 0.0))
    assert loss(1.0, 5.0) > loss(0.0, 0.0) + 1


def test_a_logit_does_not_depend_on_its_batch():
    rows = [([101, 1500, 102, 1500, 1600, 102], 3), ([101, 1700, 1701, 1702, 102, *range(1000, 1040), 102], 5)]
    with torch.no_grad():
        together = model()(*pairs.stacked(rows))
        alone = torch.cat([model()(*pairs.stacked([r])) for r in rows])
    assert torch.allclose(together, alone, atol=1e-4)


def test_rare_words_found_in_the_passage_raise_the_logit():
    asked = [101, 1500, 1501, 102]
    found = ([*asked, 1500, 1501, 102], 4)
    missed = ([*asked, 1400, 1401, 102], 4)
    with torch.no_grad():
        logits = model()(*pairs.stacked([found, missed]))[:, 0]
    assert logits[0] > logits[1]


def test_literal_matches_saturate_and_count_only_the_passage():
    ids = torch.tensor([[101, 1500, 1500, 102, 1500, 1500, 102]])
    answers = torch.tensor([[0, 0, 0, 0, 1, 1, 1]])
    found = ranker.literal(ids, answers)[0]
    assert found[1] == pytest.approx(2 * 2.2 / 3.2) and found[0] == 0


def test_alpha_mixes_the_weights():
    fresh, trained = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    own = fresh.weight.detach().clone()
    mixed = blended(fresh, trained.state_dict(), 0.25)
    assert torch.allclose(mixed.weight, 0.75 * own + 0.25 * trained.weight)


def test_an_encoder_saved_under_published_names_reads_back(tmp_path: Path):
    from safetensors.torch import save_file

    encoder = bert.Encoder(SHAPE)
    save_file({bert.published_name(k): v for k, v in encoder.state_dict().items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"vocab_size": 2000, "num_hidden_layers": 2, "intermediate_size": 64}')
    again = bert.load_encoder(tmp_path)
    assert torch.equal(again.layers[1].down.weight, encoder.layers[1].down.weight)
