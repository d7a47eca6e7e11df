#!/bin/sh
# SPDX-License-Identifier: ISC
# link.sh LD OBJCOPY AR OUTPUT PARTS: makes one object file of an archive of them, hides all names in
# it but the public ones, and puts it into the archive OUTPUT.
set -eu
ld=$1 objcopy=$2 ar=$3 output=$4 parts=$5

object=${output%/*}/thrum-core.o
"$ld" -r --whole-archive "$parts" -o "$object"
"$objcopy" --localize-hidden "$object"
rm -f "$output"
"$ar" rcD "$output" "$object"
