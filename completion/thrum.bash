# SPDX-License-Identifier: ISC
# Completion of thrum for bash. It reads `thrum help --table`, which prints a line for each command
# and option: command, option, letter, value, purpose.
# shellcheck shell=bash

# Prints the value column of an option, given as --name or -x.
_thrum_value() {
	local command name letter value
	while IFS=$'\x1f' read -r command name letter value _; do
		[[ $command == "$2" && -n $name ]] || continue
		[[ $3 == "--$name" || (-n $letter && $3 == "-$letter") ]] || continue
		printf '%s' "$value"
		return
	done <<<"$1"
}

# Prints the possible values of an option or argument.
_thrum_words() {
	local kind=$1 word=$2 before='' last=$2
	case $kind in
	TIME | SIZE | ID | N) return ;;
	FILE | TRACE* | RECORDING*)
		compgen -f -X '!*.thrum' -- "$word"
		compgen -f -X '!*.thrum.zst' -- "$word"
		compgen -f -X '!*.ctf' -- "$word"
		compgen -d -- "$word"
		return
		;;
	*'|'*)
		# In a list with commas, completes the last item.
		if [[ $word == *,* ]]; then
			before=${word%,*},
			last=${word##*,}
		fi
		compgen -P "$before" -W "${kind//|/ }" -- "$last"
		;;
	esac
}

_thrum() {
	local thrum=${COMP_WORDS[0]} table command='' previous word value i
	local IFS=$' \t\n'
	COMPREPLY=()
	if [[ ${COMP_WORDS[1]} == --no-pager && $COMP_CWORD -gt 1 ]]; then
		COMP_WORDS=("$thrum" "${COMP_WORDS[@]:2}")
		((COMP_CWORD -= 1))
	fi
	word=${COMP_WORDS[COMP_CWORD]}
	previous=${COMP_WORDS[COMP_CWORD - 1]}
	# read joins adjacent tabs, and so would drop empty columns.
	table=$("$thrum" help --table 2>/dev/null | tr '\t' '\037') || return
	((COMP_CWORD == 1)) || command=${COMP_WORDS[1]}

	if [[ -z $command || $command == help ]]; then
		[[ $previous == "$thrum" || $previous == help ]] || return
		mapfile -t COMPREPLY < <(compgen -W \
			"$(cut -d $'\037' -f 1 <<<"$table" | sort -u) help --help --no-pager --version" -- "$word")
		return
	fi
	# The recorded program completes as without thrum.
	if [[ $command == record ]]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) ((i += 1)) ;;
			-o | -s | --output | --size | --full)
				((i += 1))
				[[ ${COMP_WORDS[i]} != '=' ]] || ((i += 1))
				continue
				;;
			-* | '=') continue ;;
			esac
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			else
				mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
			fi
			return
		done
	fi
	# bash splits --name=value into three words.
	if [[ $word == '=' ]]; then
		word=
		value=$(_thrum_value "$table" "$command" "$previous")
	elif [[ $previous == '=' ]]; then
		value=$(_thrum_value "$table" "$command" "${COMP_WORDS[COMP_CWORD - 2]}")
	else
		value=$(_thrum_value "$table" "$command" "$previous")
	fi
	if [[ -n $value ]]; then
		# Adds a slash to folders.
		[[ $value != FILE ]] || compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(_thrum_words "$value" "$word")
		return
	fi
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(awk -F '\037' -v c="$command" -v w="$word" \
			'$1 == c && $2 != "" && index("--" $2, w) == 1 { print "--" $2 }' <<<"$table")
		return
	fi
	case $command in
	record) mapfile -t COMPREPLY < <(compgen -c -f -- "$word") ;;
	import)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		;;
	*)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(_thrum_words TRACE "$word")
		;;
	esac
}

complete -F _thrum thrum
