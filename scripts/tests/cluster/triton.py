"""Print where the local tritonserver is, then a line for each variable that it needs, for the checkout given."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(sys.argv[1], "scripts", "triton")))

from environment import BACKENDS, VENV, prepare  # noqa: E402

environment = prepare()
variables = environment.variables()
print(environment.server)
for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
    print(f"{name}={variables[name]}")
print(f"PATH=/opt/tritonserver/bin:{VENV / 'bin'}:/usr/local/bin:/usr/bin:/bin")
print(f"TRITON_BACKENDS={BACKENDS}")
