"""Tools of this repository in Python: training, evaluation, benchmarks, conversion, tests."""

import os

# Without it, ONNX Runtime 1.29 and newer report their use to Microsoft. It counts when the library is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
