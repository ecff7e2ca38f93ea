"""Decoupled: sends one response per number, and counts the callers that leave."""

import threading
import time

import numpy as np


class TritonPythonModel:
    def initialize(self, args):
        self.canceled = 0
        self.lock = threading.Lock()

    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.count, args=(request,)).start()

    def count(self, request):
        import triton_python_backend_utils as pb_utils

        given = {t.name(): int(t.as_numpy()[0]) for t in request.inputs()}
        sender = request.get_response_sender()
        for value in range(given["N"]):
            time.sleep(given.get("PAUSE", 0) / 1000)
            if sender.is_cancelled():
                with self.lock:
                    self.canceled += 1
                break
            if given.get("FAIL", -1) == value:
                error = pb_utils.TritonError(f"told to fail at {value}")
                sender.send(pb_utils.InferenceResponse([], error))
                break
            sender.send(
                pb_utils.InferenceResponse(
                    [
                        pb_utils.Tensor("VALUE", np.array([value], np.int32)),
                        pb_utils.Tensor("CANCELED", np.array([self.canceled], np.int32)),
                    ]
                )
            )
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
