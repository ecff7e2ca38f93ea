"""Sleeps for a requested time, or until the caller leaves."""

import time

import numpy as np


class TritonPythonModel:
    def initialize(self, args):
        self.canceled = 0

    def execute(self, requests):
        import triton_python_backend_utils as pb_utils

        responses = []
        for request in requests:
            milliseconds = request.inputs()[0].as_numpy()
            until = time.monotonic() + milliseconds.max() / 1000
            while time.monotonic() < until and not request.is_cancelled():
                time.sleep(0.005)
            self.canceled += request.is_cancelled()
            responses.append(
                pb_utils.InferenceResponse(
                    [
                        pb_utils.Tensor("SLEPT", milliseconds),
                        pb_utils.Tensor("CANCELED", np.full_like(milliseconds, self.canceled)),
                    ]
                )
            )
        return responses
