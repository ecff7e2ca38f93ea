#!/bin/bash
# Ends the training if it still runs, and copies what an export needs into OUT.
work=${READER_WORK:-/tmp/reader}; run=$work/runs/reader; pid=$(cat "$work/pid")
if kill -0 -- "-$pid" 2>/dev/null; then
  kill -CONT -- "-$pid"; kill -TERM -- "-$pid"
  for _ in $(seq 80); do kill -0 -- "-$pid" 2>/dev/null || break; sleep 0.5; done
fi
mkdir -p "$OUT"
cp "$run"/{weights.safetensors,run.toml,shape.json,provenance.json,metrics.jsonl} "$OUT/"
cd "$work/code" && PYTHONPATH=$work/site:$work/code ${PYTHON:-python3} - "$run" "$OUT" <<'P'
import sys
from pathlib import Path
from scripts.train import checkpoint
state = checkpoint.load(Path(sys.argv[1]) / "checkpoint.pt")
checkpoint.save({k: state[k] for k in ("step", "samples", "seconds", "falling", "options", "best")}, Path(sys.argv[2]) / "checkpoint.pt")
print({k: state[k] for k in ("step", "samples", "seconds")})
P
tail -20 "$work/train.log" > "$OUT/train.log"; ls -la "$OUT"
