"""The latent model and its graphs. Run by `make test-train`."""

import argparse
from functools import partial

import numpy as np
import onnxruntime
import pytest
import torch

from scripts.train import batches, checkpoint, graph, quantise, training
from scripts.train.latent import (
    decoder_graph,
    decoding,
    encoder_graph,
    evaluation,
    extension,
    rejection,
    similarity,
    weights,
)
from scripts.train.latent.__main__ import Data, SelfGenerated, loss_on
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.model import SIZES, Model, Shape, Similarity
from scripts.train.latent.tokens import BOS, EOS, PAD, UNK, Vocabulary, split

MOLECULES = ["CC(=O)Oc1ccccc1C(=O)O", "C[C@H]([NH3+])c1cc(Br)nc(Cl)c1", "C1CC2CCC1%12CC2%12", "F/C=C\\C#N"]


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary.build(MOLECULES, 12)


@pytest.fixture(scope="module")
def model(vocabulary):
    torch.manual_seed(0)
    model = Model(Shape(vocabulary=len(vocabulary), **SIZES["tiny"])).eval()
    return model.half().float()  # The graphs store fp16 weights.


def session(tmp_path, write, module):
    write(module, tmp_path / "model.onnx")
    return onnxruntime.InferenceSession(tmp_path / "model.onnx")


@pytest.mark.parametrize("smiles", MOLECULES)
def test_tokens_round_trip(vocabulary, smiles):
    assert "".join(split(smiles)) == smiles
    assert vocabulary.decode(vocabulary.encode(smiles)) == smiles


def test_a_text_is_split_into_the_longest_tokens():
    vocabulary = Vocabulary(["[PAD]", "[BOS]", "[EOS]", "[UNK]", "C", "Cl", "(", ")", "CC", "CC(", "CCC"])
    assert [vocabulary.tokens[i] for i in vocabulary.encode("CCCl")] == ["CC", "Cl"]
    assert [vocabulary.tokens[i] for i in vocabulary.encode("CC(CCCC)C")] == ["CC(", "CCC", "C", ")", "C"]
    assert vocabulary.encode("CCNC").tolist() == [8, UNK, 4]


def test_merges_are_the_most_frequent_pairs():
    built = Vocabulary.build(["CCCCCCN", "NCCCC"], 2)
    assert built.tokens[4:] == ["C", "N", "CC", "CCCC"]


def test_invalid_text_is_rejected_and_unknown_tokens_are_marked(vocabulary):
    with pytest.raises(ValueError, match="character 2"):
        split("C!C")
    assert vocabulary.encode("C[Xe]").tolist()[1] == UNK


def test_vocabulary_file_has_the_specials_first(vocabulary, tmp_path):
    vocabulary.write(tmp_path / "vocab.txt")
    lines = (tmp_path / "vocab.txt").read_text().splitlines()
    assert lines[:4] == ["[PAD]", "[BOS]", "[EOS]", "[UNK]"]
    assert Vocabulary.read(tmp_path / "vocab.txt").ids == vocabulary.ids


def test_encoder_graph_equals_torch(model, vocabulary, tmp_path):
    ids = batches.pad([vocabulary.encode(s) for s in MOLECULES], PAD)
    mask = (ids != PAD).astype(np.int64)
    (got,) = session(tmp_path, encoder_graph.write, model.encoder).run(None, {"input_ids": ids, "attention_mask": mask})
    with torch.no_grad():
        want = model.encoder(torch.from_numpy(ids), torch.from_numpy(mask))
    np.testing.assert_allclose(got[:, 0], want.numpy(), atol=2e-3)


def test_decoder_graph_equals_the_loop_without_cache(model, tmp_path):
    decoder = session(tmp_path, decoder_graph.write, model.decoder)
    z = torch.randn(7, 64) * 2
    feeds = {
        "hiddens": z[:, None].numpy(),
        "temperature": np.zeros((7, 1), np.float32),
        "seed": np.zeros((7, 1), np.int64),
    }
    ids, score = decoder.run(None, feeds)
    want = decoding.decode_without_cache(model.decoder, z)
    np.testing.assert_array_equal(ids, want.numpy())
    np.testing.assert_array_equal(want, decoding.decode_with_cache(model.decoder, z))
    np.testing.assert_array_equal(want, decoding.graph_decoder(model.decoder, 1)(z, 0.0))
    with torch.no_grad():
        log_p = torch.log_softmax(
            model.decoder(torch.cat([torch.ones(7, 1, dtype=torch.long), want[:, :-1]], 1), z), -1
        )
    total = (
        log_p.gather(-1, want[..., None])[..., 0].masked_fill(((want == EOS).cumsum(1) > 0) & (want != EOS), 0).sum(1)
    )
    np.testing.assert_allclose(score[:, 0], total.numpy(), rtol=1e-3)


def test_encoder_and_decoder_use_the_same_unit_of_hidden_states(model, vocabulary, tmp_path):
    ids = batches.pad([vocabulary.encode(s) for s in MOLECULES], PAD)
    feeds = {"input_ids": ids, "attention_mask": (ids != PAD).astype(np.int64)}
    (plain,) = session(tmp_path, encoder_graph.write, model.encoder).run(None, feeds)
    (scaled,) = session(tmp_path, lambda m, p: encoder_graph.write(m, p, 2.5), model.encoder).run(None, feeds)
    np.testing.assert_allclose(scaled * 2.5, plain, atol=1e-5)
    zeros = {"temperature": np.zeros((4, 1), np.float32), "seed": np.zeros((4, 1), np.int64)}
    texts = [
        session(tmp_path, partial(decoder_graph.write, unit=unit), model.decoder).run(None, {"hiddens": z, **zeros})[0]
        for unit, z in ((1.0, plain), (2.5, scaled))
    ]
    np.testing.assert_array_equal(*texts)
    size = {"beam_size": np.full((4, 1), 2)}
    beams = [
        session(tmp_path, partial(decoder_graph.write_beam, unit=unit), model.decoder).run(
            None, {"hiddens": z, **size}
        )[0]
        for unit, z in ((1.0, plain), (2.5, scaled))
    ]
    np.testing.assert_array_equal(*beams)


def test_training_starts_from_an_entry(model, vocabulary, tmp_path):
    vocabulary.write(tmp_path / "vocab.txt")
    ids = torch.from_numpy(batches.pad([vocabulary.encode(s) for s in MOLECULES], PAD))
    z = torch.randn(4, 64)
    ranges = quantise.observe(decoder_graph.integer_layers(model.decoder), lambda: model.decoder(ids, z))
    for given, tolerance in (({}, 0.02), (ranges, 0.2)):
        weights.write(tmp_path, model, Similarity(32, 64), given, 2.5)
        again, words = weights.load(tmp_path)
        assert again.shape == model.shape and words.tokens == vocabulary.tokens
        with torch.no_grad():
            for want, got in (
                (model.encoder(ids, (ids != PAD).long()), again.encoder(ids, (ids != PAD).long())),
                (model.decoder(ids, z), again.decoder(ids, z)),
            ):
                np.testing.assert_allclose(got.numpy(), want.numpy(), atol=tolerance)


def test_an_extended_vocabulary_does_not_change_the_results(model, vocabulary):
    molecules = [*MOLECULES, "C[Se]C", "CC(=O)OCC(=O)O", "[Na+].[Cl-]"]
    words = vocabulary.extended(molecules, 3)
    assert words.tokens[: len(vocabulary)] == vocabulary.tokens and len(words) == len(vocabulary) + 4 + 3
    assert all(UNK not in words.encode(smiles) for smiles in molecules)
    bigger = extension.with_vocabulary(model, vocabulary, words)
    ids, z = torch.from_numpy(batches.pad([vocabulary.encode(s) for s in MOLECULES], PAD)), torch.randn(4, 64)
    with torch.no_grad():
        torch.testing.assert_close(bigger.encoder(ids, (ids != PAD).long()), model.encoder(ids, (ids != PAD).long()))
        torch.testing.assert_close(bigger.decoder(ids, z)[..., : len(vocabulary)], model.decoder(ids, z))
    merged = len(words) - 1
    parts = vocabulary.encode(words.tokens[merged])
    torch.testing.assert_close(bigger.encoder.token.weight[merged], model.encoder.token.weight[parts].mean(0))
    torch.testing.assert_close(bigger.decoder.head.weight[merged], model.decoder.head.weight[parts[0]])


def test_new_slots_do_not_change_short_texts_and_are_trained(model, vocabulary):
    wider = extension.with_slots(model, 7)
    assert wider.shape.slots == 7 and model.shape.slots == 4
    ids, z = torch.tensor([[5, 6, 4, 5]]), torch.randn(1, 64)
    with torch.no_grad():
        torch.testing.assert_close(wider.encoder(ids, torch.ones_like(ids)), model.encoder(ids, torch.ones_like(ids)))
        before, after = (torch.softmax(m.decoder(ids, z), -1) for m in (model, wider))
    assert (before - after).abs().max() < 0.02
    long = torch.randint(4, len(vocabulary), (3, 9))
    loss, _ = wider(
        long, torch.cat([torch.ones(3, 1, dtype=torch.long), long], 1), torch.tensor(-2.0), torch.tensor(0.0)
    )
    loss.backward()
    width = model.shape.width
    assert (
        wider.encoder.out.weight.grad[:, 4 * width :].abs().max() > 0
        and wider.decoder.memory.weight.grad[4 * width :].abs().max() > 0
    )
    wider.zero_grad()


@torch.no_grad()
def beam_search(decoder, z: torch.Tensor, width: int, limit: int = 128) -> list[tuple[list[int], float]]:
    """Searches for one z [1, latent]; returns up to `width` (ids, sum of log probabilities), the best
    first."""
    beams: list[tuple[list[int], float]] = [([], 0.0)]
    for _ in range(limit):
        if all(ids and ids[-1] == EOS for ids, _ in beams):
            break
        candidates = [b for b in beams if b[0] and b[0][-1] == EOS]
        for ids, score in (b for b in beams if not b[0] or b[0][-1] != EOS):
            log_p = torch.log_softmax(decoder(torch.tensor([[BOS, *ids]]), z)[0, -1], -1)
            candidates += [([*ids, t], score + p) for t, p in enumerate(log_p.tolist())]
        beams = sorted(candidates, key=lambda b: -b[1])[:width]
    return beams


def test_beam_graph_equals_the_plain_search(model, tmp_path):
    decoder = session(tmp_path, decoder_graph.write_beam, model.decoder)
    z = torch.randn(4, 64) * 2
    sizes = [3, 1, 5, 2]
    ids, score = decoder.run(None, {"hiddens": z[:, None].numpy(), "beam_size": np.array(sizes)[:, None]})
    assert ids.shape[:2] == score.shape == (4, 5)
    for row, size in enumerate(sizes):
        want = beam_search(model.decoder, z[row : row + 1], size)
        for place, (tokens, total) in enumerate(want):
            assert ids[row, place, : len(tokens)].tolist() == tokens
            assert (ids[row, place, len(tokens) :] == PAD).all()
            assert score[row, place] == pytest.approx(total, rel=1e-3)
        assert (score[row, size:] < -1e8).all()


def test_a_sampled_row_depends_only_on_its_seed(model, tmp_path):
    decoder = session(tmp_path, decoder_graph.write, model.decoder)
    z = np.random.default_rng(0).standard_normal((5, 1, 64), np.float32)
    seed = np.array([[3], [-4], [2**62], [3], [5]])
    hot = np.full((5, 1), 1.5, np.float32)
    whole, scores = decoder.run(None, {"hiddens": z, "temperature": hot, "seed": seed})
    for row in range(5):
        alone, score = decoder.run(
            None, {"hiddens": z[row : row + 1], "temperature": hot[:1], "seed": seed[row : row + 1]}
        )
        np.testing.assert_array_equal(whole[row, : alone.shape[1]], alone[0])
        np.testing.assert_array_equal(scores[row], score[0])
    other, _ = decoder.run(None, {"hiddens": z, "temperature": hot, "seed": seed + 1})
    assert not np.array_equal(whole[:, :10], other[:, :10])


def test_random_numbers_of_the_graph_are_the_reference_and_uniform(tmp_path):
    built = graph.Graph()
    names = [built.input(n, graph.TensorProto.INT64, ["rows", 1]) for n in ("seed", "turn")]
    built.output(built.uniform(built.key(*names)), graph.TensorProto.FLOAT, ["rows", 1], "u")
    built.save(tmp_path / "u.onnx", "uniform")
    seed = np.concatenate([np.arange(20000), [-1, 2**63 - 1, -(2**63)]]).astype(np.int64)[:, None]
    (got,) = onnxruntime.InferenceSession(tmp_path / "u.onnx").run(None, {"seed": seed, "turn": np.full_like(seed, 9)})
    np.testing.assert_array_equal(got, graph.uniform(graph.key(seed, np.full_like(seed, 9))))
    assert 0 < got.min() and got.max() < 1
    counts, _ = np.histogram(got, bins=20, range=(0, 1))
    assert np.abs(counts - 1000).max() < 150  # 5 standard deviations
    assert abs(np.corrcoef(got[:-1, 0], got[1:, 0])[0, 1]) < 0.03


def test_integer_arithmetic_is_accurate_and_rows_are_independent(model, vocabulary, tmp_path):
    z = torch.randn(40, 64)
    text = torch.tensor([[1, 6, 5, 7, 4, 6, 6]]).repeat(40, 1)
    ranges = quantise.observe(decoder_graph.integer_layers(model.decoder), lambda: model.decoder(text, z))
    decoder = session(tmp_path, lambda module, path: decoder_graph.write(module, path, ranges), model.decoder)
    feeds = {
        "hiddens": z[:, None].numpy(),
        "temperature": np.zeros((40, 1), np.float32),
        "seed": np.zeros((40, 1), np.int64),
    }
    ids, _ = decoder.run(None, feeds)
    assert (ids[:, 0] == decoding.decode_without_cache(model.decoder, z, 1)[:, 0].numpy()).mean() > 0.8
    for row in range(5):
        alone, _ = decoder.run(None, {k: v[row : row + 1] for k, v in feeds.items()})
        np.testing.assert_array_equal(ids[row, : alone.shape[1]], alone[0])


def test_rounded_weights_and_inputs():
    matrix = torch.tensor([[1.0, -2.0], [0.0, 0.5]])
    step, rounded = quantise.round_weight(matrix)
    np.testing.assert_allclose(rounded * step[:, None], matrix.numpy(), atol=0.02)
    scale, zero = quantise.activation_scale(-0.2, 5.0)
    assert zero == 10 and (255 - zero) * scale == pytest.approx(5.0, abs=0.02)


@pytest.mark.parametrize(
    "smiles, valid", [("CCO", True), ("C[CH]C", False), ("C1CC", False), ("", False), ("C[N+](=O)[O-]", True)]
)
def test_a_valid_text_is_a_molecule_without_radicals(smiles, valid):
    assert evaluation.is_valid(smiles) is valid


def test_self_generated_texts_are_valid_molecules(vocabulary, monkeypatch):
    torch.manual_seed(3)
    small = Model(Shape(vocabulary=len(vocabulary), **SIZES["tiny"])).eval()
    with torch.no_grad():  # Mostly the token C, then [EOS]: chains are molecules, other texts are not.
        small.decoder.head.bias[vocabulary.ids["C"]] += 3
        small.decoder.head.bias[EOS] += 3
    monkeypatch.setattr(rejection, "GREEDY_SHARE", 1.0)
    calls = []
    decode = decoding.graph_decoder(small.decoder, 1)
    points = rejection.noisy_points(small, vocabulary, MOLECULES * 20)

    def recording_decode(z, temperature):
        calls.append((len(z), temperature))
        return decode(z, temperature)

    z, ids, counts = rejection.valid_texts(points, vocabulary, recording_decode)
    assert len(z) == len(ids) == sum(counts) > 0
    assert all(EOS in row for row in ids)
    assert all(rejection.evaluation.is_valid(vocabulary.decode(row.tolist())) for row in ids)
    rows = [80 - sum(counts[:n]) for n in range(len(calls))]  # A point with a valid text is not sampled again.
    assert calls == list(zip(rows, rejection.TEMPERATURES))


def test_a_frozen_encoder_does_not_change(model, vocabulary, tmp_path):
    held = Model(model.shape)
    held.load_state_dict(model.state_dict())
    held.encoder.requires_grad_(False)
    rows = torch.from_numpy(batches.pad([vocabulary.encode(s) for s in MOLECULES], PAD))
    target = torch.cat([torch.ones(4, 1, dtype=torch.long), rows, torch.full((4, 1), PAD)], 1)
    options = training.Options(
        name="held", runs=str(tmp_path), batch=4, samples=16, device="cpu", precision="fp32", threads=1
    )
    training.run(
        options,
        held,
        lambda step: (rows, target),
        loss=lambda network, batch: network(*batch, torch.tensor(0.0), torch.tensor(1.0)),
        evaluate=lambda network, step: {},
    )
    for name, value in model.state_dict().items():
        assert torch.equal(held.state_dict()[name], value) == (name.startswith("encoder.") or value.ndim == 0), name


def test_the_similarity_head_needs_neighbours():
    with pytest.raises(SystemExit, match="3 training molecules have at most 24 tokens, too few"):
        similarity.train([torch.zeros(2, 8)] * 3, torch.ones(3, 2048), 8, 20)
    similarity.train([torch.ones(2, 8)] * 4, torch.eye(4, 2048), 8, 20)


def test_the_similarity_head_learns_and_its_graph_equals_torch(model, vocabulary, tmp_path):
    molecules = ["C" * n + end for n in range(2, 12) for end in ("O", "N", "Cl", "C(=O)O")]
    words = vocabulary.extended(molecules, 0)
    bigger = extension.with_vocabulary(model, vocabulary, words)
    held, prints = similarity.token_states(bigger.encoder, words, molecules), similarity.fingerprints(molecules)
    untrained = similarity.loss(similarity.vectors(Similarity(32, 64), held), prints)
    head = similarity.train(held, prints, 64, 60)
    assert similarity.loss(similarity.vectors(head, held), prints) < 0.7 * untrained
    head = head.half().float()
    ids = batches.pad([words.encode(s) for s in MOLECULES], PAD)
    present = (ids != PAD).astype(np.int64)
    one = session(tmp_path, lambda m, p: encoder_graph.write(m, p, 1.0, head), bigger.encoder)
    got = one.run(["embedding"], {"input_ids": ids, "attention_mask": present})[0]
    with torch.no_grad():
        states, _ = bigger.encoder.states(torch.from_numpy(ids), torch.from_numpy(present))
        np.testing.assert_allclose(got, head(states, torch.from_numpy(present)).numpy(), atol=2e-3)
    alone = one.run(
        ["embedding"], {"input_ids": ids[3:, : present[3].sum()], "attention_mask": present[3:, : present[3].sum()]}
    )[0]
    np.testing.assert_array_equal(alone[0], got[3])  # Neither padding nor other rows change a bit.
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-5)


def test_the_loss_includes_self_generated_texts(model, vocabulary, tmp_path):
    rows = [torch.tensor([*vocabulary.encode(s), EOS], dtype=torch.int16) for s in MOLECULES]
    checkpoint.save({"z": torch.randn(4, 64).half(), "ids": rows}, tmp_path / "generated.pt")
    options = training.Options(batch=4, samples=4)
    generated = SelfGenerated([tmp_path / "generated.pt", tmp_path / "generated.pt"], options)
    z, target = generated.batch(0)
    assert z.shape == (1, 64) and z.dtype == torch.float32 and len(generated.rows) == 8
    for row in target.tolist():
        assert vocabulary.decode(row[1 : row.index(EOS)]) in MOLECULES
    molecules = Data(Corpus.build(MOLECULES, vocabulary), options).batch(0)
    noise = argparse.Namespace(lowest=-2.0, highest=0.0)
    torch.manual_seed(0)
    alone, _ = loss_on(model, molecules, noise)
    torch.manual_seed(0)
    together, figures = loss_on(model, (*molecules, z, target), noise)
    assert together.item() == pytest.approx(alone.item() + figures["self_generated"].item(), rel=1e-5)
