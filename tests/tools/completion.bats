#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What bash offers at TAB, with the completion that is installed.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}

setup() {
	[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
	[[ -x $BUILD/memleakbpf ]] || skip 'memleakbpf is not built'
	mkdir "$BATS_TEST_TMPDIR/empty"
	cd "$BATS_TEST_TMPDIR/empty" || return 1
}

# tab WORD…: what is offered for the last word, sorted, on one line. Words are those of bash: "--attach" "=" "m".
tab() {
	PATH=$BUILD:$PATH bash --norc -c '
		. "$0/tools/completion/memleakbpf.bash"
		COMP_WORDS=(memleakbpf "$@") COMP_CWORD=$#
		function=$(complete -p memleakbpf)
		function=${function##*-F }
		"${function%% *}" memleakbpf "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"' "$ROOT" "$@" | sort | paste -sd ' '
}

# offers EXPECTED WORD…
offers() {
	local expected=$1 got

	shift
	got=$(tab "$@")
	[[ $got == "$expected" ]] || {
		printf '%s: "%s", not "%s"\n' "$*" "$got" "$expected"
		return 1
	}
}

@test "subcommands, and nothing else for the first word" {
	offers 'diff doctor inspect record report survey' ''
	offers 'record report' re
}

@test "the options of each subcommand, all of them" {
	local command

	for command in '' record report diff survey doctor; do
		# shellcheck disable=SC2086
		offers "$("$BUILD/memleakbpf" $command --help=options | grep -oE '^-., |--[a-z-]+' | tr -d ', ' | sort | paste -sd ' ')" $command -
	done
	offers '--verbose --version' doctor --ver
	offers '--metrics --metrics-host --metrics-processes' survey --met
	offers '' record --met
	offers '--inspect' --insp
	offers '--inspect' record --insp
	offers '' survey --insp
}

@test "values that have names" {
	offers 'auto gate multi session single usdt' --attach ''
	offers 'session single' record --attach s
	offers 'multi' --attach = m
	offers 'auto gate multi session single usdt' --attach =
	offers 'json text' doctor -f ''
	offers 'folded json text' diff --format ''
	offers 'html json perfetto text' survey -f ''
	offers 'alloc count growth live suspect' report --sort ''
	offers 'lsan valgrind' --gen-suppressions = ''
	offers 'leaks options probes' --help =
}

@test "an argument that may be left out is no word of its own" {
	touch file
	offers '' --gen-suppressions ''
	offers '--max-live --max-pause --max-size --max-stacks' --check-frees --max
}

@test "files, users, processes and commands" {
	touch one.mlb two.mlb
	offers 'one.mlb two.mlb' report ''
	offers 'two.mlb' diff one.mlb t
	offers 'one.mlb two.mlb' inspect ''
	offers 'one.mlb two.mlb' record -o ''
	offers '' record -i ''
	offers 'root' survey --user roo
	[[ " $(tab -p '') " == *" $$ "* ]]
	[[ " $(tab -- ba) " == *' bash '* ]]
	offers 'one.mlb' -- cat o
}

@test "bash itself offers them at TAB" {
	local said='' char

	command -v script >/dev/null || skip 'script is not installed'
	printf 'PS1="ready> "\n. %q/tools/completion/memleakbpf.bash\n' "$ROOT" >rc
	coproc TYPIST { PATH=$BUILD:$PATH TERM=dumb exec timeout 60 script -qec 'bash --noprofile --rcfile rc -i' /dev/null; }
	# until TEXT: reads what the terminal shows.
	until_shown() {
		said=''
		while [[ $said != *"$1"* ]] && IFS= read -r -N 1 -t 30 -u "${TYPIST[0]}" char; do
			said+=$char
		done
		[[ $said == *"$1"* ]] || {
			printf '%q\n' "$said"
			return 1
		}
	}
	until_shown 'ready> '
	printf 'memleakbpf survey --met\t\t\t' >&"${TYPIST[1]}"
	until_shown '--metrics-processes'
	[[ $said == *'--metrics '* ]]
	# Ctrl-U takes the line back.
	printf '\025exit\n' >&"${TYPIST[1]}"
	wait "$TYPIST_PID" || :
}
