"""Reads the letters at an atom from a crop of the picture, for labels that the atom detector does not know, such as R1.

A network gives the characters of the label, which spell it as labels.py does: OR1 stands for R1O too. So a label can be
read that was never drawn in training, if its characters were.
"""

from __future__ import annotations

import string
from pathlib import Path

import numpy as np
from PIL import Image

from .labels import ATOM_LABELS
from .networks import load_session

BOND = 64
"""Length in pixels of the drawing's typical bond in a crop."""
HEIGHT, WIDTH = 112, 352
"""Size of a crop in pixels; the atom is in its middle."""
SURE_PROBABILITY = 0.9
"""If the best label of the first crop reaches this probability, no further crop is read."""
OTHER_SCALES = (0.87, 1.15)
"""Factors on the bond length for the further crops, in which small digits are read better."""
SLOTS = 11
"""Slots for characters: one more than the longest label has."""
END = ""
"""Fills the slots after a label's characters."""
ALPHABET = (END, *"'()*+-?", *string.digits, *string.ascii_letters)
"""The network's classes of a slot."""


def encoded(label: str) -> list[int]:
    """Returns the class of each slot; a carbon is spelled by no characters, since it is mostly drawn without."""
    text = "" if label == "C" else label
    return [ALPHABET.index(character) for character in text] + [0] * (SLOTS - len(text))


SPELLED = np.array([encoded(label) for label in ATOM_LABELS])
"""int [labels, SLOTS]: the characters of each label."""


def crops(ink: np.ndarray, points: np.ndarray, bond_length: float) -> np.ndarray:
    """Returns the surroundings of points of a picture, uint8 [points, HEIGHT, WIDTH].

    ink: uint8 [height, width]; points: float [points, 2], x and y in its pixels; bond_length: of the drawing, in its
    pixels.
    """
    picture = Image.fromarray(ink)
    size = np.array([WIDTH, HEIGHT]) * bond_length / BOND
    out = np.empty((len(points), HEIGHT, WIDTH), np.uint8)
    for number, begin in enumerate(points - size / 2):
        first, last = np.floor(begin).astype(int), np.ceil(begin + size).astype(int)
        around = picture.crop((*first.tolist(), *last.tolist()))  # Blank beyond the picture.
        box = (*(begin - first).tolist(), *(begin - first + size).tolist())
        out[number] = around.resize((WIDTH, HEIGHT), Image.Resampling.BILINEAR, box)
    return out


def label_probabilities(characters: np.ndarray) -> np.ndarray:
    """Returns the probability of each label, float [crops, labels], from logits float [crops, SLOTS, characters].

    They add up to less than 1: the rest belongs to spellings that are no label.
    """
    logits = characters.astype(np.float64)
    logits -= logits.max(2, keepdims=True)
    logits -= np.log(np.exp(logits).sum(2, keepdims=True))
    return np.exp(logits[:, np.arange(SLOTS), SPELLED].sum(2))


class LabelReader:
    """The network in a version's folder; safe for concurrent use."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.session = load_session(folder / "label_reader.onnx", threads)

    def read(self, ink: np.ndarray, points: np.ndarray, bond_length: float) -> np.ndarray:
        """Returns the probability of each label at points of a picture; see crops and label_probabilities. Where no
        label reaches SURE_PROBABILITY, they are means over the scales."""
        first = self._read_once(ink, points, bond_length)
        unsure = first.max(1) < SURE_PROBABILITY
        if unsure.any():
            others = [self._read_once(ink, points[unsure], factor * bond_length) for factor in OTHER_SCALES]
            first[unsure] = np.mean([first[unsure], *others], axis=0)
        return first

    def _read_once(self, ink: np.ndarray, points: np.ndarray, bond_length: float) -> np.ndarray:
        return label_probabilities(self.session.run(["characters"], {"crops": crops(ink, points, bond_length)})[0])
