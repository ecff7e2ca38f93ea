"""The masked model, its strings and its graph. Run by `make test-train`; skipped where torch or onnxruntime is not installed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")
Chem = pytest.importorskip("rdkit.Chem")

from scripts.train import training  # noqa: E402
from scripts.train.masked import data, evaluation, model as masked, safe, sampler, unmask_graph  # noqa: E402
from scripts.train.masked.data import BOS, EOS, MASK, PAD  # noqa: E402

MOLECULES = ["CC(=O)Oc1ccccc1C(=O)O", "Cc1nn(-c2nc3ccccc3[nH]2)c2c1C(c1cc(Br)ccc1F)CC(=O)N2", "COc1ccccc1-n1nnnc1SC(C)C(=O)Nc1cccc(Cl)c1C",
             "c1ccccc1", "CC=CC(=O)NCC[NH+](C)C", "CCOc1ccc(-c2nnn(C[NH+]3CCC(Cc4cnn(C)c4)C3)n2)cc1"]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    return data.prepare(MOLECULES, tmp_path_factory.mktemp("masked") / "pieces.npz")


@pytest.fixture(scope="module")
def network(pieces):
    torch.manual_seed(0)
    network = masked.Model(masked.Shape(vocabulary=len(pieces.vocabulary), **masked.PRESETS["tiny"])).eval()
    return network.half().float()  # The graph stores fp16 weights.


@pytest.mark.parametrize("smiles", MOLECULES)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_strings_round_trip(smiles, seed):
    text = safe.encode(smiles, seed and np.random.default_rng(seed))
    assert "".join(safe.split(text)) == text
    assert safe.decode(text) == safe.decode(text, lenient=True) == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize("text, strict, lenient", [
    ("Cc1nn<1>cc1.C", None, "Cc1cc[nH]n1"),  # an open bond becomes hydrogen; the largest molecule remains
    ("c1<1>ccccc.C<1>CC", None, "CCC"),  # the first piece does not read
    ("C<1>.C<1>.C<1>", None, "C"),
    ("", None, None),
    (".", None, None),
])
def test_damaged_strings(text, strict, lenient):
    assert safe.decode(text) == strict and safe.decode(text, lenient=True) == lenient


def test_cached_pieces_stand_for_their_molecules(pieces):
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(5):
        for number, smiles in enumerate(MOLECULES):
            ids = pieces.string(number, random)
            assert ids[0] == BOS and ids[-1] == EOS and len(ids) == pieces.lengths()[number] + 2
            assert safe.decode(pieces.vocabulary.decode(ids.tolist())) == Chem.CanonSmiles(smiles)
            seen.add(tuple(ids.tolist()))
    assert len(seen) > 2 * len(MOLECULES)  # orders differ from pass to pass


def test_the_cache_file_is_read_back(tmp_path):
    first = data.prepare(MOLECULES, tmp_path / "pieces.npz")
    again = data.prepare([], tmp_path / "pieces.npz")
    np.testing.assert_array_equal(first.ids, again.ids)
    assert first.vocabulary.tokens == again.vocabulary.tokens


def test_a_batch_covers_all_levels(pieces):
    options = training.Options(device="cpu", batch=6, samples=1)
    ids, t = data.Batches(pieces, options).batch(3)
    assert np.diff(np.sort(t.numpy())) == pytest.approx(np.full(5, 1 / 6), abs=2e-3)
    assert torch.equal(ids, data.Batches(pieces, options).batch(3)[0])


def test_the_loss_falls(pieces, network):
    import copy

    model = copy.deepcopy(network).train()
    options = training.Options(device="cpu", batch=6, samples=1)
    batches, optimiser = data.Batches(pieces, options), torch.optim.Adam(model.parameters(), 3e-3)
    values = []
    for step in range(60):
        torch.manual_seed(step)
        value, _ = masked.loss(model, batches.batch(step))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert np.mean(values[-10:]) < 0.8 * np.mean(values[:10])


def rows(gamma):
    """Four templates with masks of different numbers, and settings of their own."""
    ids = np.full((4, 24), PAD, np.int64)
    for row, (given, masks) in zip(ids, [(0, 20), (6, 9), (10, 1), (5, 0)]):
        row[: given + masks + 2] = [BOS, *range(6, 6 + given), *[MASK] * masks, EOS]
    return sampler.Rows(ids, np.array([1.0, 0.5, 2.0, 1.0], np.float32), np.array([0.3, 2.0, 0, 0], np.float32), np.array([1, 2, 3, 10]),
                        np.array(gamma, np.float32), np.array([5, -9, 2**60, 0]))


def feeds(given, part=slice(None)):
    settings = {n: getattr(given, n)[part, None] for n in ("temperature", "noise", "step_size", "gamma", "seed")}
    return {"input_ids": given.ids[part], **settings}


@pytest.mark.parametrize("gamma", [[0, 0, 0, 0], [0, 0.5, 1.0, 0.3], [0.3, 0.3, 0.3, 0.3]])
def test_unmasking_graph_equals_torch(network, tmp_path, gamma):
    unmask_graph.write(network, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    given = rows(gamma)
    got, = session.run(None, feeds(given))
    np.testing.assert_array_equal(got, sampler.unmask(network, given).numpy())
    assert (got != MASK).all()
    kept = given.ids != MASK
    np.testing.assert_array_equal(got[kept], given.ids[kept])
    for row in range(4):  # a row's result does not depend on the rows beside it
        np.testing.assert_array_equal(session.run(None, feeds(given, slice(row, row + 1)))[0][0], got[row])


def test_another_seed_gives_another_string(network):
    given = rows([0, 0, 0, 0])
    first = sampler.unmask(network, given)
    given.seed = given.seed + 1
    assert not torch.equal(first[:2], sampler.unmask(network, given)[:2])


def test_figures_of_known_strings():
    texts = [safe.encode(s) for s in MOLECULES[:3]] + [safe.encode(MOLECULES[0]), "C<1>C.O", "((("]
    figures = evaluation.figures(texts)
    assert figures["validity"] == 5 / 6 and figures["strict"] == 4 / 6 and figures["uniqueness"] == 4 / 5
    assert 0.8 < figures["diversity"] < 1 and 0 < figures["quality"] <= 0.5
