"""Tools of this repository in Python: training, evaluation, benchmarks, conversion, tests."""

import os

# ONNX Runtime (from 1.29) sends telemetry to Microsoft unless this is set when it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
