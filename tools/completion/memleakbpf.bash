# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Completion for bash. Here is no list of options that could grow old: memleakbpf says itself what a subcommand takes, an option a line, and behind a tab
# what it does:
#     -i, --interval TIME
#     --attach auto|session|multi|single
#     --check-frees[=N]

# _memleakbpf_values ARGUMENT WORD: what the argument can be, where that is known.
_memleakbpf_values() {
	case $1 in
	PID*) compgen -W "$(cd /proc && printf '%s ' [0-9]*)" -- "$2" ;;
	*'|'*) compgen -W "${1//|/ }" -- "$2" ;;
	FILE) compgen -f -- "$2" ;;
	DIR) compgen -d -- "$2" ;;
	USER) compgen -u -- "$2" ;;
	esac
}

_memleakbpf() {
	local program=$1 word=$2 before=$3 equals='' command='' commands list name value argument='' names=() i

	# "--attach=multi" is three words.
	if [[ ${COMP_WORDS[COMP_CWORD]} == '=' ]]; then
		word='' equals=1
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]} equals=1
	fi
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			((i < COMP_CWORD - 1)) || mapfile -t COMPREPLY < <(compgen -c -- "$word")
			mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word")
			return
		fi
	done
	commands=$("$program" --help 2>/dev/null | sed -n 's/^       memleakbpf \([a-z]*\)  .*/\1/p')
	[[ $COMP_CWORD -eq 1 || " ${commands//$'\n'/ } " != *" ${COMP_WORDS[1]} "* ]] || command=${COMP_WORDS[1]}
	# Each name on a line of its own, then the argument, in brackets if it may be left out.
	list=$("$program" ${command:+"$command"} --help=options 2>/dev/null | sed -E 's/\t.*//; s/\[=/ [/; s/^(-.), (--[a-z-]*)(.*)/\1\3\n\2\3/')
	while read -r name value; do
		names+=("$name")
		[[ $name != "$before" ]] || argument=$value
	done <<<"$list"
	if [[ -n $equals || ( -n $argument && $argument != '['* ) ]]; then
		argument=${argument#[}
		mapfile -t COMPREPLY < <(_memleakbpf_values "${argument%]}" "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${names[*]}" -- "$word")
	elif [[ -z $command && $COMP_CWORD -eq 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
	elif [[ $command == report || $command == diff || $command == inspect ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}

complete -o filenames -F _memleakbpf memleakbpf
