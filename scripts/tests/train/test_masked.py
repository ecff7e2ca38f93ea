"""The masked model, its strings and its graph. Run by `make test-train`."""

import numpy as np
import onnxruntime
import pytest
import torch
from rdkit import Chem

from scripts.train import quantise, training
from scripts.train.masked import (
    broad,
    data,
    evaluation,
    extension,
    safe,
    sampler,
    structure,
    unmask_graph,
    vocabulary,
    weights,
)
from scripts.train.masked import model as masked
from scripts.train.masked.vocabulary import BOS, EOS, MASK, PAD, QUALITY, Vocabulary

MOLECULES = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "Cc1nn(-c2nc3ccccc3[nH]2)c2c1C(c1cc(Br)ccc1F)CC(=O)N2",
    "COc1ccccc1-n1nnnc1SC(C)C(=O)Nc1cccc(Cl)c1C",
    "c1ccccc1",
    "CC=CC(=O)NCC[NH+](C)C",
    "CCOc1ccc(-c2nnn(C[NH+]3CCC(Cc4cnn(C)c4)C3)n2)cc1",
]


@pytest.fixture(scope="module")
def strings(tmp_path_factory):
    path = tmp_path_factory.mktemp("masked") / "strings.npz"
    data.write(data.cut(MOLECULES), path, 20, 1)
    return data.read(path)


@pytest.fixture(scope="module")
def network(strings):
    torch.manual_seed(0)
    network = masked.Model(masked.Shape(vocabulary=len(strings.vocabulary), **masked.SIZES["tiny"])).eval()
    return network.half().float()  # The graph stores fp16 weights.


@pytest.mark.parametrize("smiles", MOLECULES)
def test_strings_round_trip_from_every_end(smiles):
    texts = {safe.encode(smiles, first) for first in range(max(1, len(safe.sides(smiles))))}
    for text in texts:
        assert "".join(safe.split(text)) == text and "<" not in text
        assert safe.decode(text) == safe.decode(text, lenient=True) == Chem.CanonSmiles(smiles)
    assert len(texts) > 1 or smiles == "c1ccccc1"


@pytest.mark.parametrize(
    "text, strict, lenient",
    [
        ("Cc1nn*cc1.C.C", None, "Cc1ccn(C)n1"),  # no open end for the last piece; the largest molecule remains
        (".c1ccccc.CCC", None, "CCC"),  # the first piece is invalid
        (".C.C.C", None, "CC"),
        (".N**.C.C", None, "CNC"),  # one open end becomes hydrogen
        ("", None, None),
        (".", None, None),
    ],
)
def test_damaged_strings(text, strict, lenient):
    assert safe.decode(text) == strict and safe.decode(text, lenient=True) == lenient


def test_nested_order_as_numbers():
    assert safe.bracket_form(".c1ccc*cc1.N**.C.CC") == "c<1>1ccc<2>cc1.N<2><3><4>.C<3>.C<4>C"
    assert safe.bracket_form(".=C*.=C") == "C=<1><2>.C=<2>"


def test_cached_strings_decode_to_their_molecules(strings):
    assert len(strings) == data.STRINGS_PER_MOLECULE * len(MOLECULES)
    seen = set()
    for number in range(len(strings)):
        ids = strings.string(number).tolist()
        assert ids[0] == BOS and ids[-1] == EOS and len(ids) == strings.lengths()[number] + 2
        assert safe.decode(strings.vocabulary.decode(ids)) == Chem.CanonSmiles(
            MOLECULES[number // data.STRINGS_PER_MOLECULE]
        )
        seen.add(tuple(ids))
    assert len(seen) > 4 * len(MOLECULES)


def test_merged_tokens_shorten_the_strings_and_change_nothing_else(strings):
    plain = Vocabulary([t for t in strings.vocabulary.tokens if t in vocabulary.SPECIALS or len(safe.split(t)) == 1])
    assert len(strings.vocabulary) == len(plain) + 20
    for smiles in MOLECULES:
        text = safe.encode(smiles)
        short, long = strings.vocabulary.encode(text), plain.encode(text)
        assert (
            len(short) <= len(long) and strings.vocabulary.decode(short.tolist()) == plain.decode(long.tolist()) == text
        )
    assert strings.vocabulary.encode(".C[Xe]")[-1] == vocabulary.UNK


BROAD = [
    "C[C@H](N)C(=O)N[C@@H](Cc1ccccc1)C(=O)O",
    "CC(C)[C@]1(C(=O)NCc2ccccc2)CC[C@@H](NC2CCOCC2)C1",
    "C/C=C/C(=O)Nc1ccc(F)cc1",
    "OB(O)c1ccc(CN2CCOCC2)cc1",
    "C[Si](C)(C)CCOC(=O)c1ccccc1",
    "C[N+](C)(C)CC(=O)[O-]",
    "COc1cc([C@@H](Cc2cccc(O)c2)OC)cc(OC)c1O",
    "O=C1CCCCCCCCCCCCCCO1",
    "C1CC2(C1)CCNCC2",
]


@pytest.mark.parametrize("smiles", BROAD)
def test_strings_of_every_kind_round_trip_with_stereochemistry(smiles):
    cuts = broad.sides(smiles)
    for first in range(len(cuts)):
        text = "".join(safe.nested_pieces(cuts, first)) if len(cuts) > 1 else cuts[0].text
        assert safe.decode(text) == Chem.CanonSmiles(smiles)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("broad") / "strings.npz"
    good = np.array([broad.has_quality(smiles) for smiles in BROAD])
    data.write([broad.sides(smiles) for smiles in BROAD], path, 0, 1, None, good, times=2)
    return data.read(path)


def test_without_merges_each_token_is_one_published_token(wide):
    tokens = wide.vocabulary
    assert (
        tokens.tokens[QUALITY] == "[QUALITY]"
        and tokens.reserved == QUALITY + 1 + len(vocabulary.LENGTHS)
        and tokens.longest == 1
    )
    for number in range(len(wide)):
        ids = wide.string(number)[1:-1]
        text = tokens.decode(ids.tolist())
        assert [tokens.tokens[i] for i in ids] == safe.split(text)
        # SAFE writes a dot between two pieces and a number on both sides of each cut; the dot before the first piece
        # stands for the bond between the first two pieces.
        bracket = safe.bracket_form(text)
        ends = len(safe._NUMBER.findall(bracket)) + bracket.count(".")
        plain = sum(token not in ".*" for token in safe.split(text))
        assert broad.published_tokens_per_token(ids, tokens) * len(ids) == pytest.approx(
            plain + ends + (text.startswith(".")), abs=1.01
        )


def test_a_merged_token_counts_as_its_published_tokens(strings):
    text = safe.encode(MOLECULES[0])
    ids = strings.vocabulary.encode(text)
    assert broad.published_tokens_per_token(ids, strings.vocabulary) * len(ids) == pytest.approx(
        len(safe.split(text)) + text.count(".")
    )


def test_rows_of_molecules_with_quality_may_start_with_its_token(wide):
    assert wide.good.tolist() == [
        flag for smiles in BROAD for flag in [broad.has_quality(smiles)] * 2
    ] and 0 < wide.good.sum() < len(wide)
    batches = data.Batches(wide, training.Options(device="cpu", batch=len(wide), samples=1))
    starts = {QUALITY: 0, BOS: 0}
    for step in range(40):
        ids, chosen = batches.batch(step)
        assert not chosen[:, 0].any()
        for row in ids.tolist():
            starts[row[0]] += 1
            text = wide.vocabulary.decode(row)
            assert row[0] == BOS or broad.has_quality(safe.decode(text))
    assert starts[QUALITY] / (40 * wide.good.sum()) == pytest.approx(data.Batches.quality_share, abs=0.1)


def test_self_generated_strings_always_start_with_the_quality_token(wide, monkeypatch):
    share = 0.4
    joined = data.mix_in(wide, wide, share)
    generated = len(joined) - len(wide)
    assert generated == round(len(wide) * share / (1 - share)) and joined.generated_from == len(wide)
    for number in range(generated):
        assert joined.string(len(wide) + number).tolist() == wide.string(number % len(wide)).tolist()
    source = data.Batches(joined, training.Options(device="cpu", batch=len(joined), samples=1))
    monkeypatch.setattr(source.buckets, "rows", lambda step: np.arange(len(joined)))
    ids, _ = source.batch(0)
    assert (ids[len(wide) :, 0] == QUALITY).all() and (ids[: len(wide), 0] == BOS).any()


def test_rows_may_end_with_a_length_token(wide):
    batches = data.Batches(wide, training.Options(device="cpu", batch=len(wide), samples=1))
    ends = {True: 0, False: 0}
    for step in range(40):
        ids, chosen = batches.batch(step)
        for row, hidden in zip(ids.tolist(), chosen.tolist()):
            row = row[: row.index(PAD)] if PAD in row else row
            ends[row[-1] == EOS] += 1
            assert not hidden[len(row) - 1]
            if row[-1] != EOS:
                length = int(wide.vocabulary.published_lengths()[row].sum())
                known = wide.vocabulary.tokens[row[-1]]
                assert known == f"[LENGTH {max(n for n in vocabulary.LENGTHS if n <= length)}]"
    assert ends[False] / sum(ends.values()) == pytest.approx(data.Batches.length_share, abs=0.1)


def test_lengths_are_counted_for_all_strings_and_for_those_with_quality(wide):
    table = data.count_lengths(wide)
    assert table[:, 2].sum() == len(wide) and table[:, 3].sum() == wide.good.sum()
    tokens, published = wide.lengths(), wide.published_lengths()
    for row in table.tolist():
        same = (tokens == row[0]) & (published == row[1])
        assert [same.sum(), (same & wide.good).sum()] == row[2:]
    assert len(data.lengths(table, True)) == wide.good.sum() and len(data.lengths(table, False)) == len(wide)
    table[:, 3] = 0
    assert len(data.lengths(table, True)) == len(wide)


def test_a_vocabulary_is_extended_for_other_molecules(strings, network):
    from collections import Counter

    pieces = Counter(side.text for smiles in BROAD for side in broad.sides(smiles))
    words = strings.vocabulary.extended(pieces, 5)
    assert words.reserved == QUALITY + 1 + len(vocabulary.LENGTHS) and set(strings.vocabulary.tokens) < set(
        words.tokens
    )
    assert all(vocabulary.UNK not in words.encode_piece(text) for text in pieces)
    bigger = extension.with_vocabulary(network, strings.vocabulary, words)
    text = safe.encode(MOLECULES[0])
    before, after = (torch.tensor([[BOS, *tokens.encode(text), EOS]]) for tokens in (strings.vocabulary, words))
    assert [words.tokens[i] for i in after[0]] == [strings.vocabulary.tokens[i] for i in before[0]]
    old = [words.ids[token] for token in strings.vocabulary.tokens]
    with torch.no_grad():
        torch.testing.assert_close(bigger(after)[..., old], network(before))
        torch.testing.assert_close(bigger.token.weight[QUALITY], network.token.weight[BOS])
        torch.testing.assert_close(bigger.token.weight[words.length(30)], network.token.weight[EOS])


def test_the_broad_mix_is_weighted_and_has_no_mixtures(tmp_path):
    import gzip

    for name in broad.SHARES:
        text = "\n".join([*MOLECULES, "CC.Cl"]) + "\n"
        (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    chosen = broad.molecules(tmp_path, broad.SHARES, 300, 1)
    most = broad.MAX_COPIES * len(broad.SHARES) * (len(MOLECULES) + 1)
    assert set(chosen) == set(MOLECULES) and 0.6 * most < len(chosen) <= most < 300


def test_drug_like_molecules_are_filtered_by_cached_scores(tmp_path):
    chosen = data.drug_like([MOLECULES[2], "CCCCCCCCCCCC"], 0.6, 4, tmp_path / "scores")
    assert chosen == [MOLECULES[2]] == data.drug_like([], 0.6, 4, tmp_path / "scores")
    assert data.drug_like([], 0, 10, tmp_path / "scores") == [MOLECULES[2], "CCCCCCCCCCCC"]


def test_a_batch_covers_all_levels(strings):
    options = training.Options(device="cpu", batch=12, samples=1)
    batches = data.Batches(strings, options)
    for step in range(4):
        ids, chosen = batches.batch(step)
        lengths, counts = (ids != PAD).sum(1) - 2, chosen.sum(1)
        assert not chosen[(ids == PAD) | (ids == BOS) | (ids == EOS)].any() and (counts >= 1).all()
        above = np.sort(((counts - 1) / lengths).numpy()) - np.arange(12) / 12
        assert (above < 1 / 12 + 1e-6).all() and (above > -1 / lengths.min().item()).all()
    again = data.Batches(strings, options).batch(3)
    assert torch.equal(ids, again[0]) and torch.equal(chosen, again[1])


def test_the_loss_falls(strings, network):
    import copy

    model = copy.deepcopy(network).train()
    options = training.Options(device="cpu", batch=12, samples=1)
    batches, optimiser = data.Batches(strings, options), torch.optim.Adam(model.parameters(), 3e-3)
    values = []
    for step in range(60):
        value, _ = masked.loss(model, batches.batch(step))
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert np.mean(values[-10:]) < 0.8 * np.mean(values[:10])


def test_training_starts_from_the_weights_of_an_entry(network, strings, tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(token + "\n" for token in strings.vocabulary.tokens))
    weights.write(tmp_path, network, {})
    again, words = weights.load(tmp_path)
    assert words.tokens == strings.vocabulary.tokens
    assert again.shape == network.shape
    for name, weight in network.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], weight, rtol=2e-3, atol=1e-6)
    ids = torch.from_numpy(strings.string(0))[None]
    ranges = quantise.observe(unmask_graph.integer_layers(network), lambda: network(ids))
    weights.write(tmp_path, network, ranges)
    torch.testing.assert_close(weights.load(tmp_path)[0](ids), network(ids), rtol=0.1, atol=0.05)


def rows(gamma):
    """Four templates with different numbers of masks and different settings."""
    ids = np.full((4, 24), PAD, np.int64)
    for row, (given, masks) in zip(ids, [(0, 20), (6, 9), (10, 1), (5, 0)]):
        row[: given + masks + 2] = [BOS, *range(6, 6 + given), *[MASK] * masks, EOS]
    return sampler.Rows(
        ids,
        np.array([1.0, 0.5, 2.0, 1.0], np.float32),
        np.array([0.3, 2.0, 0, 0], np.float32),
        np.array([1, 2, 3, 10]),
        np.array(gamma, np.float32),
        np.array([5, -9, 2**60, 0]),
    )


def feeds(given, part=slice(None)):
    settings = {n: getattr(given, n)[part, None] for n in ("temperature", "noise", "step_size", "gamma", "seed")}
    return {"input_ids": given.ids[part], **settings}


@pytest.mark.parametrize("gamma", [[0, 0, 0, 0], [0, 0.5, 1.0, 0.3], [0.3, 0.3, 0.3, 0.3]])
def test_unmasking_graph_equals_torch(network, strings, tmp_path, gamma):
    table = structure.balance_table(strings.vocabulary.tokens)
    unmask_graph.write(network, tmp_path / "model.onnx", table=table)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    given = rows(gamma)
    (got,) = session.run(None, feeds(given))
    np.testing.assert_array_equal(got, sampler.unmask(network, given, table).numpy())
    assert (got != MASK).all()
    kept = given.ids != MASK
    np.testing.assert_array_equal(got[kept], given.ids[kept])
    for row in range(4):  # the result of a row does not depend on the rest of the batch
        np.testing.assert_array_equal(session.run(None, feeds(given, slice(row, row + 1)))[0][0], got[row])


def test_another_seed_gives_another_string(network):
    given = rows([0, 0, 0, 0])
    first = sampler.unmask(network, given)
    given.seed = given.seed + 1
    assert not torch.equal(first[:2], sampler.unmask(network, given)[:2])


class Constant(torch.nn.Module):
    """Predicts two tokens with probabilities of 0.7 and 0.3 for every mask."""

    shape = masked.Shape(vocabulary=8, reserved=6)

    def __init__(self) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor([0.0] * 6 + [0.7, 0.3]).log())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(*ids.shape, -1)


@pytest.mark.parametrize(("divisor", "share"), [(1, 0.7), (0.5, 0.7**2 / (0.7**2 + 0.3**2))])
@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_tokens_are_kept_as_often_as_they_are_drawn(divisor, share, noise):
    count = 3000
    temperature = divisor**2 / sampler.TEMPERATURE_SCALE
    full = lambda value, kind: np.full(count, value, kind)  # noqa: E731
    given = sampler.Rows(
        np.tile([BOS, MASK, MASK, MASK, EOS], (count, 1)),
        full(temperature, np.float32),
        full(noise, np.float32),
        full(1, np.int64),
        full(0, np.float32),
        np.arange(count),
    )
    tokens = sampler.unmask(Constant(), given).numpy()[:, 1:4]
    assert (tokens == 6).mean() == pytest.approx(share, abs=0.02)


def test_the_last_token_balances_the_sums(network, strings):
    tokens = strings.vocabulary
    table = structure.balance_table(tokens.tokens)
    molecules = []
    for smiles in MOLECULES:
        ids = tokens.encode(safe.encode(smiles))
        assert not (
            (table[ids].sum(0)[: structure.SUMS] + [2 * ("." in safe.encode(smiles)), *[0] * (structure.SUMS - 1)])
            % structure.MODULI
        ).any()
        molecules.append((ids, len(ids) // 2))
    width = max(len(ids) for ids, _ in molecules) + 2
    rows = np.full((len(molecules), width), PAD, np.int64)
    for row, (ids, at) in zip(rows, molecules):
        row[: len(ids) + 2] = [BOS, *ids, EOS]
        row[1 + at] = MASK
    full = lambda value, kind: np.full(len(rows), value, kind)  # noqa: E731
    given = sampler.Rows(
        rows, full(1, np.float32), full(0, np.float32), full(1, np.int64), full(0, np.float32), np.arange(len(rows))
    )
    filled = sampler.unmask(network, given, table).numpy()
    for row, (ids, at) in zip(filled, molecules):
        assert ((table[row[1 + at]] - table[ids[at]])[: structure.SUMS] % structure.MODULI == 0).all()


def test_figures_of_known_strings():
    texts = [safe.encode(s) for s in MOLECULES[:3]] + [safe.encode(MOLECULES[0]), "C*C.O.O", "((("]
    figures = evaluation.figures(texts)
    assert figures["validity"] == 5 / 6 and figures["strict"] == 4 / 6 and figures["uniqueness"] == 4 / 5
    assert 0.8 < figures["diversity"] < 1 and 0 < figures["quality"] <= 0.5
