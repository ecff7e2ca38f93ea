"""A PMO oracle as a Triton model: it scores SMILES and logs each distinct one once, a call of the benchmark.

The parameters of its config.pbtxt are the task, the folder of oracles.py ("code"), the log ("calls"), which has a
line "SMILES score" per call, and the number of calls after which it fails ("limit"), which ends a search.
"""

import json
import sys

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = {
            name: value["string_value"] for name, value in json.loads(args["model_config"])["parameters"].items()
        }
        sys.path.insert(0, parameters["code"])
        import oracles

        self.scores, self.task, self.calls = oracles.scores, parameters["task"], parameters["calls"]
        self.limit = int(parameters["limit"])
        self.known = {}

    def execute(self, requests):
        answers = []
        for request in requests:
            smiles = [text.decode() for text in pb_utils.get_input_tensor_by_name(request, "smiles").as_numpy().ravel()]
            new = list(dict.fromkeys(text for text in smiles if text not in self.known))
            with open(self.calls, "a") as calls:
                affordable = new[: self.limit - len(self.known)]
                for text, score in zip(affordable, self.scores(self.task, affordable)):
                    self.known[text] = score
                    calls.write(f"{text} {score!r}\n")
            if len(affordable) < len(new):
                error = pb_utils.TritonError(f"all {self.limit} calls are used")
                answers.append(pb_utils.InferenceResponse(error=error))
                continue
            values = np.array([[self.known[text]] for text in smiles], np.float32)
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("score", values)]))
        return answers
