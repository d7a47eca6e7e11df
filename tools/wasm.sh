#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/wasm.sh [FOLDER]: builds everything from the wire format to the view as one wasm32 module, as
# a browser would run it, and checks that it asks its host for nothing but the three calls that
# wasi-libc's stdio brings along and that a page answers with stubs.
set -eu
cd "$(dirname "$0")/.."
tools/setup wasm

folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
target=--target=wasm32-wasi
exports='malloc free thrum_trace_open_memory thrum_trace_close thrum__model_create
thrum__model_load thrum__model_destroy thrum__view_create thrum__view_frame
thrum__view_state_parse thrum__view_state_print thrum__view_command thrum__view_pick
thrum__view_destroy thrum__list_init thrum__list_finish thrum__list_print'

objects=
for source in $(tools/sources | grep -E '^src/(format|read|model|analyse|view)/[^/]*\.c$'); do
	object=$folder/$(echo "$source" | tr / -).o
	clang-14 $target -std=c11 -O2 -Wall -Wextra -Wno-unused-parameter \
		-Wno-missing-field-initializers -Werror -Iinclude -Isrc -c "$source" -o "$object"
	objects="$objects $object"
done
flags=
for name in $exports; do
	flags="$flags -Wl,--export=$name"
done
# shellcheck disable=SC2086
clang-14 $target -mexec-model=reactor $flags -Wl,--gc-sections -Wl,--strip-all $objects -o "$folder/thrum.wasm"
python3 tools/wasm_imports.py "$folder/thrum.wasm" fd_close fd_seek fd_write
