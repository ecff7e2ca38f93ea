"""Latent vectors to SMILES: the likeliest SELFIES symbol at each position, then selfies.decoder."""

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
    """Reads hiddens FP32 [batch, size], answers smiles BYTES [batch, 1]."""

    def initialize(self, args):
        with open(os.path.join(FOLDER, "alphabet.json")) as file:
            self.symbols = json.load(file)["symbols"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(FOLDER, "decoder.onnx"), options)

    def text(self, ids):
        """The SMILES of a row of symbols, which ends at the first padding."""
        symbols = [self.symbols[number] for number in ids]
        symbols = symbols[: symbols.index("[nop]")] if "[nop]" in symbols else symbols
        try:
            return selfies.decoder("".join(symbols))
        except selfies.DecoderError:
            return ""

    def execute(self, requests):
        responses = []
        for request in requests:
            hiddens = pb_utils.get_input_tensor_by_name(request, "hiddens").as_numpy()
            (logits,) = self.session.run(["logits"], {"hiddens": hiddens})
            texts = np.array([[self.text(row).encode()] for row in logits.argmax(2)], object)
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("smiles", texts)]))
        return responses
