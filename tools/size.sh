#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/size.sh [DIR]: how many bytes an event takes in a recording of the example server, by type of
# record. DIR is the build (build).
set -eu
build=${1:-build}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
recording=$folder/server.thrum

THRUM_TRACE=$recording THRUM_SIZE=128M "$build/examples/server" --threads 3 --seconds 2
"$build/bench/record/record" --sizes "$recording"
