#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is done with a recording elsewhere, later, without root.
#
# tests/golden/recording/shop.mlb is of two processes of the demo's shop, the second of which ends: four snapshots a second apart, by
# `record -p A,B -i 1 -n 4`. It stays as it is: what version 1 of the file has written is read for ever. notes.mlb is what
# tests/unit/export/test_recording_notes.c writes: with what holds blocks, contents of lost ones and bad frees. UPDATE_GOLDEN=1 writes the other files there anew.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOL=$BUILD/memleakbpf
GOLDEN=$ROOT/tests/golden/recording
export LC_ALL=C TZ=UTC

setup() {
	[[ -x $TOOL ]] || skip 'memleakbpf is not built'
	D=$BATS_TEST_TMPDIR
	chmod 755 "$D" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	cp "$GOLDEN/"*.mlb "$D/"
}

# The tool as nobody, where that user can reach it.
tool() {
	local as=()

	if [[ $EUID -eq 0 ]] && setpriv --reuid=65534 --clear-groups test -x "$TOOL" 2>/dev/null; then
		as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	fi
	"${as[@]}" "$TOOL" "$@"
}

report() {
	tool report "$D/shop.mlb" "$@"
}

# golden NAME: standard input is what that file holds.
golden() {
	[[ -z ${UPDATE_GOLDEN-} ]] || {
		cat >"$GOLDEN/$1"
		return
	}
	[[ -s $GOLDEN/$1 ]]
	diff -u "$GOLDEN/$1" -
}

@test "text, json, folded, android: byte for byte" {
	report | golden text.txt
	report -v --at 2s -T 2 | golden text-at.txt
	report -f json --at 2s -T 2 | golden json.json
	report -f folded | golden folded.txt
	report -f folded --sort count | golden folded-count.txt
	report -f android | golden android.txt
}

@test "otlp: a collector's rules hold, and sums and stacks are those of pprof" {
	local file

	for file in shop notes; do
		tool report "$D/$file.mlb" -f otlp >"$D/otlp"
		tool report "$D/$file.mlb" -f pprof >"$D/pprof"
		"$ROOT/tests/tools/otlp.py" "$D/otlp" "$D/pprof" >"$D/$file.sums"
	done
	grep -qx 'inuse_space: 905728 bytes in 1 stacks' "$D/shop.sums"
	grep -qx 'alloc_objects: 53824 count in 7 stacks' "$D/shop.sums"
	grep -qx 'reachable_space: 4096 bytes in 1 stacks' "$D/notes.sums"
	# The check can fail: with one byte of a name changed, and of another recording.
	sed 's/inuse_space/inuse_spacx/' "$D/otlp" >"$D/other"
	! "$ROOT/tests/tools/otlp.py" "$D/other" "$D/pprof" >"$D/sums" 2>&1 || return 1
	tool report "$D/shop.mlb" -f otlp >"$D/otlp"
	! "$ROOT/tests/tools/otlp.py" "$D/otlp" "$D/pprof" >"$D/sums" 2>&1
}

@test "a time is that of the nearest snapshot, and which one that is is said" {
	for t in 1s 1011ms 600ms 1300ms; do
		report -p 17192 -f json --at $t 2>"$D/err" | jq -e '.elapsed_ms == 1011'
		[[ $(<"$D/err") == 'memleakbpf: --at: the snapshot at 1.011 s' ]]
	done
	report -p 17192 -f json --at 1800ms 2>"$D/err" | jq -e '.elapsed_ms == 2011'
	# Before it was there nothing is near.
	report -p 17192 -f json --at 100ms 2>"$D/err" | cmp - /dev/null
	grep -q 'no snapshot of that time' "$D/err"
	[[ $(report -p 17192 -f json --from 1s --to 3s 2>/dev/null | jq -c .elapsed_ms | xargs) == '1011 2011 3011' ]]
	tool diff "$D/shop.mlb" -p 17192 --from 1s --to 3s -f json 2>"$D/err" | jq -e '.old.elapsed_ms == 1011 and .new.elapsed_ms == 3011'
	[[ $(<"$D/err") == 'memleakbpf: --from: the snapshot at 1.011 s
memleakbpf: --to: the snapshot at 3.011 s' ]]
}

@test "what holds blocks, contents, bad frees: byte for byte" {
	tool report "$D/notes.mlb" | golden notes.txt
	tool report "$D/notes.mlb" -v --at 35s | golden notes-at.txt
	tool report "$D/notes.mlb" -f json | jq -c "{time, bad_frees, stacks: [.stacks[] | {id, held_by, contents}]}" | golden notes.json
}

@test "-o that names the recording itself, by any name: refused, and the recording is as it was" {
	for arguments in 'report shop.mlb -o ./shop.mlb' 'report shop.mlb -f html -o link' 'diff notes.mlb shop.mlb -o shop.mlb'; do
		ln -sf shop.mlb "$D/link"
		# shellcheck disable=SC2086
		(cd "$D" && ! "$TOOL" $arguments 2>"$D/err")
		grep -q 'is the recording that is to be read' "$D/err"
		cmp "$GOLDEN/shop.mlb" "$D/shop.mlb"
	done
}

@test "diff: byte for byte" {
	tool diff "$D/shop.mlb" | golden diff.txt
	tool diff "$D/shop.mlb" --from 2s -f json | golden diff.json
	tool diff "$D/shop.mlb" -f folded | golden diff-folded.txt
}

@test "--merge: the processes of a program as one, in every report" {
	report --merge | golden text-merge.txt
	# The second one ends before the third report, and counts again in the last.
	report --merge -f json | jq -r '[.processes, .processes_ended, .live.bytes, .alloc.count, .free.count, .final] | join(" ")' | golden merge.txt
	[[ $(report --merge -f json | jq -s 'map(.live.bytes) | last') == \
		$(report -f json | jq -s 'map(select(.final) | .live.bytes) | add') ]]
	# One heap, whoever comes first.
	report --merge -f folded | sed 's/.* //' | golden folded-merge.txt
}

@test "html: its data, byte for byte" {
	local why

	report -f html >"$D/page" 2>"$D/err" || {
		why=$(<"$D/err")
		skip "no page in this build: ${why##*: }"
	}
	# The libraries and the script of the page are not the recording's.
	sed -n '/.*id="data">/,/<\/script>/ { s/.*id="data">//; s/<\/script>.*//; p }' "$D/page" |
		python3 -m json.tool --sort-keys | golden html.json
}

@test "pprof: what go tool pprof reads" {
	report -f pprof >"$D/pprof"
	# Newer versions of pprof also print where a function starts, which is unknown.
	HOME=$D go tool pprof -symbolize=none -raw "$D/pprof" | sed 's/ s=0//' | golden pprof.txt
}

@test "perfetto: what trace_processor reads" {
	local why

	why=$("$ROOT/tests/perfetto/fetch" "$BUILD/perfetto" 2>&1) || skip "no trace_processor: $why"
	report -f perfetto >"$D/trace"
	node "$ROOT/tests/perfetto/query.mjs" "$BUILD/perfetto" "$D/trace" \
		"select name, value from stats where severity != 'info' and value != 0" \
		"select pid, heap_name, a.ts, sum(count) as count, sum(size) as bytes, sum(max(count, 0)) as made, sum(max(size, 0)) as made_bytes
			from heap_profile_allocation a join process using (upid) group by pid, heap_name, a.ts order by pid, a.ts" \
		"select pid, t.name, ts, value from counter c join process_counter_track t on t.id = c.track_id
			join process using (upid) order by pid, t.name, ts" \
		"select distinct f.name, s.name as inlined, source_file, line_number, m.name as module, build_id from stack_profile_frame f
			join stack_profile_mapping m on m.id = f.mapping left join stack_profile_symbol s using (symbol_set_id)
			order by f.name, inlined, line_number" \
		"select pid, name, cmdline from process where pid != 0 order by pid" >"$D/answers"
	# A row a line.
	sed 's/^\[/&\n/; s/},{/},\n{/g' "$D/answers" | golden perfetto.txt
}

# used FILE COMMAND …: runs it; the most memory that it had resident, in KiB.
used() {
	python3 -c '
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))' "$@"
}

# The same stacks for ten times as long. A reader that kept what it has read, only the numbers of each snapshot, would need some 100 MB more. What is
# kept by intention has a limit that only the long one reaches: the page's points (1024 of them and what they are written with, 2 MB).
@test "a recording ten times as long takes no more memory: report in each format, and diff" {
	local short long command

	[[ -x $BUILD/tests/bench/make_recording ]] || skip 'make_recording is not built'
	"$BUILD/tests/bench/make_recording" 2000 1100 >"$D/short"
	"$BUILD/tests/bench/make_recording" 2000 11000 >"$D/long"
	[[ $(stat -c %s "$D/long") -gt $((7 * $(stat -c %s "$D/short"))) ]]
	for command in 'report -f text' 'report -f json -T 1' 'report -f folded' 'report -f perfetto' 'report -f pprof' 'report -f android' \
		'report -f html' diff; do
		# shellcheck disable=SC2086
		short=$(used "$TOOL" $command -o "$D/out" "$D/short")
		# shellcheck disable=SC2086
		long=$(used "$TOOL" $command -o "$D/out" "$D/long")
		printf '%-18s %d KiB, of the long one %d KiB\n' "$command" "$short" "$long"
		((long <= short + 5120))
	done
}

@test "a time beyond the recording, a process that is not in it: told, with what there is" {
	report --from 1h 2>"$D/err" | cmp - /dev/null
	grep -Eq '^memleakbpf: warning: --from: is beyond the recording, which ends at [0-9]+\.[0-9]{3} s$' "$D/err"
	tool diff "$D/shop.mlb" --from 1h 2>"$D/err" >/dev/null
	grep -q -- '--from: is beyond the recording' "$D/err"
	report -p 99 2>"$D/err" | cmp - /dev/null
	[[ $(<"$D/err") == *'no snapshot of that process; it has those of 17192 (shop), '* ]]
	report --from 1s 2>"$D/err" >/dev/null
	[[ ! -s $D/err ]]
}
