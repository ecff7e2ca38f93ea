"""The network that parses questions: its texts and its graph, and that every label has an answer. Run by `make
test-train`."""

import gzip
import json
import random

import numpy as np
import onnxruntime
import pytest
import torch

from scripts.served_reader import functional_groups, intents
from scripts.served_reader.conversation import FAMILIES_WITHOUT_DRAWING
from scripts.served_reader.properties import COUNTS, ELEMENTS, MEASURES
from scripts.train import checkpoint
from scripts.train.embedding import corpora
from scripts.train.embedding.examples import CPU_QUERIES, MAX_NEGATIVE_COSINE, load_sets
from scripts.train.phrases import evaluation, examples, export
from scripts.train.phrases.__main__ import tensors
from scripts.train.phrases.grammar import LABELS, parse, sample
from scripts.train.phrases.model import Model, Shape, graph, loss
from scripts.train.phrases.templates import HELD_OUT, TRAIN
from scripts.train.ranking import short
from scripts.train.ranking.__main__ import SHARES


def test_held_out_phrases_are_held_out():
    draw = random.Random(1)
    for family in examples.NAMES:
        assert len(HELD_OUT[family]) >= 1 and not set(HELD_OUT[family]) & set(TRAIN[family]), family
        for template in TRAIN[family]:
            assert sample(parse(template), draw), template


@pytest.fixture
def data(tmp_path):
    """A data folder named like the published files, with thirty questions in each set, lines that are none, and one
    passage."""
    (tmp_path / "retrieval").mkdir()
    for name in examples.QUESTION_FILES.values():
        key = "text" if name == "banking77" else "query"
        rows: list[dict] = [{"qid": str(i), key: f"question {i} of {name}?", "lang": "en"} for i in range(30)]
        rows += [
            {key: "wie geht es?", "lang": "de"},
            {key: "long " * 100},
            {key: rows[0][key]},
            {key: "asked by every set?", "pos": []},
        ]
        write(tmp_path, name, [{"pos": [], **row} for row in rows])
    texts = sorted({*(f"question {i} of nq_gold.queries?" for i in range(30)), "asked by every set?"})
    write(
        tmp_path,
        "nq_gold.queries",
        [{"query": text, "pos": ["held out" if number % 10 == 0 else "train"]} for number, text in enumerate(texts)],
    )
    write(
        tmp_path,
        "nq_gold.passages",
        [
            {"pid": "held out", "text": "Nobody may learn from this sentence here."},
            {"pid": "train", "text": "The long river rises in the high mountains of the north."},
        ],
    )
    return tmp_path


def write(data, name, rows):
    with gzip.open(data / "retrieval" / f"{name}.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def test_only_open_sets_are_trained_on_and_the_others_measure_whole(data):
    train, held, outside = (examples.out_of_scope(data, part) for part in examples.SPLITS)
    assert set(train) == set(held) == set(corpora.OPEN_SETS) & set(examples.QUESTION_FILES)
    assert (
        set(outside)
        == set(examples.QUESTION_FILES) - set(corpora.OPEN_SETS)
        == {*corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS}
    )
    for name, file in examples.QUESTION_FILES.items():
        texts = train.get(name, []) + held.get(name, []) + outside.get(name, [])
        assert len([t for t in texts if file in t]) == 30, name
    assert all(len(held[name]) in (3, 4) for name in held)
    texts = [text for part in (train, held, outside) for questions in part.values() for text in questions]
    assert len(texts) == len(set(texts)) == 30 * len(examples.QUESTION_FILES) + 1


def test_no_training_of_the_text_models_reads_another_set():
    """All sets that embedding, ranking and phrases name are in OPEN_SETS."""
    for names in (
        CPU_QUERIES,
        MAX_NEGATIVE_COSINE,
        short.ANSWERED,
        [examples.PASSAGES],
        set(SHARES) - {"dictionary", "sentences", "selqa"},
    ):
        assert set(names) <= set(corpora.OPEN_SETS)
    assert not set(corpora.OPEN_SETS) & {*corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS}


def test_examples_of_a_set_that_is_not_open_are_refused(tmp_path):
    checkpoint.save({"name": "xquad"}, tmp_path / "xquad.pt")
    with pytest.raises(ValueError, match="xquad must not be trained on"):
        load_sets(tmp_path)


def test_a_set_without_questions_is_an_error(data):
    write(data, "pubmedqa.queries", [{"qid": "1", "question": "Does it?"}])
    with pytest.raises(ValueError, match=r"pubmedqa\.queries.*query, text"):
        examples.out_of_scope(data, "train")
    with pytest.raises(ValueError, match="no such part: test"):
        examples.out_of_scope(data, "test")


def test_passages_of_held_out_questions_are_not_used(data):
    assert examples.sentences(data) == ["The long river rises in the high mountains of the north."]


def test_training_has_questions_of_every_open_set_and_pieces_of_sentences(data):
    train = examples.out_of_scope(data, "train")
    maker, draw = examples.Maker(train, examples.sentences(data)), random.Random(3)
    made = [" ".join(maker.make(draw).words).lower() for _ in range(4000)]
    for name in train:
        question = " ".join(intents.split_words(f"of {examples.QUESTION_FILES[name]}?"))
        assert any(question in text for text in made), name
    assert any("high mountains" in text for text in made)


def test_files_are_those_that_training_reads(data):
    for name in examples.files():
        assert (data / name).exists(), name


def test_sets_may_be_left_out(data):
    assert examples.out_of_scope(data, "train", []) == {} and examples.sentences(data, []) == []
    assert set(examples.out_of_scope(data, "train", ["banking77"])) == {"banking77"}
    assert examples.files([]) == [] and len(examples.files(["nq_gold"])) == 2
    (data / "retrieval" / "xquad.queries.jsonl.gz").unlink()  # only measured, so it may be missing
    assert "xquad" not in examples.out_of_scope(data, "outside")


def test_own_questions_are_added(tmp_path):
    (tmp_path / "own.txt").write_text("# ours\n== count_rings\nhow many cycles [are|do you see] in {M}\n--\ncycles?\n")
    own = examples.own_questions(tmp_path, "own.txt")
    assert own.train["count_rings"] == [*TRAIN["count_rings"], "how many cycles [are|do you see] in {M}"]
    assert (
        own.held_out["count_rings"] == [*HELD_OUT["count_rings"], "cycles?"] and own.train["smiles"] == TRAIN["smiles"]
    )
    maker, draw = examples.Maker({}, train={name: ["how many cycles"] for name in TRAIN}), random.Random(1)
    assert any("cycles" in maker.make(draw).words for _ in range(20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("how many\n", "the first line must name a family"),
        ("== colour\nwhat colour\n", "unknown family 'colour'; the families are smiles, name"),
        ("== smiles\nwhat [is|\n", "what .is.*out of range"),
        ("== smiles\nwhat {is\n", "what .is.*not found"),
        ("== smiles\nwhat {THAT}\n", "no such part: THAT"),
        ("== smiles\n<tenth:tenth>\n", "no such label: tenth"),
        ("== smiles\n<colour=red:red>\n", "'colour'"),
        ("== smiles\n" + "[" * 5000 + "\n", "recursion"),
    ],
)
def test_wrong_own_questions_are_named(tmp_path, text, message):
    (tmp_path / "own.txt").write_text(text)
    with pytest.raises(SystemExit, match=f"(?s)--questions own.txt: .*{message}"):
        examples.own_questions(tmp_path, "own.txt")
    with pytest.raises(SystemExit, match=r"--questions none.txt: .*No such file"):
        examples.own_questions(tmp_path, "none.txt")


def test_labels_follow_the_words():
    made = examples.Example()
    made.add(
        sample(
            parse("how many <exactly:exactly 2> <element=Cl:chlorine atoms> in the <second:second> one"),
            random.Random(1),
        ),
        "count_element",
    )
    assert made.words == "how many exactly 2 chlorine atoms in the second one".split()
    assert [LABELS["mode"][k] for k in made.heads["mode"]][2:4] == ["exactly", "exactly"]
    assert evaluation.expected(made) == [("count_element", {"Cl"}, frozenset(), {"second"}, {"exactly"})]


def test_the_same_seed_makes_the_same_texts():
    maker = examples.Maker({"made": ["who wrote this?"]})
    first, second = ([maker.make(random.Random(7)).words for _ in range(3)] for _ in range(2))
    assert first == second


def test_the_network_learns_and_its_graph_equals_torch(tmp_path):
    torch.manual_seed(1)
    model, maker, draw = Model(Shape()), examples.Maker({}), random.Random(2)
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
    words = intents.split_words("Please give me the formula of the second molecule, and how many rings it has")
    got = onnxruntime.InferenceSession(str(tmp_path / "phrases.onnx")).run(None, {"words": intents.feature_rows(words)})
    distinct = np.concatenate([np.zeros((1, intents.WORD_FEATURES), np.int64), intents.feature_rows(words)])
    with torch.no_grad():
        begins, heads = model(torch.arange(1, len(distinct))[None], torch.from_numpy(distinct))
    assert np.allclose(got[0], begins[0].numpy(), atol=0.05)
    for mine, theirs in zip(got[1:], heads):
        assert np.allclose(mine, theirs[0].log_softmax(-1).numpy(), atol=0.1)


def test_whatever_can_be_named_can_be_answered():
    assert (
        LABELS["group"][1:] == [n for n in LABELS["group"] if n in functional_groups.NAMES]
        and len(LABELS["group"]) == len(functional_groups.NAMES) + 1
    )
    assert set(LABELS["element"]) - {"none"} == set(ELEMENTS)
    answered = {
        "smiles",
        "name",
        "inchi",
        "molfile",
        "formula",
        "elements",
        "groups",
        "describe",
        "sure",
        "has_ring",
        "is_aromatic",
        "is_charged",
        "is_chiral",
        "count_element",
        "has_element",
        "count_group",
        "has_group",
        "same",
        "difference",
        "size",
        "is_molecule",
    }
    assert set(examples.NAMES) == answered | FAMILIES_WITHOUT_DRAWING | set(COUNTS) | set(MEASURES)
    assert set(intents.BOUNDS) <= set(LABELS["mode"])


@pytest.mark.parametrize(
    "options, command", [({}, "--sets`"), ({"questions": "own.txt"}, "--sets --questions own.txt`")]
)
def test_the_card_names_own_questions_if_there_are_any(options, command):
    figures = {"held_out_phrases": 1.0, "phrases": 9, "new_texts": 0.5, "texts": 20, "refused": {}}
    sections = export.card_sections("own", {"sets": [], **options}, Model(Shape()), figures)
    assert command in sections[1] and "| 9 held-out wordings: the family is right | 100.0% |" in sections[1]
