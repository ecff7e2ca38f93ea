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
for source in ../*.cc main.cc; do
  # shellcheck disable=SC2086
  g++ $flags -c "$source" -o "$build/$(basename "$source" .cc).o"
done
libraries=
for name in MolDraw2D Descriptors Fingerprints ChemTransforms Depictor SubstructMatch SmilesParse \
  GraphMol RDGeometryLib DataStructs RDGeneral; do
  libraries="$libraries -lRDKit$name"
done
# shellcheck disable=SC2086
g++ $flags "$build"/*.o -o "$build/memcheck" $libraries -l:libcairo.so.2
if [ "$how" = address ]; then
  ASAN_OPTIONS=detect_leaks=1 "$build/memcheck" ../../testdata/molecules.smi "$rounds"
else
  valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect \
    --errors-for-leak-kinds=definite,indirect --error-exitcode=1 \
    "$build/memcheck" ../../testdata/molecules.smi "$rounds"
fi
