# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What a run of tests cost: of each file how often it started the tool, processor time and wall time; for tests/run.

# How many runs of each kind build/tests/times keeps, and how many files are named at the end.
TIMES_KEPT=10
SLOWEST=10

# A file each: "LABEL STARTS PROCESSOR WALL", the times in milliseconds; starts are -1 where they cannot be counted.
times=()
counter=''

milliseconds() {
	local now=${EPOCHREALTIME/[.,]/}

	printf '%s' "${now%???}"
}

# count_starts: the kernel tells who executes the tool from now on, where this user may ask it for that.
count_starts() {
	local tool=${MEMLEAKBPF:-$BUILD/memleakbpf} ready=''

	starts=$BUILD/tests/logs/starts
	mkdir -p "${starts%/*}"
	: >"$starts"
	[[ -x $tool ]] || return 0
	tests/runner/count-starts "$tool" >"$starts" 2>/dev/null </dev/null &
	counter=$!
	while [[ $ready != ready ]] && kill -0 "$counter" 2>/dev/null; do
		read -r ready <"$starts" || sleep 0.01
	done
	[[ $ready == ready ]] || end_counting
}

end_counting() {
	[[ -n $counter ]] || return 0
	kill "$counter" 2>/dev/null
	wait "$counter" 2>/dev/null
	counter=''
}

# starts_of NUMBER: of the tool, by that file of tests.
starts_of() {
	if [[ -n $counter ]]; then
		grep -cx "$1" "$starts"
	else
		printf -- '-1\n'
	fi
}

# processor_of FILE: milliseconds of what `times` said there of a shell's children.
processor_of() {
	awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, /[ms]/); sum += part[1] * 60 + part[2] } } END { printf "%d", sum * 1000 }' "$1" 2>/dev/null
}

seconds() {
	printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100))
}

# in_words STARTS PROCESSOR WALL
in_words() {
	[[ $1 -lt 0 ]] || printf '%d starts of the tool, ' "$1"
	printf '%s of processor time, %s' "$(seconds "$2")" "$(seconds "$3")"
}

# note_times LABEL STARTS PROCESSOR WALL: of a file that has ended.
note_times() {
	times+=("$*")
	printf '      %s: %s\n' "$1" "$(in_words "$2" "$3" "$4")"
}

# tell_times KIND WALL: the sums, and the files that took longest; a run of that KIND took so long. The last runs are kept.
tell_times() {
	local row label starts processor wall sum=0 started=0 kept=$BUILD/tests/times old

	[[ ${#times[@]} -gt 0 ]] || return 0
	for row in "${times[@]}"; do
		read -r label starts processor wall <<<"$row"
		sum=$((sum + processor))
		[[ $starts -lt 0 ]] && started=-1
		[[ $started -lt 0 ]] || started=$((started + starts))
	done
	# With what of them no file's are: who starts the tool may have ended by then.
	[[ $started -lt 0 ]] || started=$(($(wc -l <"$BUILD/tests/logs/starts") - 1))
	while read -r label starts processor wall; do
		printf 'slow  %s: %s\n' "$label" "$(in_words "$starts" "$processor" "$wall")"
	done < <(printf '%s\n' "${times[@]}" | sort -k4,4nr | head -n "$SLOWEST")
	printf 'sums  %s, load %s\n' "$(in_words "$started" "$sum" "$2")" "$(cut -d ' ' -f 1-3 /proc/loadavg)"
	mkdir -p "$kept"
	{
		printf '# file, starts of the tool, milliseconds of processor time, milliseconds; sums: %s\n' "$(in_words "$started" "$sum" "$2")"
		printf '%s\n' "${times[@]}"
	} >"$kept/$(date -u +%Y%m%dT%H%M%S.%3NZ).$1"
	while IFS= read -r old; do
		rm -f "$old"
	done < <(find "$kept" -name "*.$1" | sort -r | tail -n +$((TIMES_KEPT + 1)))
}
