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

# tritonserver is a binary inside its package: the package's own dependencies belong to a Python API that is not used.
triton() {
    grep -v pytriton triton/requirements.in | lock triton -
    grep pytriton triton/requirements.in | uv pip compile -q --no-deps --python-version 3.11 --generate-hashes \
        --only-binary :all: --no-annotate --no-header --no-emit-find-links --no-emit-index-url - >> triton/requirements.txt
}

triton
for folder in tests convert train eval bench bench/peer; do
    if [ -f "$folder/requirements.in" ]; then lock "$folder" "$folder/requirements.in"; fi
done
