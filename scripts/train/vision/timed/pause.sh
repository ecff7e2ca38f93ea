#!/bin/bash
# pause.sh STOP stops the training until pause.sh CONT.
kill -"$1" -- -"$(cat "${READER_WORK:-/tmp/reader}/pid")"
