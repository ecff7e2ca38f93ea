"""The letters at atoms that the atom detector does not know: crops of a picture, and what the label reader makes of
them."""

import numpy as np
import pytest

from scripts.served_reader.drawing_reader import combined
from scripts.served_reader.label_reader import (
    ALPHABET,
    BOND,
    HEIGHT,
    OTHER_SCALES,
    SLOTS,
    WIDTH,
    LabelReader,
    crops,
    label_probabilities,
)
from scripts.served_reader.labels import ATOM_LABELS, CLASSES, UNKNOWN_LABEL


def logits_of(*texts, strength=20.0):
    """Returns logits that are sure of texts."""
    out = np.zeros((len(texts), SLOTS, len(ALPHABET)), np.float32)
    for row, text in zip(out, texts, strict=True):
        row[np.arange(SLOTS), [ALPHABET.index(c) for c in text] + [0] * (SLOTS - len(text))] = strength
    return out


@pytest.mark.parametrize("label", ["R1", "OR11", "(CH2)n", "NR10R11", "NH2+", "R'", "*", "?"])
def test_characters_that_spell_a_label_are_that_label(label):
    probabilities = label_probabilities(logits_of(label))
    assert ATOM_LABELS[probabilities[0].argmax()] == label and probabilities[0].max() > 0.99


def test_no_characters_are_a_carbon():
    assert label_probabilities(logits_of(""))[0, CLASSES["C"]] > 0.99


def test_characters_that_spell_no_label_have_a_small_probability():
    assert label_probabilities(logits_of("R1R1R1", "xyz")).sum(1).max() < 0.01


def test_an_undecided_character_shares_the_probability():
    logits = logits_of("R1")
    logits[0, 1, ALPHABET.index("7")] = logits[0, 1, ALPHABET.index("1")]
    shares = label_probabilities(logits)[0]
    assert shares[CLASSES["R1"]] == pytest.approx(shares[CLASSES["R7"]]) == pytest.approx(0.5, abs=0.01)


class Session:
    """Stands in for the network: answers each call with the next logits."""

    def __init__(self, *answers: np.ndarray) -> None:
        self.answers = list(answers)

    def run(self, outputs, inputs):
        answer = self.answers.pop(0)
        assert len(inputs["crops"]) == len(answer)
        return [answer]


def test_only_an_unsure_label_is_read_at_further_scales():
    first = logits_of("R1", "R1")
    first[1, 1, ALPHABET.index("7")] = first[1, 1, ALPHABET.index("1")]
    reader = object.__new__(LabelReader)
    reader.session = Session(first, *[logits_of("R7")] * len(OTHER_SCALES))
    sure, unsure = reader.read(np.zeros((50, 50), np.uint8), np.array([[10.0, 10.0], [20.0, 20.0]]), 15.0)
    assert not reader.session.answers
    assert sure[CLASSES["R1"]] > 0.99
    assert unsure[CLASSES["R7"]] == pytest.approx(1 - 0.5 / (1 + len(OTHER_SCALES)), abs=0.01)


@pytest.mark.parametrize("bond", [BOND / 2, BOND, 4.7 * BOND])
def test_a_crop_has_its_point_in_the_middle(bond):
    ink = np.zeros((600, 900), np.uint8)
    radius = round(bond / 8)
    ink[300 - radius : 300 + radius, 500 - radius : 500 + radius] = 255
    crop = crops(ink, np.array([[500.0, 300.0]]), bond)[0]
    rows, columns = np.nonzero(crop > 128)
    assert crop.shape == (HEIGHT, WIDTH)
    assert (rows.mean() + 0.5, columns.mean() + 0.5) == pytest.approx((HEIGHT / 2, WIDTH / 2), abs=0.6)
    assert np.ptp(rows) + 1 == pytest.approx(BOND / 4, abs=1.1)


def test_a_crop_beyond_the_picture_is_blank_there():
    ink = np.full((HEIGHT, 60), 255, np.uint8)
    crop = crops(ink, np.array([[0.0, 0.0]]), BOND)[0]
    assert not crop[: HEIGHT // 2 - 1].any() and not crop[:, : WIDTH // 2 - 1].any() and crop[-1, -20] == 0
    assert crop[HEIGHT // 2 + 1 :, WIDTH // 2 + 1 : WIDTH // 2 + 50].min() == 255


def probabilities(**shares: float) -> np.ndarray:
    row = np.zeros((1, len(ATOM_LABELS)))
    for label, share in shares.items():
        row[0, CLASSES[label]] = share
    return row


@pytest.mark.parametrize(
    ("detected", "seen", "label"),
    [
        ({"N": 0.6, "O": 0.4}, {"O": 0.9}, "O"),
        ({UNKNOWN_LABEL: 0.9}, {"R1": 0.6, "R7": 0.3}, "R1"),
        ({"S": 0.9, UNKNOWN_LABEL: 0.05}, {"X": 0.99}, "X"),
        ({UNKNOWN_LABEL: 0.9}, {"R1": 0.02, "R7": 0.01}, UNKNOWN_LABEL),
        ({"Cl": 0.96}, {"R1": 0.1}, "Cl"),
    ],
)
def test_both_networks_decide_on_a_label(detected, seen, label):
    both = combined(probabilities(**detected), probabilities(**seen))
    assert both.sum() == pytest.approx(1) and ATOM_LABELS[both[0].argmax()] == label
