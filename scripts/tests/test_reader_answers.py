"""Answers of the molecule reader without Triton: refusals, the cache of readings, functional groups."""

from __future__ import annotations

from concurrent.futures import Executor, Future
from types import SimpleNamespace

import pytest
from rdkit import Chem

from scripts.served_reader import answers, functional_groups, reading_cache
from scripts.served_reader.conversation import Question, TurnPlan
from scripts.served_reader.intents import Intent
from scripts.served_reader.reading import Reading
from scripts.served_reader.request import InvalidRequest


@pytest.mark.parametrize(
    ("families", "drawings", "refusal"),
    [
        (("formula", "mass", "charge"), [0], answers.NO_MOLECULE),
        (("formula", "count_rings"), [], answers.NEEDS_DRAWING),
    ],
    ids=["no molecule", "no drawing"],
)
def test_a_refusal_is_given_once(families, drawings, refusal):
    plan = TurnPlan(
        [Question(Intent(family, 1.0), drawings) for family in (*families, "size")],
        False,
        {number: number for number in drawings},
        {0: "the picture"},
    )
    reading = Reading(None, None, 0.0, 0.0, (3, 4))
    parts = answers.AnswerWriter(plan, lambda _: reading, lambda texts: texts[0]).parts()
    assert parts == ([refusal, " ", "3 × 4 pixels."] if drawings else [refusal])


class InlineExecutor(Executor):
    """Runs a task before submit returns."""

    def submit(self, task, /, *args, **kwargs):
        future: Future = Future()
        try:
            future.set_result(task(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def test_a_failed_reading_is_evicted():
    cache = reading_cache.ReadingCache(SimpleNamespace(read_page=None), workers=1)
    cache.pool = InlineExecutor()
    for _ in range(2):
        with pytest.raises(InvalidRequest):
            cache.start(b"%%%").result()
    assert not cache.futures


@pytest.mark.parametrize(
    ("smiles", "counts"),
    [
        (
            "CC(=O)Oc1ccccc1C(=O)O",
            {
                "ester": 1,
                "carboxylic acid": 1,
                "hydroxyl": 0,
                "ether": 0,
                "ketone": 0,
                "carbonyl": 2,
                "benzene ring": 1,
                "double bond": 2,
            },
        ),
        ("C[NH2+]CC(=O)[O-]", {"amine": 1, "carboxylic acid": 1, "amide": 0}),
        (
            "CC(C)(C)OC(=O)NCC#N",
            {"carbamate": 1, "ester": 0, "amide": 0, "amine": 0, "nitrile": 1, "methyl": 3, "triple bond": 1},
        ),
        ("O=S(=O)(N)c1ccc(N)cc1", {"sulfonamide": 1, "amine": 1, "primary amine": 1, "thioether": 0}),
        ("OCCc1ccc(O)cc1", {"alcohol": 1, "phenol": 1, "hydroxyl": 2}),
        (
            "COc1ccncc1C(F)(F)F",
            {
                "halogen": 3,
                "methoxy": 1,
                "ether": 1,
                "trifluoromethyl": 1,
                "pyridine": 1,
                "heterocycle": 1,
                "benzene ring": 0,
            },
        ),
        ("C1CCC2(CC1)OCCO2", {"spiro atom": 1, "ether": 2, "five-membered ring": 1, "six-membered ring": 1}),
        ("NC(=O)NC=CC#CC=O", {"urea": 1, "amide": 0, "alkene": 1, "alkyne": 1, "aldehyde": 1, "ketone": 0}),
        ("[O-][N+](=O)c1ccccc1S", {"nitro": 1, "thiol": 1, "amine": 0}),
        ("C1CC1C1CO1", {"three-membered ring": 2, "epoxide": 1}),
    ],
)
def test_functional_groups(smiles, counts):
    molecule = Chem.MolFromSmiles(smiles)
    assert {name: functional_groups.count(molecule, name) for name in counts} == counts
