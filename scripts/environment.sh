#!/bin/sh
# Installs exactly the packages of a lock file, whose hashes are compared:
#
#   scripts/environment.sh PYTHON LOCK FOLDER               into a new virtual environment of a Python
#   scripts/environment.sh PYTHON LOCK FOLDER --target      into a new folder, for a Python
#   scripts/environment.sh PYTHON LOCK FOLDER --any-python  into a new virtual environment, whatever Python they require
#
# uv, from .venv-uv, needs a sixth of pip's CPU time. pip follows where uv fails, because pip also knows the indexes and
# certificates of pip.conf, and installs what requires another Python, because uv cannot.
set -eu
python=$1 lock=$2 folder=$3 how=${4:-}
tools=$(dirname "$0")/../.venv-uv/bin
locked='--quiet --no-deps --require-hashes --only-binary :all:'
rm -rf "$folder"
if [ "$how" != --target ]; then
  "$python" -m venv --without-pip "$folder"
  python=$folder/bin/python
fi
if [ "$how" != --any-python ]; then
  # shellcheck disable=SC2086
  if [ "$how" = --target ]; then set -- --target "$folder"; else set --; fi
  "$tools/uv" pip install $locked --python "$python" "$@" -r "$lock" && exit
  echo 'uv failed, so pip installs them' >&2
  if [ "$how" = --target ]; then rm -rf "$folder"; fi # pip writes into no folder that exists
else
  set -- --ignore-requires-python
fi
# shellcheck disable=SC2086
exec "$tools/pip" --disable-pip-version-check --python "$python" install $locked --no-compile "$@" -r "$lock"
