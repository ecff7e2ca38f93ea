#!/bin/bash
# Starts the training in the background: start.sh SECONDS. Everything is in READER_WORK; the log is train.log there.
set -e
here=$(cd "$(dirname "$0")" && pwd); export READER_WORK=${READER_WORK:-/tmp/reader} READER_SECONDS=${1:-480}
work=$READER_WORK; python=${PYTHON:-python3}
if [ -f "$here/pictures.bin" ]; then
  xz -dkf "$here/heads.jsonl.xz" -c > "$work/heads.jsonl"; cp "$here/pictures.bin" "$work/"
  $python "$here/unpack_drawings.py" "$work" "$work/data"
fi
cd "$work/code"
export PYTHONPATH="$work/site:$work/code" OMP_NUM_THREADS=${THREADS:-1} PYTHONUNBUFFERED=1
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"
programs=""
for f in "$work"/data/drawings/*.jsonl; do
  n=$(basename "$f" .jsonl); programs="$programs $n=$(($(wc -l < "$f") + 200))"
done
total=$(cat "$work"/data/drawings/*.jsonl | wc -l)
rdkit=$(awk "BEGIN { print int(${RDKIT_TIMES:-1.3} * $total) }")
cat > "$work/train.sh" <<P
#!/bin/bash
# A crash continues from the last checkpoint, with other random numbers, so that it does not meet the same drawing again.
cd "$work/code"
for attempt in 1 2 3 4 5 6; do
  READER_ATTEMPT=\$attempt $python -X faulthandler "$work/train_reader.py" --seed 1 --name reader --runs "$work/runs" --data "$work/data" \\
    --start "$work/code/model_repository/molecule_reader" --device ${DEVICE:-cuda} \\
    --molecules ${MOLECULES:-zinc250k_train.smi.gz=0.17 chembl_subsets_train.smi.gz=0.34 coconut_subsets_train.smi.gz=0.1 common_chemicals_train.smi.gz=0.19 chembl_subsets_salts.smi.gz=0.06 cages.smi.gz=0.05} \\
    --valid zinc250k_valid.smi.gz --programs rdkit=$rdkit $programs \\
    --placeholders ${PLACEHOLDERS:-0.5} --uses ${USES:-6} --workers ${WORKERS:-15} --batch ${BATCH:-128} \\
    --samples 1000000000 --lr ${LR:-8e-4} --warmup ${WARMUP:-30000} --decay ${DECAY:-0.7} --ema 0.998 \\
    --save-minutes 1 --eval-samples 1000000000000 --evaluate ${EVALUATE:-20}
  code=\$?
  echo "ended with \$code"
  if [ \$code = 0 ] || [ \$code = 75 ]; then break; fi
done
P
setsid nohup bash "$work/train.sh" > "$work/train.log" 2>&1 < /dev/null &
sleep 1
echo "started; programs: rdkit=$rdkit$programs"
