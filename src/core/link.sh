#!/bin/sh
# SPDX-License-Identifier: ISC
# link.sh LD OBJCOPY AR OUTPUT PARTS LIBRARY...: makes one object file of an archive of them and of what
# it needs of the libraries, hides all names in it but the public ones, and puts it into the archive
# OUTPUT.
set -eu
ld=$1 objcopy=$2 ar=$3 output=$4 parts=$5
shift 5

object=${output%/*}/thrum-core.o
"$ld" -r --whole-archive "$parts" --no-whole-archive "$@" -o "$object"
"$objcopy" --localize-hidden --wildcard --localize-symbol='__*' "$object"
rm -f "$output"
"$ar" rcD "$output" "$object"
