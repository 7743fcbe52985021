# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the files of tests say (TAP), counted; for tests/run, whose labels, commands and queues it knows. A file's log is read
# when the file has ended. What failed is counted only after it was run once more (run_again).
#
# shellcheck disable=SC2154 # tests/run has the labels, commands and counters

# So many tests may pass at the second time only.
FLAKY_MOST=3
# After so many failures it is not chance: they are not run once more.
AGAIN_MOST=${AGAIN_MOST:-30}

# Of a file, by number: the tests that failed at the first time, a name a line, and what was wrong with the file as a whole.
declare -A failing=() broken=()
flaky=()

pass() {
	passed=$((passed + 1))
	printf 'ok    %s\n' "$1"
}

fail() {
	failed=$((failed + 1))
	printf 'FAIL  %s\n' "$1"
}

# One that failed and then passed.
pass_late() {
	pass "$1"
	flaky+=("$1")
}

# skip_expected NAME REASON: does a line "name pattern | reason pattern" of the list allow it?
skip_expected() {
	local name reason

	if [[ $2 == 'needs root' && $EUID -ne 0 ]]; then
		[[ -z ${CI-} ]]
		return
	fi
	while IFS='|' read -r name reason; do
		name=${name%"${name##*[![:space:]]}"}
		reason=${reason#"${reason%%[![:space:]]*}"}
		[[ -n $name && $name != '#'* ]] || continue
		# Unquoted on purpose: both are patterns.
		# shellcheck disable=SC2053
		[[ $1 == $name && $2 == $reason ]] && return 0
	done <"$EXPECTED_SKIPS"
	return 1
}

skip() {
	skipped=$((skipped + 1))
	printf 'skip  %s (%s)\n' "$1" "$2"
}

# A test that nobody has started.
skip_or_fail() {
	if skip_expected "$1" "$2"; then
		skip "$1" "$2"
	else
		fail "$1"
		printf '      skipped, which tests/expected-skips does not allow: %s\n' "$2"
	fi
}

# read_tap LOG: sets planned (tests that it announced; nothing if it did not), and of each test that it ran a member of names, verdicts
# (ok, failed, skipped), reasons (of a skip) and outputs: what it printed, which comes before its result, and the explanation of
# whoever ran it, which follows as comments.
read_tap() {
	local line name before='' last=-1

	planned='' names=() verdicts=() reasons=() outputs=()
	while IFS= read -r line || [[ -n $line ]]; do
		if [[ $line =~ ^1\.\.([0-9]+) ]]; then
			planned=$((${planned:-0} + BASH_REMATCH[1]))
			continue
		elif [[ ! $line =~ ^(not\ )?ok($|\ ) ]]; then
			if [[ $last -ge 0 && ${verdicts[last]} == failed && $line == '#'* ]]; then
				outputs[last]+=$line$'\n'
			else
				before+=${line#\# }$'\n'
			fi
			continue
		fi
		last=$((last + 1))
		[[ $line =~ ^(not\ )?ok\ *[0-9]*\ *(-\ )?(.*) ]]
		name=${BASH_REMATCH[3]} reasons[last]='' outputs[last]=$before
		if [[ $name =~ ^(.*)\#\ *[Ss][Kk][Ii][Pp]\ *(.*)$ ]]; then
			verdicts[last]=skipped
			name=${BASH_REMATCH[1]% } reasons[last]=${BASH_REMATCH[2]}
			if [[ -z $name ]]; then # cmocka: # SKIP name; bats: name # skip reason
				before=${before%$'\n'}
				name=${reasons[last]} reasons[last]=${before##*$'\n'}
			fi
		elif [[ $line == ok* ]]; then
			verdicts[last]=ok
		else
			verdicts[last]=failed
		fi
		names[last]=$name
		before=
	done <"$1"
}

# trouble STATUS SECONDS: what is wrong with the file that read_tap has read, if anything is; it had so many seconds.
trouble() {
	if [[ $1 -eq 124 || $1 -eq 137 ]]; then
		printf 'stopped after %s seconds' "$2"
	elif [[ -z $planned ]]; then
		printf 'ended with status %s before its first test' "$1"
	elif [[ ${#names[@]} -ne $planned ]]; then
		printf 'ran %s of %s tests, ended with status %s' "${#names[@]}" "$planned" "$1"
	elif [[ $1 -ne 0 && " ${verdicts[*]} " != *' failed '* ]]; then
		printf 'ended with status %s though no test failed' "$1"
	fi
}

indented() {
	[[ -z $1 ]] || printf '%s' "$1" | sed 's/^/      /'
}

# judge I LABEL: of the test number I of read_tap, a skip that is not allowed becomes a failure.
judge() {
	[[ ${verdicts[$1]} == skipped ]] || return 0
	reasons[$1]=${reasons[$1]:-no reason given}
	if ! skip_expected "$2: ${names[$1]}" "${reasons[$1]}"; then
		verdicts[$1]=failed
		outputs[$1]="skipped, which tests/expected-skips does not allow: ${reasons[$1]}"$'\n'
	fi
}

# count_first NUMBER LOG STATUS SECONDS: counts a file's results. What failed waits for its second time, and a file that was in trouble waits with all its tests.
count_first() {
	local number=$1 label=${labels[$1]} log=$2 i planned names verdicts reasons outputs

	read_tap "$log"
	broken[$number]=$(trouble "$3" "$4")
	for i in "${!names[@]}"; do
		judge "$i" "$label"
		if [[ ${verdicts[i]} == failed ]]; then
			printf 'again %s: %s\n' "$label" "${names[i]}"
			indented "${outputs[i]}"
			failing[$number]+=${names[i]}$'\n'
		elif [[ -n ${broken[$number]} ]]; then
			continue
		elif [[ ${verdicts[i]} == ok ]]; then
			pass "$label: ${names[i]}"
		else
			skip "$label: ${names[i]}" "${reasons[i]}"
		fi
	done
	[[ -n ${broken[$number]} ]] || return 0
	printf 'again %s: %s\n' "$label" "${broken[$number]}"
	tail -n 20 "$log" | sed 's/^/      /'
}

# failed_first NUMBER NAME: is that a test that failed at the first time? It is taken off the list.
failed_first() {
	local rest=$'\n'${failing[$1]-}

	[[ $rest == *$'\n'"$2"$'\n'* ]] || return 1
	rest=${rest/$'\n'"$2"$'\n'/$'\n'}
	failing[$1]=${rest#$'\n'}
}

# count_second NUMBER LOG STATUS SECONDS: of a file that was run again, alone. Of one that was in trouble all its tests count now, of others those
# that failed. A test that passed at the first time and fails now has passed once as well.
count_second() {
	local number=$1 label=${labels[$1]} log=$2 trouble i name planned names verdicts reasons outputs

	read_tap "$log"
	trouble=$(trouble "$3" "$4")
	for i in "${!names[@]}"; do
		name=${names[i]}
		judge "$i" "$label"
		if failed_first "$number" "$name"; then
			case ${verdicts[i]} in
			ok) pass_late "$label: $name" ;;
			skipped) skip "$label: $name" "${reasons[i]}" ;;
			failed) fail "$label: $name" && indented "${outputs[i]}" ;;
			esac
		elif [[ -n ${broken[$number]} ]]; then
			case ${verdicts[i]} in
			ok) pass "$label: $name" ;;
			skipped) skip "$label: $name" "${reasons[i]}" ;;
			failed) fail "$label: $name" && indented "${outputs[i]}" ;;
			esac
		elif [[ ${verdicts[i]} == failed ]]; then
			flaky+=("$label: $name")
		fi
	done
	if [[ -n $trouble ]]; then
		fail "$label: $trouble"
		tail -n 20 "$log" | sed 's/^/      /'
	elif [[ -n ${broken[$number]} ]]; then
		flaky+=("$label: ${broken[$number]}")
	fi
	fail_rest "$number"
}

# fail_rest NUMBER: what failed, and has not been seen to pass since.
fail_rest() {
	local name

	while IFS= read -r name; do
		[[ -z $name ]] || fail "${labels[$1]}: $name"
	done <<<"${failing[$1]-}"
}

# A test may kill the tool, or not look at its end: reports of sanitizers are looked for where they are written, and are no chance.
count_reports() {
	local report

	[[ $SANITIZE == 1 ]] || return 0
	for report in "$2"/*; do
		[[ -f $report ]] || continue
		fail "$1: a sanitizer's report"
		head -n 40 "$report" | sed 's/^/      /'
	done
}

# pattern_of NUMBER: a regular expression of the names of its tests that failed.
pattern_of() {
	# shellcheck disable=SC2001 # no replacement of bash's own has & in all versions
	printf '^(%s)$' "$(sed 's/[][\\.*^$+?(){}|]/\\&/g' <<<"${failing[$1]%$'\n'}" | paste -sd '|')"
}

# again_command NUMBER: how to run what failed of it: those tests of a bats file, the whole of all else.
again_command() {
	local command=${commands[$1]} names

	if [[ -z ${broken[$1]-} && $command == *'bats --formatter tap '* ]]; then
		command+=" --filter $(printf '%q' "$(pattern_of "$1")")"
	elif [[ -z ${broken[$1]-} && $command == 'tests/vm/run '* ]] && ! grep -qv '^core: ' <<<"${failing[$1]%$'\n'}"; then
		names=$(sed 's/^core: //; s/[^A-Za-z0-9]/./g' <<<"${failing[$1]%$'\n'}" | paste -sd '|')
		command="tests/vm/run --no-basics --only $(printf '%q' "^($names)\$") ${command#tests/vm/run }"
	fi
	printf '%s' "$command"
}

# run_again: what failed, one file after the other with nothing beside it.
run_again() {
	local number wanted=() failures=0

	for number in "${!labels[@]}"; do
		[[ -n ${failing[$number]-}${broken[$number]-} ]] || continue
		wanted+=("$number")
		failures=$((failures + $(grep -c . <<<"${failing[$number]-}${broken[$number]-}")))
	done
	[[ $failures -gt 0 ]] || return 0
	if [[ $failures -gt $AGAIN_MOST ]]; then
		printf 'tests/run: %d tests failed: they are not run again\n' "$failures"
		for number in "${wanted[@]}"; do
			give_up "$number"
		done
		return
	fi
	enqueue again "${wanted[@]}"
	run_queues again:1
}

# give_up NUMBER: what failed at the first time has failed.
give_up() {
	local number=$1

	fail_rest "$number"
	[[ -z ${broken[$number]-} ]] || fail "${labels[number]}: ${broken[$number]}"
}

# tell_flaky: names them, and adds them to the list of what is to be mended.
tell_flaky() {
	local name

	[[ ${#flaky[@]} -gt 0 ]] || return 0
	mkdir -p "$BUILD/tests"
	for name in "${flaky[@]}"; do
		printf 'FLAKY %s\n' "$name"
		printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$name" >>"$BUILD/tests/flaky"
	done
	[[ ${#flaky[@]} -le $FLAKY_MOST ]] || fail "tests/run: ${#flaky[@]} tests passed at the second time only, which is more than $FLAKY_MOST"
}
