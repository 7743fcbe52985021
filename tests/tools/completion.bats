#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What bash, fish and zsh offer at TAB, with the completions that are installed.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
DEADLINE=${DEADLINE:-120}

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

# options_of [SUBCOMMAND]: all that it takes, sorted.
options_of() {
	"$BUILD/memleakbpf" "$@" --help=options | cut -f 1 | grep -oE '^-., |--[a-z-]+' | tr -d ', ' | sort | paste -sd ' '
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

# subcommands: by --help.
subcommands() {
	"$BUILD/memleakbpf" --help | sed -n 's/^       memleakbpf \([a-z]*\)  .*/\1/p' | sort | paste -sd ' '
}

@test "subcommands, and nothing else for the first word" {
	[[ " $(subcommands) " == *' diff doctor inspect kernel record report survey '* ]]
	offers "$(subcommands)" ''
	offers 'record report' re
}

@test "the options of each subcommand, all of them" {
	local command

	for command in '' $(subcommands); do
		# shellcheck disable=SC2086
		offers "$(options_of $command)" $command -
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
	offers 'age alloc count growth lifetime live peak rate suspect temporary' report --sort ''
	offers 'lsan valgrind' --gen-suppressions = ''
	offers 'checks figures keep leaks options probes scopes select serve stacks' --help =
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

# a_process OFFERED [BEFORE]: this process's number is among them, and none that does not begin with it: others have longer ones.
a_process() {
	local word

	[[ " $1 " == *" ${2-}$$ "* ]] || {
		printf '"%s" without %s\n' "$1" "${2-}$$"
		return 1
	}
	for word in $1; do
		[[ $word =~ ^${2-}$$[0-9]*$ ]] || {
			printf '"%s" has %s\n' "$1" "$word"
			return 1
		}
	done
}

# fish_says LINE: fish itself, of a line that ends where TAB is pressed.
fish_says() {
	HOME=$BATS_TEST_TMPDIR PATH=$BUILD:$PATH fish --no-config -c \
		'source $argv[1]; complete -C $argv[2]' -- "$ROOT/tools/completion/memleakbpf.fish" "$1" 2>&1 | cut -f 1 | LC_ALL=C sort
}

# fish_offers EXPECTED LINE
fish_offers() {
	local got

	got=$(fish_says "$2" | paste -sd ' ')
	[[ $got == "$1" ]] || {
		printf 'fish: %s: "%s", not "%s"\n' "$2" "$got" "$1"
		return 1
	}
}

@test "fish: subcommands, options, values, files" {
	local command

	command -v fish >/dev/null || skip 'fish is not installed'
	touch one.mlb two.mlb
	fish_offers "$(subcommands)" 'memleakbpf '
	for command in '' $(subcommands); do
		# shellcheck disable=SC2086
		fish_offers "$(LC_ALL=C options_of $command)" "memleakbpf $command -"
	done
	fish_offers 'session single' 'memleakbpf record --attach s'
	fish_offers '--attach=multi' 'memleakbpf --attach=m'
	fish_offers 'json text' 'memleakbpf doctor -f '
	fish_offers '--gen-suppressions=lsan --gen-suppressions=valgrind' 'memleakbpf --gen-suppressions='
	fish_offers '' 'memleakbpf --gen-suppressions '
	fish_offers 'one.mlb two.mlb' 'memleakbpf report '
	fish_offers 'one.mlb' 'memleakbpf record -o on'
	fish_offers '' 'memleakbpf record -i '
	fish_offers 'root' 'memleakbpf survey --user roo'
	a_process "$(fish_says "memleakbpf -p 1,$$" | paste -sd ' ')" 1, || return 1
	fish_offers 'one.mlb' 'memleakbpf -p 1 -- cat o'
	fish_offers 'basename basenc' 'memleakbpf -- basen'
	# With what each does.
	[[ $(HOME=$BATS_TEST_TMPDIR PATH=$BUILD:$PATH fish --no-config -c 'source $argv[1]; complete -C "memleakbpf survey --met"' -- \
		"$ROOT/tools/completion/memleakbpf.fish") == "--metrics"$'\t'"serve metrics for Prometheus; :9435 is on the loopback"$'\n'* ]]
}

@test "zsh: subcommands, options, values, files" {
	local command lines=() expected=() got i

	command -v zsh >/dev/null || skip 'zsh is not installed'
	touch one.mlb two.mlb
	# zsh_offers EXPECTED LINE: looked at when all are there: one zsh answers all.
	zsh_offers() {
		expected+=("$1")
		lines+=("$2")
	}
	zsh_offers "$(subcommands)" 'memleakbpf '
	for command in '' $(subcommands); do
		# shellcheck disable=SC2086
		zsh_offers "$(options_of $command)" "memleakbpf $command -"
	done
	zsh_offers 'session single' 'memleakbpf record --attach s'
	zsh_offers 'multi' 'memleakbpf --attach=m'
	zsh_offers 'json text' 'memleakbpf doctor -f '
	zsh_offers 'lsan valgrind' 'memleakbpf --gen-suppressions='
	zsh_offers 'one.mlb two.mlb' 'memleakbpf report '
	zsh_offers 'one.mlb' 'memleakbpf record -o on'
	zsh_offers '' 'memleakbpf record -i '
	zsh_offers 'root' 'memleakbpf survey --user roo'
	zsh_offers 'this one' "memleakbpf -p 1,$$"
	zsh_offers 'one.mlb' 'memleakbpf -p 1 -- cat o'
	zsh_offers 'basename basenc' 'memleakbpf -- basen'
	HOME=$BATS_TEST_TMPDIR timeout $((2 * DEADLINE)) "$ROOT/tests/tools/zsh-tab" "$BUILD" no "${lines[@]}" >"$BATS_TEST_TMPDIR/said"
	mapfile -t got <"$BATS_TEST_TMPDIR/said"
	for i in "${!lines[@]}"; do
		[[ ${expected[i]} != 'this one' ]] || {
			a_process "${got[i]}" || return 1
			continue
		}
		[[ $(tr ' ' '\n' <<<"${got[i]}" | sort | paste -sd ' ') == "$(tr ' ' '\n' <<<"${expected[i]}" | sort | paste -sd ' ')" ]] || {
			printf 'zsh: %s: "%s", not "%s"\n' "${lines[i]}" "${got[i]}" "${expected[i]}"
			return 1
		}
	done
	# With what each does.
	HOME=$BATS_TEST_TMPDIR timeout $((2 * DEADLINE)) "$ROOT/tests/tools/zsh-tab" "$BUILD" yes 'memleakbpf survey --met' | grep -q '^--metrics  *-- serve metrics for Prometheus; :9435 is on the loopback'
}

@test "bash itself offers them at TAB" {
	local said='' char

	command -v script >/dev/null || skip 'script is not installed'
	printf 'PS1="ready> "\n. %q/tools/completion/memleakbpf.bash\n' "$ROOT" >rc
	coproc TYPIST { PATH=$BUILD:$PATH TERM=dumb exec timeout $((2 * DEADLINE)) script -qec 'exec bash --noprofile --rcfile rc -i' /dev/null; }
	# until TEXT: reads what the terminal shows.
	until_shown() {
		said=''
		while [[ $said != *"$1"* ]] && IFS= read -r -N 1 -t "$DEADLINE" -u "${TYPIST[0]}" char; do
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
