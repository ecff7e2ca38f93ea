"""Answers of the molecule reader without Triton: refusals, the cache of readings, functional groups."""

from __future__ import annotations

import base64
import dataclasses
import importlib
import io
import re
import sys
import time
from concurrent.futures import Executor, Future
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from pictures import png
from PIL import Image
from rdkit import Chem
from rdkit.Chem import rdDepictor

from scripts.served_reader import (
    answers,
    assistant,
    comparison,
    conversation,
    functional_groups,
    intents,
    json_answers,
    named_molecules,
    picture,
    properties,
    reading_cache,
)
from scripts.served_reader.conversation import Question, TurnPlan
from scripts.served_reader.intents import Intent, NamedMolecule, ParsedText
from scripts.served_reader.reading import Reading
from scripts.served_reader.request import InvalidRequest
from scripts.served_reader.wording import Molfile, tokens


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


def encoded(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue())


def test_a_picture_with_16_bits_keeps_its_greys():
    greys = np.array([[0, 128 * 256, 65535]], np.uint16)
    image = reading_cache.decode_picture(encoded(Image.fromarray(greys)))
    assert np.asarray(image).tolist() == [[[0] * 3, [128] * 3, [255] * 3]]


def test_a_picture_with_too_many_pixels_is_an_invalid_request(monkeypatch):
    picture = encoded(Image.new("L", (9, 9)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(InvalidRequest, match="too large"):
        reading_cache.decode_picture(picture)


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
        ("CC(=O)OC(C)=O", {"ester": 0}),
        ("CC(=O)Oc1ccccc1", {"ester": 1}),
        ("O=S(=O)(O)c1ccccc1", {"sulfone": 0}),
        ("CS(=O)(=O)C", {"sulfone": 1, "sulfonamide": 0}),
        ("O=S(=O)(N)c1ccc(N)cc1", {"sulfonamide": 1, "sulfone": 0, "amine": 1, "primary amine": 1, "thioether": 0}),
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


def with_r_groups(smiles: str) -> Reading:
    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    return Reading(smiles, molecule, 0.99, 1.0, (3, 4))


def ask(family: str, *readings: Reading, brief: bool = False, modes: tuple[str, ...] = ()) -> str:
    drawings = list(range(len(readings)))
    intent = Intent(family, 1.0, modes=list(modes))
    names = dict(zip(drawings, ("the first", "the second", "the third")))
    plan = TurnPlan([Question(intent, drawings)], brief, {n: n for n in drawings}, names)
    return "".join(answers.AnswerWriter(plan, readings.__getitem__, lambda texts: texts[0]).parts())


PHENYL = "*c1ccc(*)cc1 |$_R10;;;;;_R2;;$|"


@pytest.mark.parametrize(
    ("family", "brief", "says"),
    [
        ("smiles", False, f"The SMILES is {PHENYL}. The drawing does not say what R2 and R10 stand for."),
        ("smiles", True, PHENYL),
        ("count_rings", False, "It has 1 ring."),
        ("is_aromatic", True, "Yes"),
        ("sure", True, "99%"),
        *(
            (family, brief, "I cannot tell: that depends on what R2 and R10 stand for.")
            for family in (
                "name",
                "inchi",
                "formula",
                "mass",
                "charge",
                "elements",
                "groups",
                "count_heavy",
                "is_chiral",
            )
            for brief in (False, True)
        ),
        (
            "describe",
            False,
            f"It is {PHENYL}. It has 1 ring, of which 1 is aromatic. "
            "The drawing does not say what R2 and R10 stand for.",
        ),
    ],
)
def test_what_depends_on_r_groups_is_not_answered(family, brief, says):
    assert ask(family, with_r_groups(PHENYL), brief=brief) == says


@pytest.mark.parametrize(
    ("smiles", "undetermined"),
    [
        ("*C |$Ar1;$|", "what Ar1 stands for"),
        ("*CC |$aryl;;$|", "what aryl stands for"),
        ("CC1CCC(C)CC1 |Sg:n:1,2,3,4,6,7:n:ht|", "how often the unit in brackets repeats (n)"),
    ],
)
def test_rings_in_placeholders_and_repeat_units_are_not_counted(smiles, undetermined):
    reading = with_r_groups(smiles)
    for family in ("count_rings", "count_aromatic", "has_ring", "is_aromatic"):
        assert ask(family, reading) == f"I cannot tell: that depends on {undetermined}."
    assert ask("count_rings", reading, reading, modes=("more",)) == ask("mass", reading, reading, modes=("more",))
    assert "I cannot tell how many rings it has." in ask("describe", reading)
    assert json_answers.all_facts(reading)["rings"] is None


def test_drawings_that_differ_in_r_groups_are_different():
    first, second = with_r_groups(PHENYL), with_r_groups("*c1ccc(*)cc1 |$_R1;;;;;_R2;;$|")
    assert ask("same", first, first, brief=True) == "Yes"
    assert ask("same", first, second, brief=True) == "No"
    assert ask("same", first, with_r_groups("*c1ccccc1 |$_R1;;;;;;$|")).startswith("No, they are different")
    for family, modes in (("difference", ()), ("mass", ("more",)), ("formula", ("equal",))):
        says = "I cannot tell: that depends on what R1, R2 and R10 stand for."
        assert ask(family, first, second, modes=modes) == says
    assert ask("count_rings", first, second, modes=("equal",)) == "Yes, both have 1 ring."
    unsure = dataclasses.replace(second, confidence=0.4)
    says = ask("mass", first, unsure, modes=("more",))
    assert says.startswith("I am not sure that I read the second right. I cannot tell: that depends on")


@pytest.mark.parametrize(
    ("family", "modes", "says"),
    [
        ("count_rings", ("more",), "The third: 2 rings against no rings and 1 ring."),
        ("count_heavy", ("fewer",), "The first: 3 heavy atoms against 6 heavy atoms and 10 heavy atoms."),
        ("count_rings", ("equal",), "No: the first has no rings, the second 1 ring, the third 2 rings."),
        ("same", (), "No, they are different: the first is CCO, the second c1ccccc1, the third c1ccc2ccccc2c1."),
        ("difference", (), comparison.NAME_TWO),
    ],
)
def test_three_drawings_are_compared(family, modes, says):
    assert ask(family, *map(with_r_groups, ("CCO", "c1ccccc1", "c1ccc2ccccc2c1")), modes=modes) == says


def test_two_of_three_drawings_with_more_are_both_named():
    more = ask("count_rings", *map(with_r_groups, ("c1ccccc1", "Cc1ccccc1", "CC")), modes=("more",))
    assert more == "The first and the second: 1 ring against no rings."
    assert ask("same", *[with_r_groups("CCO")] * 3) == "Yes, all show the same molecule: CCO."


@pytest.mark.parametrize(
    ("words", "drawings", "missing"),
    [
        (["third", "fifth"], [2, 4], ""),
        (["fifth"], [0, 4], ""),
        (["first"], [0], ""),
        (["third", "seventh"], [], "seventh"),
        ([], [0, 1, 2, 3, 4], ""),
    ],
)
def test_which_of_five_drawings_are_compared(words, drawings, missing):
    history = conversation.History()
    history.add_drawings([0, 1, 2, 3, 4])
    history.focus = [0]
    question = history.find_drawings(Intent("same", 1.0, drawings=words))
    assert (question.drawings, question.missing) == (drawings, missing)


def test_the_third_drawing_is_told_from_later_ones():
    def parse(text: str) -> ParsedText:
        return ParsedText([Intent("mass", 1.0, drawings=["third"], text=part) for part in text.split(",")], False)

    parsed = conversation.parse_with_ordinals("the third and the 5th, the sixth", parse)
    assert [intent.drawings for intent in parsed.intents] == [["third", "5th"], ["sixth"]]


CAFFEINE = "Cn1c(=O)c2c(ncn2C)n(C)c1=O"


@pytest.mark.parametrize(
    ("family", "drawn", "named", "says"),
    [
        ("count_rings", PHENYL, CAFFEINE, "The molecule that you gave: 2 rings against 1 ring."),
        ("mass", PHENYL, CAFFEINE, "I cannot tell: that depends on what R2 and R10 stand for."),
        ("mass", CAFFEINE, "*c1ccccc1", "I cannot tell: that depends on what * stands for."),
        ("mass", PHENYL, "*C |$_R1;$|", "I cannot tell: that depends on what R1, R2 and R10 stand for."),
    ],
)
def test_comparisons_with_a_named_molecule_if_one_has_r_groups(family, drawn, named, says):
    molecule = NamedMolecule("the molecule that you gave", Chem.MolFromSmiles(named))
    intent = Intent(family, 1.0, modes=["more"], molecules=[molecule])
    plan = TurnPlan([Question(intent, [0])], False, {0: 0}, {0: "the picture"})
    parts = answers.AnswerWriter(plan, lambda _: with_r_groups(drawn), lambda texts: texts[0]).parts()
    assert "".join(parts) == says


def test_cxsmiles_in_a_question_keep_their_labels():
    (hidden, (found,)) = named_molecules.hide_molecules("Is that *c1ccccc1 |$_R1;;;;;;$|?")
    assert hidden == "Is that the other drawing?"
    assert properties.canonical_smiles(found.molecule) == "*c1ccccc1 |$_R1;;;;;;$|"
    (_, (found,)) = named_molecules.hide_molecules("Is it `*CO |$(CH2)n;;$|`?")
    assert properties.canonical_smiles(found.molecule) == "*CO |$(CH2)n;;$|"
    (hidden, (found,)) = named_molecules.hide_molecules("Is that *c1ccccc1 |$_R1 ?")
    assert hidden == "Is that the other drawing |$_R1 ?"
    assert properties.canonical_smiles(found.molecule) == "*c1ccccc1"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("less than 0.5?", 0.5),
        ("heavier than 1,000 g/mol", 1000),
        ("below -1.5", -1.5),
        ("less than .5", 0.5),
        ("more than -.5", -0.5),
        ("the molecule.2 rings?", 2),
        ("the 2nd drawing have more than 1 ring", 1),
        ("the 2nd drawing have more than two rings", 2),
        ("at least a ring", 1),
        ("the 22nd", None),
    ],
)
def test_the_number_of_a_bound(text, number):
    assert intents.number_in(text) == number


def parse_sentences(text: str) -> ParsedText:
    """Parses each sentence as a question for the InChI."""
    return ParsedText([Intent("inchi", 1.0, text=part) for part in re.findall(r"[^.?]+[.?]?", text)], False)


@pytest.mark.parametrize(
    ("text", "modes"),
    [
        ("Is this caffeine? Do not explain.", []),
        ("Is this caffeine or not?", []),
        ("Isn't this caffeine?", []),
        ("Is this not caffeine?", ["absent"]),
        ("Is this different from caffeine?", ["absent"]),
    ],
)
def test_a_negation_counts_between_the_verb_and_the_molecule(text, modes):
    intent = named_molecules.parse_with_molecules(text, parse_sentences).intents[0]
    assert (intent.family, intent.modes) == ("same", modes)


def test_a_question_beside_that_for_a_molecule_is_kept():
    parsed = named_molecules.parse_with_molecules("Is this aspirin? How many rings does it have?", parse_sentences)
    assert [(intent.family, len(intent.molecules)) for intent in parsed.intents] == [("same", 1), ("inchi", 0)]


def test_long_texts_of_repeated_words_take_no_minutes():
    start = time.monotonic()
    named_molecules.parse_with_molecules("aspirin " + "which is " * 2000, parse_sentences)
    assert not json_answers.ASKS_FOR_JSON.search("in " * 30_000)
    assert not conversation.asks_for_list("list " * 30_000)
    assert time.monotonic() - start < 5


def test_a_text_with_many_molecules_names_the_first_ones():
    text = " ".join(["CCO"] * 20 + ["aspirin"] * 20)
    hidden, found = named_molecules.hide_molecules(text)
    assert len(found) == named_molecules.MAX_MOLECULES == hidden.count(named_molecules.OTHER_DRAWING)


def test_repeated_questions_are_answered_once_and_limited():
    history = conversation.History()
    history.add_drawings([0, 1])
    asked = [Intent("count_rings", p, drawings=[word]) for p in (0.8, 0.9) for word in ("first", "second")]
    assert [q.drawings for q in history.add_questions(asked, True)] == [[0], [1]]
    history.add_questions([Intent("count_element", 1.0, elements=[e]) for e in properties.ELEMENTS], False)
    assert len(history.last_intents) == conversation.MAX_QUESTIONS


@pytest.mark.parametrize("checks", [0, 1], ids=["before the start", "while pictures are read"])
def test_a_cancelled_request_is_not_answered(monkeypatch, checks):
    backend = SimpleNamespace(TRITONSERVER_RESPONSE_COMPLETE_FINAL=1)
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", backend)
    responder = importlib.import_module("scripts.served_reader.responder")
    cancelled = iter([False] * checks + [True])
    send = Mock()
    sender = SimpleNamespace(is_cancelled=lambda: next(cancelled), send=send)
    text = SimpleNamespace(name=lambda: "text_input", as_numpy=lambda: np.array([b"Is it chiral?"], object))
    request = SimpleNamespace(get_response_sender=lambda: sender, inputs=lambda: [text])
    parser: Any = SimpleNamespace(parse=parse_sentences)
    helper = assistant.Assistant(parser, reading_cache.ReadingCache(SimpleNamespace(read_page=None), workers=1))
    responder.Responder(helper, 4096).respond(request)
    send.assert_called_once_with(flags=1)
    assert next(cancelled, None) is None


@pytest.mark.parametrize("smiles", ["*C1CCCCC1 |m:0:1.2|", "*C.CC |m:0:0.2|"])
def test_an_attachment_to_a_neighbour_is_no_molecule(smiles):
    assert named_molecules.hide_molecules(f"Is it `{smiles}`?") == (f"Is it `{smiles}`?", [])


def test_an_open_bond_is_named_in_words():
    says = "The drawing does not say what the open bond stands for."
    assert ask("smiles", with_r_groups("*CCO |$_AP1;;;$|")).endswith(says)
    assert ask("mass", with_r_groups("*CC* |$_AP1;;;X$|")).endswith("what X and the open bond stand for.")


def test_one_of_two_drawings_on_a_page_has_r_groups():
    first, second = (
        dataclasses.replace(reading, drawings=2, box=(0, 0, 90, 80)) for reading in map(with_r_groups, (PHENYL, "CCO"))
    )
    assert ask("formula", first, second) == (
        "The first (at 0, 0 to 90, 80): I cannot tell: that depends on what R2 and R10 stand for. "
        "The second (at 0, 0 to 90, 80): its molecular formula is C2H6O."
    )


def blocks_in(answer: str) -> list[str]:
    """Returns the code blocks of an answer in Markdown."""
    return re.findall(r"^```\n(.*?)^```$", answer, re.DOTALL | re.MULTILINE)


def test_a_mol_file_is_a_code_block():
    ethanol, methylamine = (with_r_groups(smiles) for smiles in ("CCO", "CN"))
    answer = ask("molfile", ethanol, methylamine)
    blocks = blocks_in(answer)
    assert [Chem.MolToSmiles(Chem.MolFromMolBlock(block)) for block in blocks] == ["CCO", "CN"]
    around = answer.replace(blocks[0], "1").replace(blocks[1], "2")
    assert around == "The first: its mol file (V3000):\n```\n1```\nThe second: its mol file (V3000):\n```\n2```"
    assert ask("molfile", ethanol, brief=True) == f"```\n{ethanol.molfile()}```"
    assert ask("molfile", ethanol, methylamine, brief=True).startswith("The first:\n```\n")
    answer = ask("molfile", dataclasses.replace(ethanol, confidence=0.4))
    assert answer.startswith("I am not sure that I read this drawing right (about 40%). I read it as CCO. Its mol file")


def test_a_mol_file_stands_apart_from_other_answers():
    reading = with_r_groups("CCO")
    plan = TurnPlan(
        [Question(Intent(family, 1.0), [0]) for family in ("formula", "molfile", "mass")], True, {0: 0}, {0: ""}
    )
    parts = answers.AnswerWriter(plan, lambda _: reading, lambda texts: texts[0]).parts()
    assert "".join(parts) == f"C2H6O\n```\n{reading.molfile()}```\n46.07 g/mol"


def test_a_mol_file_that_does_not_fit_is_replaced_by_a_sentence():
    short, long = Molfile("```\na b\n```"), Molfile("```\n" + "a b\n" * 30 + "```")
    parts = ["Its mol file (V3000):\n", short, "\n", long]
    assert answers.without_long_molfiles(parts, 200) == parts
    *kept, sentence = answers.without_long_molfiles(parts, 60)
    assert kept == parts[:3]
    assert sentence.startswith(
        f"The mol file is too long: with it, this answer has {len(tokens(parts))} tokens of at most 60."
    )


def test_a_served_reading_has_the_coordinates_of_the_drawing():
    drawn = dataclasses.replace(with_r_groups("C[C@H](F)Cl"), confidence=0.9)
    cache = reading_cache.ReadingCache(SimpleNamespace(read_page=lambda _: [drawn]), workers=1)
    cache.pool = InlineExecutor()
    (reading,) = cache.start(base64.b64encode(png(3, 4))).result()
    assert not reading.molecule.GetNumConformers() and reading.molfile() == drawn.molfile()


def test_a_drawing_of_what_was_read_has_the_labels():
    star, end = with_r_groups("*CCO"), with_r_groups("*CCO |$_AP1;;;$|")
    assert picture.picture_of(star) != picture.picture_of(end)
    other = with_r_groups(PHENYL.replace("R10", "R1"))
    assert picture.picture_of(with_r_groups(PHENYL)) != picture.picture_of(other)
