"""The two networks: an atom detector and a bond classifier.

The detector is a U-Net over inked cells only (sparse convolutions, Graham et al. 2018, arXiv 1711.10275: a blank cell
stays blank); the classifier is a perceptron on features along the line between two atoms.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from scripts.served_reader.detection import LINE_POINTS
from scripts.served_reader.labels import DETECTED_LABELS, REVERSED_KIND

KINDS = len(REVERSED_KIND)


@dataclass
class Shape:
    """Widths of the levels (cells of 2, 4, 8 and 16 pixels), residual blocks at the last two, width of the features,
    the atom labels, the number of kinds of bonds, and steps along a line."""

    widths: tuple[int, int, int, int] = (32, 64, 128, 192)
    blocks: tuple[int, int] = (4, 4)
    features: int = 96
    labels: tuple[str, ...] = DETECTED_LABELS
    kinds: int = KINDS
    steps: int = LINE_POINTS


SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"widths": (8, 12, 16, 20), "blocks": (1, 1), "features": 12},
    "small": {"blocks": (2, 2)},
    "medium": {},
    "large": {"widths": (48, 96, 192, 384), "blocks": (4, 4), "features": 128},
}


class SparseConvolution(torch.autograd.Function):
    """A 3x3 convolution over the rows of inked cells: gather nine rows, multiply.

    Its gradient gathers too: if a cell is neighbour k of another, that one is its neighbour 8 - k.
    """

    @staticmethod
    def forward(ctx, x: torch.Tensor, weight: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
        columns = gather(x, neighbours)
        ctx.save_for_backward(columns, weight, neighbours)
        return columns @ weight

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        columns, weight, neighbours = ctx.saved_tensors
        outputs = weight.shape[1]
        turned = weight.view(9, -1, outputs).flip(0).transpose(1, 2).reshape(9 * outputs, -1)
        gradient = gradient.contiguous()
        return gather(gradient, neighbours) @ turned, (gradient.t() @ columns).t(), None


class Move(torch.autograd.Function):
    """Permutes rows: out[i] = x[there[i]], and x[j] is only in out[back[j]]. The index len(x) is a row of zeros."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, there: torch.Tensor, back: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(back)
        return pick(x, there)

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        return pick(gradient.contiguous(), ctx.saved_tensors[0]), None, None


def pick(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Returns rows of x; the index len(x) stands for a row of zeros."""
    return torch.cat([x, x.new_zeros(1, x.shape[1])]).index_select(0, rows)


def gather(x: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
    """Returns each row with its neighbours, [n, 9 * channels] of [n, channels]."""
    return pick(x, neighbours.flatten()).view(len(neighbours), -1)


class Convolution(nn.Module):
    """A 3x3 convolution over inked cells."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(9 * inputs, outputs) * (2 / (4 * inputs)) ** 0.5)

    def forward(self, x: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
        if torch.onnx.is_in_onnx_export():
            return gather(x, neighbours) @ self.weight
        return SparseConvolution.apply(x, self.weight.to(x.dtype), neighbours)


class Block(nn.Module):
    """A residual block: relu(x + norm(conv(relu(norm(conv(x))))))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = Convolution(width, width), Convolution(width, width)
        self.norm, self.last = nn.BatchNorm1d(width), nn.BatchNorm1d(width)
        nn.init.constant_(self.last.weight, 0.3)

    def forward(self, x: torch.Tensor, neighbours: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm(self.first(x, neighbours)))
        return F.relu(x + self.last(self.second(y, neighbours)))


def move(x: torch.Tensor, there: torch.Tensor, back: torch.Tensor) -> torch.Tensor:
    return pick(x, there) if torch.onnx.is_in_onnx_export() else Move.apply(x, there, back)


class Down(nn.Module):
    """Merges four cells to the cell of the next level that contains them."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(4 * inputs, outputs, bias=False), nn.BatchNorm1d(outputs)

    def forward(self, x: torch.Tensor, children: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.linear(move(x, children.flatten(), place).view(len(children), -1))))


class Up(nn.Module):
    """Splits a cell into the four that it contains, and adds their features from the way down."""

    def __init__(self, inputs: int, skip: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.skip = nn.Linear(inputs, 4 * outputs, bias=False), nn.Linear(skip, outputs, bias=False)
        self.norm, self.outputs = nn.BatchNorm1d(outputs), outputs

    def forward(self, x: torch.Tensor, skip: torch.Tensor, children: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        fine = move(self.linear(x).view(-1, self.outputs), place, children.flatten())
        return F.relu(self.norm(fine + self.skip(skip)))


class AtomDetector(nn.Module):
    """From cells to features of the 4-pixel cells, the atom at each of them, and whether the drawing shows a
    molecule."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        a, b, c, d = shape.widths
        self.stem, self.stem_norm = nn.Linear(36, a, bias=False), nn.BatchNorm1d(a)
        self.fine, self.fine_norm = Convolution(a, a), nn.BatchNorm1d(a)
        self.down = nn.ModuleList([Down(a, b), Down(b, c), Down(c, d)])
        self.at4 = Block(b)
        self.at8 = nn.ModuleList([Block(c) for _ in range(shape.blocks[0])])
        self.at16 = nn.ModuleList([Block(d) for _ in range(shape.blocks[1])])
        self.up8, self.back8 = Up(d, c, c), Block(c)
        self.up4, self.back4 = Up(c, b, shape.features), Block(shape.features)
        self.atom = nn.Sequential(
            nn.Linear(shape.features, shape.features), nn.ReLU(), nn.Linear(shape.features, 1 + len(shape.labels) + 2)
        )
        self.molecule = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 1))
        self.atom.hidden = self.molecule.hidden = self.stem.hidden = False

    def forward(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features [cells, features], atoms [cells, 1 + classes + 2] and molecule [drawings], logits both."""
        near = [batch[f"neighbours{i}"] for i in range(4)]
        children = [batch.get(f"children{i}") for i in range(4)]
        place = [batch.get(f"place{i}") for i in range(4)]
        x = F.relu(self.stem_norm(self.stem(batch["patches"].float() / 128 - 0.5)))
        x = F.relu(self.fine_norm(self.fine(x, near[0])))
        four = self.at4(self.down[0](x, children[1], place[0]), near[1])
        eight = self.down[1](four, children[2], place[1])
        for block in self.at8:
            eight = block(eight, near[2])
        x = self.down[2](eight, children[3], place[2])
        for block in self.at16:
            x = block(x, near[3])
        whole = self.molecule(self.pool(x, batch))[:, 0]
        eight = self.back8(self.up8(x, eight, children[3], place[2]), near[2])
        four = self.back4(self.up4(eight, four, children[2], place[1]), near[1])
        return four, self.atom(four), whole

    @staticmethod
    def pool(x: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns the mean over the cells of each drawing."""
        count = len(batch["drawings"])
        total = x.new_zeros(count, x.shape[1], dtype=torch.float32).index_add(0, batch["drawing"], x.float())
        return total / torch.bincount(batch["drawing"], minlength=count).clamp(min=1)[:, None]


class BondClassifier(nn.Module):
    """From the features along the line between two atoms to the kind of bond."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.cells = shape.features
        self.features = nn.Linear(shape.features * shape.steps, 160)
        self.shape = nn.Linear(4, 160, bias=False)
        self.hide, self.out = nn.Linear(160, 96), nn.Linear(96, shape.kinds)
        self.out.hidden = self.shape.hidden = False

    def forward(self, features: torch.Tensor, line: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        """Logits [pairs, kinds] from cell features, cell numbers [pairs, steps] and line shapes [pairs, 4]."""
        x = pick(features, line.flatten()).view(len(line), -1)
        return self.out(F.relu(self.hide(F.relu(self.features(x) + self.shape(shape)))))


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.atom_detector, self.bond_classifier = AtomDetector(shape), BondClassifier(shape)
        self.bonds_only = False

    def train_bonds_only(self) -> None:
        """From now on only the bond classifier is trained."""
        self.bonds_only = True
        self.atom_detector.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Model:
        super().train(mode)
        if self.bonds_only:
            self.atom_detector.eval()
        return self

    def forward(self, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        features, atoms, molecule = self.atom_detector(batch)
        return atoms, self.bond_classifier(features, batch["line"], batch["shape"]), molecule


def loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the sum of the cross entropies of atoms and bonds, the distance of the offsets in cells, and the cross
    entropy of the molecule flag; and its parts."""
    atoms, kinds, molecule = model(batch)
    atoms, kinds = atoms.float(), kinds.float()
    has_atom = batch["atom"] > 0
    atom = F.cross_entropy(atoms[:, :-2], batch["atom"], ignore_index=-1)
    offset = F.smooth_l1_loss(atoms[has_atom, -2:], batch["offset"][has_atom] / 4)
    line = F.cross_entropy(kinds, batch["kind"])
    flag = F.binary_cross_entropy_with_logits(molecule.float(), batch["molecule"])
    right = (kinds.argmax(1) == batch["kind"]).float().mean()
    total = 2 * atom + offset + 2 * line + 0.3 * flag
    return total, {
        "atom": atom.detach(),
        "offset": offset.detach(),
        "line": line.detach(),
        "flag": flag.detach(),
        "right_lines": right,
    }


def shape_of(given: dict[str, Any]) -> Shape:
    """Returns the shape that describe returned as a JSON object. TypeError: other fields."""
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
    return Shape(**fields)


def describe(shape: Shape) -> dict[str, Any]:
    return dataclasses.asdict(shape)
