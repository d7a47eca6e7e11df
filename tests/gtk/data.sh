#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The files that tell the desktop about the window are valid, and our file types are recognised.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
data=$SOURCE/data/io.github.thrum.Thrum
failed=0
missing=''

# checks TOOL ARGUMENT...: the tool must find no error. A missing tool is noted for the end.
checks() {
	if ! command -v "$1" >/dev/null; then
		missing="$missing $1"
		return
	fi
	"$@" >"$here/said" 2>&1 || {
		echo "$*: $(cat "$here/said")"
		failed=1
	}
}

checks desktop-file-validate "$data.desktop"
checks appstreamcli validate --no-net "$data.metainfo.xml"
checks xmllint --noout "$data.metainfo.xml" "$data.mime.xml" "$data.svg"

# A recording and a trace are recognised by their content.
cp "$SOURCE/tests/read/data/mirage/labels.ctf" "$here/one" || exit 1
"$BUILD/tests/thrum/programs/every" "$here/two" || exit 1
if command -v update-mime-database >/dev/null && command -v gio >/dev/null; then
	mkdir -p "$here/mime/packages"
	cp "$data.mime.xml" "$here/mime/packages/"
	update-mime-database "$here/mime" 2>"$here/said" || {
		cat "$here/said"
		failed=1
	}
	for pair in one:application/x-mirage-profile two:application/x-thrum-recording; do
		got=$(XDG_DATA_DIRS=$here XDG_DATA_HOME=$here gio info -a standard::content-type \
			"$here/${pair%%:*}" | awk '/standard::content-type/ { print $2 }')
		[[ $got == "${pair#*:}" ]] || {
			echo "${pair%%:*} is taken for $got, not ${pair#*:}"
			failed=1
		}
	done
else
	missing="$missing update-mime-database"
fi

[[ $failed -eq 0 ]] || exit 1
[[ -z $missing ]] || {
	echo "skipped:$missing not installed"
	exit 77
}
