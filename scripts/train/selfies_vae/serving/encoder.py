"""SMILES to latent vectors: the molecules as SELFIES symbols, then encoder.onnx."""

import json
import os
import sys

import numpy as np
import onnxruntime
import triton_python_backend_utils as pb_utils

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)
import selfies  # noqa: E402


class TritonPythonModel:
    """Reads smiles BYTES [batch, 1], answers hiddens FP32 [batch, size]."""

    def initialize(self, args):
        with open(os.path.join(FOLDER, "alphabet.json")) as file:
            alphabet = json.load(file)
        self.length = alphabet["length"]
        self.ids = {symbol: number for number, symbol in enumerate(alphabet["symbols"])}
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(FOLDER, "encoder.onnx"), options)

    def row(self, smiles):
        """The symbol ids of a molecule: unknown symbols are left out, long molecules are cut."""
        try:
            symbols = selfies.split_selfies(selfies.encoder(smiles, strict=False))
        except selfies.EncoderError:
            symbols = []
        known = [self.ids[symbol] for symbol in symbols if symbol in self.ids][: self.length]
        return known + [0] * (self.length - len(known))

    def execute(self, requests):
        responses = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "smiles").as_numpy()[:, 0]
            rows = np.array([self.row(text.decode()) for text in texts], np.int64)
            (hiddens,) = self.session.run(["hiddens"], {"input_ids": rows})
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("hiddens", hiddens)]))
        return responses
