#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# The completion for bash, as bash would call it.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
touch server.thrum net.ctf notes.txt
mkdir folder
# shellcheck source=/dev/null
. "$SOURCE/completion/thrum.bash"
failed=0

# complete_words EXPECTED WORD...: the completions of the last word, sorted, on one line.
complete_words() {
	local expected=$1 got
	shift
	COMP_WORDS=("$THRUM" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_thrum
	got=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' ')
	got=${got% }
	[[ $got == "$expected" ]] || {
		echo "thrum $*: offers \"$got\", not \"$expected\""
		failed=1
	}
}

words='--help --no-pager --version attach bundle convert ctl diff doctor dump fleet help history html import info'
words+=' metrics record render ship snapshot stats store tasks top view watch why xen'
complete_words "$words" ''
complete_words 'diff doctor dump' d
complete_words 'diff doctor dump' --no-pager d
complete_words '--end --event' --no-pager dump --e
complete_words 'import info' help i
complete_words '--end --event' dump --e
complete_words '--clock --color' dump --c
complete_words 'json text tsv' dump --format = ''
complete_words 'text tsv' dump --format = t
complete_words 'json' dump -f j
complete_words 'auto' dump --color au
complete_words 'read read-later ready resolve resume' dump --event = re
complete_words 'create,lock create,log create,lost' dump --event = create,lo
complete_words 'folder net.ctf server.thrum' dump ''
complete_words 'server.thrum' info s
complete_words 'folder net.ctf server.thrum' dump --format = tsv ''
complete_words '' dump --task ''
complete_words 'discard' record --full = d
complete_words '--faults --follow-children --full' record --f
complete_words 'failed,stuck' tasks --state = failed,stu
complete_words 'label lane last' tasks --sort la
complete_words 'kind' stats --by = k
complete_words '' nonsense --f

# A command of its own completes behind `record`.
complete_words 'server.thrum' record -- cat server
exit $failed
