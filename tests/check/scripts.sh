#!/bin/sh
# SPDX-License-Identifier: ISC
# There is nothing that shellcheck finds in the shell scripts.
set -eu
command -v shellcheck >/dev/null || {
	echo "skipped: shellcheck is missing"
	exit 77
}

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
# shellcheck disable=SC2016
printf '#!/bin/sh\nrm $1\n' >"$bad"
! shellcheck "$bad" >/dev/null || {
	echo "shellcheck accepts a bad script"
	exit 1
}

cd "$SOURCE"
# A script is known by its first line, not by its name.
find tools tests .ci -name node_modules -prune -o -type f ! -name '*.[ch]' ! -name '*.py' -exec \
	awk 'FNR == 1 && /^#!.*[\/ ](ba|da)?sh( |$)/ { print FILENAME } { nextfile }' {} + |
	sort | tr '\n' '\0' | xargs -0 -r shellcheck
