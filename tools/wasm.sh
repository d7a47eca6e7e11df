#!/bin/sh
# SPDX-License-Identifier: ISC
# tools/wasm.sh [FOLDER [TARGET]]: builds the rooms that take bytes and give data, with the page's core
# (apps/web), as one wasm32 module FOLDER/core.wasm, and checks that it asks its host for nothing but
# what the worker gives and the three calls of wasi-libc's stdio, which it answers with stubs. The
# module that unpacks the core is FOLDER/unpack.wasm.
set -eu
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
folder=$(realpath "$folder")
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || tools/setup wasm

make --silent -j2 -f tools/wasm.mk FOLDER="$folder"
# The page has to be small: this takes a tenth off the module. A function with one caller is inlined only
# if it is small, as the module is packed better then. The stack lies lowest, so that its last KiB, which
# a program needs only just before it overflows, counts as unused.
if command -v wasm-opt >/dev/null; then
	wasm-opt --low-memory-unused --optimize-added-constants-propagate -Oz -Oz \
		--one-caller-inline-max-function-size=80 --always-inline-max-function-size=4 \
		--enable-sign-ext --enable-nontrapping-float-to-int --enable-bulk-memory \
		"$folder/core.wasm" -o "$folder/core.wasm"
else
	echo "binaryen is missing, so the core is larger than necessary: tools/setup web"
fi
python3 tools/wasm_imports.py "$folder/core.wasm" page.read page.size page.progress page.measure \
	page.pow page.exp \
	wasi_snapshot_preview1.fd_close wasi_snapshot_preview1.fd_seek wasi_snapshot_preview1.fd_write
# Its source files, for ninja.
top=$(pwd)
{
	echo "${2:-core.wasm}: \\"
	echo "$top/apps/web/unlzma.c $top/apps/web/join.c \\"
	find "$folder/src" "$folder/apps" -name '*.d' -exec cat {} + | tr -s ' ' '\n' |
		grep '\.[ch]$' | sort -u | sed "s|.*|$top/& \\\\|"
	echo
} >"$folder/core.wasm.d"
