#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The classes of a verdict, suppressions and --leak-only are the same in every format, read by its own reader: from a recording, and
# while tracing.
# bats file_tags=beside

load lib.bash
load recording.bash

CLASSES='definite indirect possible reachable'

# judged_into FILE OPTION…: what a process has allocated and lost after its attach, into a file. A busy machine takes its time to stop a process.
judged_into() {
	start_target "$TARGETS/verdict_heap"
	tool_into "$1" "${@:2}" --max-pause 1m
	tell all
	tool_stops
	end_target
}

judged_recording() {
	judged_into "$D/rec" record --verdict
}

# text_of CLASS
text_of() {
	case $1 in
	definite) echo 'definitely lost' ;;
	indirect) echo 'indirectly lost' ;;
	possible) echo 'possibly lost' ;;
	reachable) echo 'still reachable' ;;
	esac
}

html_data() {
	sed -n '/<script type="application\/json" id="data">/,/<\/script>/p' "$1" | sed '1d' | sed 's/<\/script>.*//'
}

pprof_total() {
	HOME=$D go tool pprof -symbolize=none -top -unit=B -sample_index="$2" "$1" 2>"$D/pprof.err" |
		sed -nE 's/.*Total samples = ([0-9]+)B?( .*)?$/\1/p'
}

# Each prints "CLASS BYTES BLOCKS", of all the stacks in a file.
classes_of_json() {
	local class

	for class in $CLASSES; do
		jq -r "select(.final) | \"$class \([.stacks[].verdict.$class.bytes] | add // 0) \([.stacks[].verdict.$class.count] | add // 0)\"" "$1"
	done
}

classes_of_html() {
	html_data "$1" | jq -r '[.targets[0].rows[][5]] as $v | ["definite", "indirect", "possible", "reachable"] | to_entries[]
		| .key as $i | "\(.value) \([$v[][2 * $i]] | add // 0) \([$v[][2 * $i + 1]] | add // 0)"'
}

classes_of_pprof() {
	local class

	for class in $CLASSES; do
		echo "$class $(pprof_total "$1" "${class}_space") $(pprof_total "$1" "${class}_objects")"
	done
}

# classes_of_folded BYTES COUNTS: two files, for each has one number.
classes_of_folded() {
	local class

	for class in $CLASSES; do
		awk -v name="[$(text_of "$class")]" -v class="$class" -F'[; ]' '
			index($0, name) { if (FILENAME == ARGV[1]) bytes += $NF; else count += $NF }
			END { printf "%s %.0f %.0f\n", class, bytes, count }' "$1" "$2"
	done
}

classes_of_perfetto() {
	local class

	node "$ROOT/tests/perfetto/query.mjs" "$BUILD/perfetto" "$1" \
		'select heap_name as name, sum(size) as bytes, sum(count) as count from heap_profile_allocation group by 1' \
		"select name, value from stats where severity != 'info' and value != 0" >"$D/answers" 2>"$D/perfetto.err" || fail "$(<"$D/perfetto.err")"
	[[ $(sed -n 2p "$D/answers") == '[]' ]] || fail "$(sed -n 2p "$D/answers")"
	for class in $CLASSES; do
		head -n 1 "$D/answers" | jq -r --arg class "$class" --arg name "$(text_of "$class")" \
			'([.[] | select(.name == $name)][0] // {bytes: 0, count: 0}) as $h | "\($class) \($h.bytes) \($h.count)"'
	done
}

# live_of FORMAT FILE: live bytes of what is in it.
live_of() {
	case $1 in
	json) jq -r 'select(.final) | [.stacks[].live.bytes] | add // 0' "$2" ;;
	text) awk '/^#/ { sub(/ .* lost with what hangs on it:/, ""); for (i = 2; i < NF; i++) if ($i ~ /^\(.*[0-9]$/ && $(i + 1) == "B)") { gsub(/[(,]/, "", $i); print $i; next } print $2 }' "$2" | awk '{ s += $1 } END { printf "%.0f\n", s }' ;;
	folded) awk '{ s += $NF } END { printf "%.0f\n", s }' "$2" ;;
	pprof) pprof_total "$2" inuse_space ;;
	android) awk '$1 == "z" { s += $4 * $6 } END { printf "%.0f\n", s }' "$2" ;;
	html) html_data "$2" | jq '[.targets[0].rows[] | [.[4] as $c | range(1; $c | length; 5) | $c[.]] | add // 0] | add // 0' ;;
	perfetto)
		node "$ROOT/tests/perfetto/query.mjs" "$BUILD/perfetto" "$2" \
			"select ifnull(sum(size), 0) as bytes from heap_profile_allocation where heap_name = 'libc.malloc'" | jq '.[0].bytes'
		;;
	esac
}

# The formats that this machine can read.
formats() {
	echo json text folded android
	if command -v go >/dev/null; then
		echo pprof
	fi
	if "$ROOT/tests/perfetto/fetch" "$BUILD/perfetto" >"$D/fetch.err" 2>&1; then
		echo perfetto
	fi
	if "$TOOL" report "$D/rec" -f html >"$D/html.out" 2>&1; then
		echo html
	fi
}

@test "classes: bytes and blocks are the same in every format" {
	local format theirs ours class bytes count

	judged_recording
	for format in $(formats); do
		"$TOOL" report "$D/rec" -T 100000 -f "$format" -o "$D/as.$format" || fail "$format"
	done
	"$TOOL" report "$D/rec" -f folded --sort count -o "$D/as.folded.count" || fail 'counts'
	ours=$(classes_of_json "$D/as.json")
	# They are the snapshot's own, none is empty, and together all that is live.
	[[ $ours == "$(jq -r 'select(.final).verdict as $v | ("definite", "indirect", "possible", "reachable") | "\(.) \($v[.].bytes) \($v[.].count)"' "$D/as.json")" ]] ||
		fail "json: $ours"
	while read -r class bytes count; do
		[[ $bytes -gt 0 && $count -gt 0 ]] || fail "nothing is $class: $ours"
		grep -Eq "^verdict .* in $(echo "$count" | sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta') blocks $(text_of "$class")" "$D/as.text" ||
			fail "text has no $count of $class: $(grep ^verdict "$D/as.text")"
	done <<<"$ours"
	[[ $(jq 'select(.final).live.bytes' "$D/as.json") -eq $(awk '{ s += $2 } END { print s }' <<<"$ours") ]] || fail "not all that is live: $ours"
	for format in $(formats); do
		case $format in
		folded) theirs=$(classes_of_folded "$D/as.folded" "$D/as.folded.count") ;;
		pprof | perfetto | html) theirs=$("classes_of_$format" "$D/as.$format") ;;
		*) continue ;; # android has no place for them
		esac
		[[ $theirs == "$ours" ]] || fail "$format has
$theirs
and json
$ours"
	done
}

# Text has stacks of what only hangs on lost blocks with -v alone, and rows of several stacks unless asked for stacks.
as_much() {
	[[ $1 != text ]] || echo -v --by stack
}

# hides_alike OPTION…: all formats have as much of the recording left as JSON.
hides_alike() {
	local format ours=''

	for format in $(formats); do
		# shellcheck disable=SC2046 # words, or none
		"$TOOL" report "$D/rec" -T 100000 -f "$format" $(as_much "$format") -o "$D/as.$format" "$@" || fail "$format"
		LEFT=$(live_of "$format" "$D/as.$format")
		[[ -n $ours ]] || ours=$LEFT
		[[ $LEFT -eq $ours ]] || fail "$*: $format has $LEFT bytes, json $ours"
	done
}

@test "suppressions and --leak-only: every format leaves the same out" {
	local all less lost

	judged_recording
	printf 'leak:lost_huge\nleak:big_held\n' >"$D/supp"
	hides_alike
	all=$LEFT
	hides_alike --suppressions "$D/supp"
	less=$LEFT
	hides_alike --leak-only
	lost=$LEFT
	# 4 MiB of lost_huge's, and the list of 10,000 that is held.
	[[ $less -lt $((all - 4194304)) && $lost -lt $all ]] || fail "all $all, not suppressed $less, lost $lost"
	hides_alike --leak-only --suppressions "$D/supp"
	[[ $LEFT -eq $((lost - 4194304)) ]] || fail "both: $LEFT; lost $lost"
	# And it is said where the format has room for that.
	grep -q '^suppressed, and counted as live, not in the verdict: ' "$D/as.text" || fail 'text does not say so'
	grep -q '(--leak-only)' "$D/as.text" || fail 'text does not say so'
	if [[ -s $D/as.html ]]; then
		html_data "$D/as.html" | jq -e '.targets[0].left_out[0] > 4194304' >/dev/null || fail 'html does not say so'
	fi
	if [[ -s $D/as.pprof ]]; then
		HOME=$D go tool pprof -comments "$D/as.pprof" 2>"$D/pprof.err" | grep -q '^left out: [0-9]* bytes' || fail 'pprof does not say so'
	fi
}

@test "suppressions and --leak-only while tracing: as from a recording" {
	local format ours='' left

	judged_recording
	printf 'leak:lost_huge\n' >"$D/supp"
	for format in $(formats); do
		# shellcheck disable=SC2046
		judged_into "$D/as.$format" --leak-only --suppressions "$D/supp" -T 100000 -f "$format" $(as_much "$format")
		left=$(live_of "$format" "$D/as.$format")
		[[ -n $ours ]] || ours=$left
		[[ $left -eq $ours && $left -gt 0 ]] || fail "$format has $left bytes, json $ours"
	done
	hides_alike --leak-only --suppressions "$D/supp"
	[[ $LEFT -eq $ours ]] || fail "from a recording $LEFT bytes, while tracing $ours"
}

@test "a recording without a verdict: --leak-only shows everything and says why" {
	"$TOOL" record -i 1h -o "$D/rec" -- "$TARGETS/verdict_heap" </dev/null >"$D/truth" 2>"$D/tool.err" || fail 'record'
	run_tool report "$D/rec" --leak-only
	[[ $OUT == *'without a verdict nobody knows'* && $OUT == *'#1 '* ]] || fail "$OUT"
}

@test "a lost handle: its stack comes first, with what hangs on it, and hides the rest" {
	local lost kept stacks

	echo | timeout "$DEADLINE" "$TOOL" record -o "$D/rec" --verdict --max-pause 1m -- "$TARGETS/lost_handle.nofp" >"$D/truth" 2>"$D/tool.err" 3>&- ||
		fail "status $?: $(<"$D/tool.err")"
	read -r lost kept <"$D/truth"
	"$TOOL" report "$D/rec" -f json -T 100 -o "$D/as.json" || fail 'json'
	stacks=$(jq -c 'select(.final) | [.stacks[] | select(.verdict.reachable.count == 0)] |
		[(.[0] | .verdict.definite.bytes, .kept.bytes, any(.frames[]; .function | startswith("forget"))),
		 (.[1:] | all(.hangs.bytes == .live.bytes), (map(.hangs.bytes) | add), length)]' "$D/as.json")
	[[ $stacks == "[$lost,$kept,true,true,$kept,13]" ]] || fail "lost $lost, kept $kept: $stacks"
	"$TOOL" report "$D/rec" >"$D/text" || fail 'text'
	grep -Eq "^#1  1\\.6 MiB lost with what hangs on it: .*\\(1,600 B\\) in 100 blocks" "$D/text" || fail "$(<"$D/text")"
	grep -q '^13 stacks of what hangs on lost blocks are not shown' "$D/text" || fail "$(<"$D/text")"
	! grep -q 'make_part' "$D/text" || fail "$(<"$D/text")"
	"$TOOL" report "$D/rec" -v -T 100 >"$D/text" || fail 'text'
	grep -q 'make_part' "$D/text" || fail "$(<"$D/text")"
	"$TOOL" report "$D/rec" --short >"$D/text" || fail 'short'
	grep -Eq '^#1 +1\.6 KiB +100 +[^ ]+ +1\.6 MiB  forget\(\)' "$D/text" || fail "$(<"$D/text")"
}
