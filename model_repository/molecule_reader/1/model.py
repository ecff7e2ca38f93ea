"""Triton's entry: chat about drawings of molecules under the tensor contract of Triton's vLLM backend.

The code is the package reader beside this file. Tensors: model_repository/README.md.

Each answer has a thread. A drawing is read on one core, as many drawings at once as there are cores.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reader.assistant import Assistant
from reader.drawing_reader import DrawingReader
from reader.intents import IntentParser
from reader.reading_cache import ReadingCache
from reader.responder import Responder

MAX_ANSWERS = 64
"""The most answers in progress; further requests wait."""


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        folder = Path(args["model_repository"], args["model_version"])
        self.cache = ReadingCache(DrawingReader(folder, threads=1), workers=len(os.sched_getaffinity(0)))
        assistant = Assistant(IntentParser(folder), self.cache)
        self.responder = Responder(assistant, int(parameters["max_model_len"]["string_value"]))
        self.pool = ThreadPoolExecutor(MAX_ANSWERS, "answer")

    def execute(self, requests):
        for request in requests:
            self.pool.submit(self.responder.respond, request)

    def finalize(self):
        self.pool.shutdown(wait=True)
        self.cache.close()
