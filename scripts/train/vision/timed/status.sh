#!/bin/bash
# Prints how far the training is.
work=${READER_WORK:-/tmp/reader}
cat "$work/state" "$work/pid" 2>/dev/null; echo; grep -v Warning "$work/train.log" | tail -5 | cut -c1-300; tail -1 "$work/runs/reader/metrics.jsonl" 2>/dev/null
