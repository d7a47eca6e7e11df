#!/bin/sh
# SPDX-License-Identifier: ISC
# The C files are laid out as .clang-format says.
set -eu
command -v clang-format >/dev/null || {
	echo "skipped: clang-format is missing"
	exit 77
}

# A check that can't fail is none.
bad=$(mktemp -d)
trap 'rm -rf "$bad"' EXIT
cp "$SOURCE/.clang-format" "$bad"
printf 'int  f( void ) { return 1 ; }\n' >"$bad/bad.c"
! (cd "$bad" && clang-format --style=file --dry-run -Werror bad.c) 2>/dev/null || {
	echo "clang-format accepts a badly laid out file"
	exit 1
}

"$SOURCE/tools/format" --dry-run -Werror || {
	echo "make format puts this right"
	exit 1
}
