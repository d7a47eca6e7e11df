#!/usr/bin/env bash
# SPDX-License-Identifier: ISC
# Each command prints its help, and the man page has the same options.
set -u
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
page=$SOURCE/man/thrum.1
failed=0

wrong() {
	echo "$*"
	failed=1
}

"$THRUM" help --table >"$here/table" || wrong "thrum help --table fails"
commands=$(cut -f 1 "$here/table" | uniq)
[[ $(wc -w <<<"$commands") -ge 11 ]] || wrong "too few commands: $commands"

for command in $commands; do
	"$THRUM" "$command" --help >"$here/help" 2>"$here/errors" ||
		wrong "thrum $command --help fails"
	[[ ! -s $here/errors ]] || wrong "thrum $command --help complains"
	"$THRUM" help "$command" | cmp -s - "$here/help" || wrong "thrum help $command differs"
	"$THRUM" "$command" -h | cmp -s - "$here/help" || wrong "thrum $command -h differs"
	for part in Usage: Options: Examples: 'Exit status:'; do
		grep -q "^$part" "$here/help" || wrong "thrum $command --help has no $part"
	done
	[[ $(awk 'length > 80' "$here/help") == '' ]] || wrong "thrum $command --help is too wide"
	grep -q "^\.Ss thrum $command\$" "$page" || wrong "man thrum has no part on $command"
	"$THRUM" --help | grep -q "^  $command " || wrong "thrum --help doesn't name $command"
done

# Each command's options stand in its part of the page, but for those that name a trace.
while IFS=$'\t' read -r command option rest; do
	[[ -n $option && $option != help ]] || continue
	case $rest in [a-z]$'\t'*) letter=${rest:0:1} ;; *) letter= ;; esac
	grep -qF -e "--$option" <("$THRUM" "$command" --help) ||
		wrong "$command --help: no --$option"
	case $option in
	memory | xen) from='.Sh DESCRIPTION' ;;
	*) from=".Ss thrum $command" ;;
	esac
	awk -v from="$from" '/^\.S[hs] /{ on = $0 == from } on' "$page" >"$here/part"
	grep -q -e "^\.It .*Fl .-$option\b" "$here/part" ||
		wrong "man thrum, $command: no --$option"
	[[ -z $letter ]] || grep -q -e "^\.It Fl $letter , Fl .-$option\b" "$here/part" ||
		wrong "man thrum, $command: no -$letter beside --$option"
done < <(awk -F '\t' -v OFS='\t' '{ print $1, $2 == "" ? "help" : $2, $3 == "" ? "-" : $3, $4 }' \
	"$here/table")

# The page explains each event; the message on a wrong event's name lists them.
names=$(awk -F '\t' '$1 == "dump" && $2 == "event" { print $4 }' "$here/table" | tr '|' ' ')
[[ $(wc -w <<<"$names") -ge 29 ]] || wrong "too few events: $names"
for name in $names; do
	grep -q "^\.It Cm $name\$" "$page" || wrong "man thrum doesn't explain the event $name"
	"$THRUM" dump --event=nonsense x 2>&1 | grep -q "\b$name\b" || wrong "--event: no $name"
done

version=$("$THRUM" --version) || wrong "thrum --version fails"
[[ $version =~ ^thrum\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || wrong "the version is \"$version\""
[[ $("$THRUM" -V) == "$version" ]] || wrong "-V isn't --version"

if command -v mandoc >/dev/null; then
	mandoc -Tlint -W warning "$page" >"$here/lint" || wrong "$(cat "$here/lint")"
else
	echo "skipped: mandoc is missing, the man page isn't checked"
fi
if command -v zsh >/dev/null; then
	zsh -n "$SOURCE/completion/_thrum" || wrong "the completion for zsh isn't zsh"
else
	echo "skipped: zsh is missing, its completion isn't checked"
fi
exit $failed
