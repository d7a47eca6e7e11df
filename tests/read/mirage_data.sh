#!/bin/sh
# SPDX-License-Identifier: ISC
# The traces in data/mirage are the ones that make.py makes.
set -eu
command -v python3 >/dev/null || {
	echo "skipped: python3 is missing"
	exit 77
}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
python3 "$SOURCE/tests/read/data/mirage/make.py" "$made"
diff -r -x make.py "$SOURCE/tests/read/data/mirage" "$made"
