"""Runs a graph in ONNX Runtime alone, with the version and settings of the local Triton, but no server or transport.

    .venv-triton/bin/python scripts/bench/peer/bare.py MODEL.onnx CALLS.json

CALLS.json is a list of calls; a call is an object with the rows of each input, of equal length. The program prints
"ready", then reads indexes of calls from standard input, one per line, runs each and prints "done".
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import onnxruntime


def main() -> None:
    graph, calls = sys.argv[1:]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.inter_op_num_threads = 1
    # The setting of scripts/triton/backends/onnxruntime.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "50")
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    with open(calls) as file:
        feeds = [{name: np.array(rows, np.int64) for name, rows in call.items()} for call in json.load(file)]
    print("ready", flush=True)
    for line in sys.stdin:
        session.run(None, feeds[int(line)])
        print("done", flush=True)


if __name__ == "__main__":
    main()
