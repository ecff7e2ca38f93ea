"""The network that understands questions: its texts, its graph, and that what it can name can be answered. Run by `make test-train`."""

import random
import sys
from concurrent.futures import Executor, Future
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
Chem = pytest.importorskip("rdkit.Chem")

from scripts.train.phrases import evaluation, examples, serving  # noqa: E402
from scripts.train.phrases.__main__ import tensors  # noqa: E402
from scripts.train.phrases.grammar import LABELS, parse, sample  # noqa: E402
from scripts.train.phrases.model import Model, graph, loss  # noqa: E402

sys.path.insert(0, str(serving.ENTRY))
import answers  # noqa: E402
import facts  # noqa: E402
import groups  # noqa: E402
import readings  # noqa: E402
from conversation import TALK  # noqa: E402


def test_held_out_phrases_are_held_out():
    draw = random.Random(1)
    for family in examples.NAMES:
        assert len(examples.HELD[family]) >= 1 and not set(examples.HELD[family]) & set(examples.TRAIN[family]), family
        for template in examples.TRAIN[family]:
            assert sample(parse(template), draw), template
    other = {held: {f"{i} {held}" for i in range(3)} for held in (True, False)}
    assert not other[True] & other[False]


def test_labels_follow_the_words():
    made = examples.Example()
    made.add(sample(parse("how many <exactly:exactly 2> <element=Cl:chlorine atoms> in the <second:second> one"), random.Random(1)), "count_element")
    assert made.words == "how many exactly 2 chlorine atoms in the second one".split()
    assert [LABELS["mode"][k] for k in made.heads["mode"]][2:4] == ["exactly", "exactly"]
    assert evaluation.wanted(made) == [("count_element", {"Cl"}, frozenset(), {"second"}, {"exactly"})]


def test_the_same_seed_makes_the_same_texts():
    maker = examples.Maker(["who wrote this?"])
    first, second = ([maker.make(random.Random(7)).words for _ in range(3)] for _ in range(2))
    assert first == second


def test_it_learns_and_the_graph_computes_the_same(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    torch.manual_seed(1)
    model, maker, draw = Model(len(examples.NAMES)), examples.Maker([]), random.Random(2)
    batch = tensors([maker.make(draw) for _ in range(64)])
    optimiser = torch.optim.Adam(model.parameters(), 5e-3)
    losses = []
    for _ in range(25):
        value, _ = loss(model, batch)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        losses.append(float(value))
    assert losses[-1] < 0.5 * losses[0]
    graph(model.eval()).save(tmp_path / "phrases.onnx", "phrases")
    words = serving.words("Please give me the formula of the second molecule, and how many rings it has")
    got = onnxruntime.InferenceSession(str(tmp_path / "phrases.onnx")).run(None, {"words": serving.rows(words)})
    different = np.concatenate([np.zeros((1, serving.WIDTH), np.int64), serving.rows(words)])
    with torch.no_grad():
        begins, heads = model(torch.arange(1, len(different))[None], torch.from_numpy(different))
    assert np.allclose(got[0], begins[0].numpy(), atol=0.05)
    for mine, theirs in zip(got[1:], heads):
        assert np.allclose(mine, theirs[0].log_softmax(-1).numpy(), atol=0.1)


def test_whatever_can_be_named_can_be_answered():
    assert LABELS["group"][1:] == [n for n in LABELS["group"] if n in groups.NAMES] and len(LABELS["group"]) == len(groups.NAMES) + 1
    assert set(LABELS["element"]) - {"none"} == set(facts.NAMES)
    told = {"smiles", "name", "inchi", "formula", "elements", "groups", "describe", "sure", "has_ring", "is_aromatic", "is_charged", "is_chiral",
            "count_element", "has_element", "count_group", "has_group", "same", "difference", "size", "is_molecule"}
    assert set(examples.NAMES) == told | TALK | set(facts.COUNTS) | set(facts.MEASURES)
    assert set(answers.BOUNDS) <= set(LABELS["mode"])


class AtOnce(Executor):
    """Runs what it is given before submit returns."""

    def submit(self, work, *arguments):
        future = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def test_a_reading_that_fails_at_once_is_forgotten():
    kept = readings.Readings(SimpleNamespace(read=None), workers=1)
    kept.pool = AtOnce()
    for _ in range(2):
        with pytest.raises(readings.Refused):
            kept.start(b"%%%").result()
    assert not kept.known


@pytest.mark.parametrize(("smiles", "counts"), [
    ("CC(=O)Oc1ccccc1C(=O)O", {"ester": 1, "carboxylic acid": 1, "hydroxyl": 0, "ether": 0, "ketone": 0, "carbonyl": 2, "benzene ring": 1, "double bond": 2}),
    ("C[NH2+]CC(=O)[O-]", {"amine": 1, "carboxylic acid": 1, "amide": 0}),
    ("CC(C)(C)OC(=O)NCC#N", {"carbamate": 1, "ester": 0, "amide": 0, "amine": 0, "nitrile": 1, "methyl": 3, "triple bond": 1}),
    ("O=S(=O)(N)c1ccc(N)cc1", {"sulfonamide": 1, "amine": 1, "primary amine": 1, "thioether": 0}),
    ("OCCc1ccc(O)cc1", {"alcohol": 1, "phenol": 1, "hydroxyl": 2}),
    ("COc1ccncc1C(F)(F)F", {"halogen": 3, "methoxy": 1, "ether": 1, "trifluoromethyl": 1, "pyridine": 1, "heterocycle": 1, "benzene ring": 0}),
    ("C1CCC2(CC1)OCCO2", {"spiro atom": 1, "ether": 2, "five-membered ring": 1, "six-membered ring": 1}),
    ("NC(=O)NC=CC#CC=O", {"urea": 1, "amide": 0, "alkene": 1, "alkyne": 1, "aldehyde": 1, "ketone": 0}),
    ("[O-][N+](=O)c1ccccc1S", {"nitro": 1, "thiol": 1, "amine": 0}),
    ("C1CC1C1CO1", {"three-membered ring": 2, "epoxide": 1}),
])
def test_groups(smiles, counts):
    molecule = Chem.MolFromSmiles(smiles)
    assert {name: groups.count(molecule, name) for name in counts} == counts
