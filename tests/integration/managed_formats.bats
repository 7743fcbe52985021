#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Frames that are no native code keep their kind, function, file and line in every format, live and from a recording, each by its own reader.
# bats file_tags=beside

load lib.bash
load recording.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

teardown() {
	[[ -z ${T_PID:-} ]] || rm -f "/tmp/perf-$T_PID.map"
	clean
}

# One recording of what the target does after its "go"; TRUTH is what it says of that.
managed_recording() {
	tool_into "$D/rec" record
	echo >&"$T_IN"
	target_line "$1"
	TRUTH=$LINE
	tool_stops
}

# reported FORMAT: $D/of.FORMAT, as nobody.
reported() {
	report "$D/rec" -f "$1" -T 100000 "${@:2}"
	printf '%s\n' "$REPORT" >"$D/of.$1"
}

# Some are binary.
documented() {
	"$TOOL" report "$D/rec" -f "$1" -o "$D/of.$1" 2>"$D/report.err" || fail "$1: $(<"$D/report.err")"
}

node_recording() {
	need node
	start_target node --logfile="$D/v8.log" --perf-basic-prof --interpreted-frames-native-stack "$ROOT/tests/targets/leak_node.js"
	managed_recording '{'
}

# The program compiles what it does often: its frames are the same in several stacks.
@test "Node by a perf map: function, script and line in JSON, text and folded" {
	node_recording
	reported json
	jq -se --argjson truth "$TRUTH" '
		def own: .frames | map(select(.file == $truth.file));
		# What leads there is C++.
		[.[-1].stacks[] | select(any(.frames[]; .function // "" | startswith("node::NodeArrayBufferAllocator::")) and any(own[]; .function == "add"))] as $stacks |
		([$stacks[].live.bytes] | add) == $truth.bytes and ([$stacks[].live.count] | add) == $truth.count and
		all($stacks[];
			.end == "complete" and (own | map({function, line})) == $truth.stack and all(own[]; .kind == "javascript" and .module == "leak_node.js") and
			(.frames[0] | .function == "malloc" and (has("kind") | not)) and
			any(.frames[]; .function == "node::Start(int, char**)" and (has("kind") | not)))' "$D/of.json" >/dev/null || {
		jq -c '.stacks[] | select(any(.frames[]; .function == "add")) | [.live, .end, (.frames[:14] | map([.function, .kind, .line]))]' "$D/of.json" >&2
		fail "not $TRUTH"
	}
	reported text
	grep -Eq "^    add\+0x[0-9a-f]+ +$(jq -r '.file' <<<"$TRUTH"):$(jq '.stack[0].line' <<<"$TRUTH")  \(javascript\) \(definition\)$" "$D/of.text" || fail "$(head -n 40 "$D/of.text")"
	reported folded
	awk -v wanted=';handle (leak_node.js)_[j];sell (leak_node.js)_[j];add (leak_node.js)_[j];' \
		'index($0, wanted) && /;node::NodeArrayBufferAllocator::/ { sum += $NF } END { print sum }' "$D/of.folded" >"$D/sum"
	[[ $(<"$D/sum") == "$(jq .bytes <<<"$TRUTH")" ]] || fail "folded: $(<"$D/sum") of $TRUTH"
}

@test "Node by a perf map: pprof has its functions, files and lines" {
	need go
	node_recording
	documented pprof
	pprof -lines -traces -sample_index=inuse_space -unit=B "$D/of.pprof" >"$D/traces"
	jq -r '.file as $file | .stack[] | .function + " " + $file + ":" + (.line | tostring)' <<<"$TRUTH" >"$D/lines"
	while IFS= read -r line; do
		grep -qF "$line" "$D/traces" || fail "no $line in $(head -n 30 "$D/traces")"
	done <"$D/lines"
	pprof -raw "$D/of.pprof" | grep -Eq '^[0-9]+: 0x0/0x0/0x0 \[javascript\]' || fail 'no mapping of the runtime'
}

@test "Node by a perf map: perfetto has its functions, files and lines" {
	needs_perfetto
	need node
	node_recording
	documented perfetto
	perfetto "$D/of.perfetto" "select distinct f.name, s.source_file as file, s.line_number as line from stack_profile_frame f
		join stack_profile_mapping m on f.mapping = m.id left join stack_profile_symbol s on f.symbol_set_id = s.symbol_set_id
		where m.name = '/[javascript]' and f.name in ('add', 'sell', 'handle')" >"$D/rows"
	jq -se --argjson truth "$TRUTH" '
		(.[0] | map({function: .name, line}) | unique) == ($truth.stack | unique) and all(.[0][]; .file == $truth.file)' "$D/rows" >/dev/null ||
		fail "$(<"$D/rows")"
}

# Of suppressions, too: by the function, and by the script.
@test "Node by a perf map: suppressions, diff and the page" {
	local how

	node_recording
	for how in 'leak:^sell$' 'leak:leak_node.js' $'{\n  x\n  Memcheck:Leak\n  ...\n  fun:add\n  fun:sell\n}' $'{\n  x\n  Memcheck:Leak\n  ...\n  src:leak_node.js\n}'; do
		printf '%s\n' "$how" >"$D/supp"
		"$TOOL" report "$D/rec" -f json -T 100000 --suppressions "$D/supp" >"$D/of.json" 2>"$D/report.err" || fail "$(<"$D/report.err")"
		jq -se 'all(.[-1].stacks[].frames[]; .function != "add") and (.[-1].stacks | length) > 0' "$D/of.json" >/dev/null || fail "not suppressed: $how"
	done
	"$TOOL" diff "$D/rec" "$D/rec" -f json >"$D/of.diff" 2>"$D/report.err" || fail "$(<"$D/report.err")"
	jq -e --argjson truth "$TRUTH" '.delta.bytes == 0 and any(.stacks[].frames[]; .kind == "javascript" and .function == "add" and .line == $truth.stack[0].line)' \
		"$D/of.diff" >/dev/null || fail 'diff'
	needs_chromium
	documented html
	look "$D/of.html" 'count|#kinds [data-kind=javascript]' 'type|#search|leak_node.js' 'click|tr.row' 'text|tr.frames'
	seen 0 1 'the legend'
	[[ ${SEEN[*]} == *'leak_node.js:'*'(javascript)'* ]] || fail "${SEEN[*]}"
}

# What C calls is C's, and what the same file has of Go is Go's.
@test "Go: its frames are told from C's" {
	[[ -x $TARGETS/leak_go ]] || skip 'no go to build with'
	start_target "$TARGETS/leak_go"
	managed_recording '['
	reported json
	jq -se '
		[.[-1].stacks[].frames[] | select(.module == "leak_go")] as $frames |
		($frames | map(select(.function | test("^(main|runtime)\\."))) | length > 20 and all(.[]; .kind == "go" and (.file | type) == "string" and .line > 0)) and
		($frames | map(select(.function | test("^(_cgo_|make_block|call_back|goCallback$)"))) | length > 4 and all(.[]; has("kind") | not))' \
		"$D/of.json" >/dev/null || fail "$(jq -c '[.stacks[].frames[] | [.function, .kind]] | unique' "$D/of.json")"
	reported text
	grep -Eq '^    main\.main\+0x[0-9a-f]+ +[^ ]*main\.go:[0-9]+  \(leak_go, go\)$' "$D/of.text" || fail "$(<"$D/of.text")"
	# They are code of a file.
	reported folded
	! grep -q '_\[j\]' "$D/of.folded" || fail "$(<"$D/of.folded")"
	reported android
	grep -Eq '\{"[^"]*leak_go" [0-9a-f]+ "main\.main" [0-9a-f]+\}' "$D/of.android" || fail "$(<"$D/of.android")"
	documented pprof
	pprof -lines -traces "$D/of.pprof" | grep -Eq 'main\.main .*main\.go:[0-9]+' || fail 'pprof'
	! pprof -raw "$D/of.pprof" | grep -qF '[go]' || fail 'a mapping of no file'
}
