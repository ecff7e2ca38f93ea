#!/bin/sh
# Checks the shim's memory with damaged input: sh chem/rdkit/memcheck/run.sh [address|valgrind] [rounds]
# address: AddressSanitizer with leak check and UndefinedBehaviorSanitizer; valgrind: memcheck.
# Exits with 0 if nothing was found.
set -eu
cd "$(dirname "$0")"
how=${1:-address}
rounds=${2:-2000}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
flags="-std=c++17 -O1 -g -isystem /usr/include/rdkit -I../cairo"
case $how in
  address) flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-sanitize=vptr" ;;
  valgrind) ;;
  *) echo "address or valgrind, not $how" >&2; exit 2 ;;
esac
# shellcheck disable=SC2086
printf '%s\n' ../*.cc main.cc | xargs -P "$(nproc)" -I{} sh -c 'g++ $0 -c "$1" -o "$2/$(basename "$1" .cc).o"' "$flags" {} "$build"
# The libraries of the Go build, except its malloc, which the checkers replace.
libraries=$(sed -n 's/^#cgo LDFLAGS: //p' ../rdkit.go | tr ' ' '\n' | grep -v tcmalloc)
# shellcheck disable=SC2086
g++ $flags "$build"/*.o -o "$build/memcheck" $libraries
if [ "$how" = address ]; then
  ASAN_OPTIONS=detect_leaks=1 "$build/memcheck" ../../testdata/molecules.smi "$rounds"
else
  valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect --error-exitcode=1 \
    "$build/memcheck" ../../testdata/molecules.smi "$rounds"
fi
