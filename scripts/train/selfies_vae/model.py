"""The network: a fully connected encoder to a latent vector, and a GRU that writes all symbols in one pass.

The architecture is the one of the SELFIES example (aspuru-guzik-group/selfies, examples/vae_example/chemistry_vae.py;
Krenn et al. 2020, arXiv:1905.13741), with two differences. The GRU reads the same latent vector at every position, and
not the symbols it wrote before. Here symbols are embedded before the first layer, and the GRU's first state is computed
from the latent vector.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn

EMBEDDING = 16
"""The numbers of an embedded symbol."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of the network."""

    symbols: int
    """Size of the alphabet; 0 is the padding symbol."""
    length: int
    """Symbols of a row."""
    latent: int = 48
    width: int = 192
    """Units of the GRU and of the encoder's layers."""


class Encoder(nn.Module):
    """Rows of symbols to the mean and the log variance of their latent vectors."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed = nn.Embedding(shape.symbols, EMBEDDING)
        self.layers = nn.Sequential(
            nn.Linear(shape.length * EMBEDDING, 2 * shape.width),
            nn.ReLU(),
            nn.Linear(2 * shape.width, shape.width),
            nn.ReLU(),
            nn.Linear(shape.width, 2 * shape.latent),
        )

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """int64 [batch, length] -> twice float [batch, latent]."""
        mean, log_variance = self.layers(self.embed(ids).flatten(1)).chunk(2, 1)
        return mean, log_variance


class Decoder(nn.Module):
    """Latent vectors to the logits of every symbol at every position."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.length = shape.length
        self.start = nn.Linear(shape.latent, shape.width)
        self.write = nn.GRU(shape.latent, shape.width, batch_first=True)
        self.logits = nn.Linear(shape.width, shape.symbols)

    def forward(self, latent: Tensor) -> Tensor:
        """float [batch, latent] -> float [batch, length, symbols]."""
        start = torch.tanh(self.start(latent)).unsqueeze(0)
        states, _ = self.write(latent.unsqueeze(1).expand(-1, self.length, -1), start)
        return self.logits(states)


class VAE(nn.Module):
    """Both halves."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = Encoder(shape)
        self.decoder = Decoder(shape)

    def loss(self, ids: Tensor, beta: float) -> Tensor:
        """The negative evidence lower bound per molecule, with weight beta on the Kullback-Leibler divergence."""
        mean, log_variance = self.encoder(ids)
        noise = torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        logits = self.decoder(mean + noise)
        reconstruction = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (reconstruction + beta * divergence) / len(ids)
