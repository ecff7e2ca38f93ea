"""Writes the trained latent model as entries of the model repository.

    python -m scripts.train.latent.export --run runs/latent --repository model_repository --data DATA

latent_encoder        input_ids, attention_mask int64 [B, L]                 -> hiddens float [B, 1, 512]
latent_decoder        hiddens float [B, 1, 512], temperature float [B, 1],
                      seed int64 [B, 1]                                      -> token_ids int64 [B, T], score float [B, 1]
latent_decoder_beam   hiddens float [B, 1, 512], beam_size int64 [B, 1]      -> token_ids int64 [B, K, T], score float [B, K]

Each decoder graph holds the whole loop with its key/value cache and ends when every row has ended.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import torch

from scripts.train import checkpoint
from scripts.train.latent import decoder_graph, encoder_graph
from scripts.train.latent.model import Model, Shape


def load(run: Path) -> Model:
    """The averaged weights of a run, in eval mode."""
    shape = Shape(**json.loads((run / "shape.json").read_text()))
    model = Model(shape)
    parts = sorted(run.glob("weights.part*"))
    model.load_state_dict(checkpoint.load(run / "weights.pt") if not parts or (run / "weights.pt").exists() else checkpoint.join_parts(run))
    return model.eval()
