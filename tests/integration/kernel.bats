#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `memleakbpf kernel` against the kernel's own counts. tests/targets/kernel_keeps.c has the kernel keep as many things as it is
# told. By every allocation the rows are to be exactly as many: sampled, within six standard errors.
# bats file_tags=beside

load lib.bash

# start_kernel [OPTION…]: the tool, which looks when it gets SIGUSR1. $D/kernel.json has its looks.
start_kernel() {
	: >"$D/tool.err"
	: >"$D/kernel.json"
	env --default-signal=INT "$TOOL" kernel -f json -i 1h "$@" >"$D/kernel.json" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
}

# start_probes [OPTION…]: the same of the target, with probes that are in.
start_probes() {
	start_kernel -p "$T_PID" -s 1 "$@"
	tool_says "attached to the kernel's allocations"
}

looked() {
	[[ $(wc -l <"$D/kernel.json") -gt $LOOKS ]]
}

# look: SNAP is what the tool says now.
look() {
	LOOKS=$(wc -l <"$D/kernel.json")
	kill -USR1 "$TOOL_PID"
	until_true "$DEADLINE" looked || fail 'no look came'
	SNAP=$(tail -n 1 "$D/kernel.json")
}

looks_so() {
	look
	jq -e "$1" <<<"$SNAP" >/dev/null
}

# until_so FILTER: a look for which it holds. Blocks are shown when they are a second old.
until_so() {
	until_true "$DEADLINE" looks_so "$1" || fail "never so: $1"$'\n'"$(jq -c '.stacks[]? | [.kind, .cache, .live.count, .live.bytes, .frees_unseen, [.frames[].function][:8]]' <<<"$SNAP" | head -40)"
}

# stop: it ends well, with a last look.
stop() {
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	holds '.final' "$(tail -n 1 "$D/kernel.json")"
}

# keep KIND N: the target makes them, all of them.
keep() {
	printf '%s %s\n' "$1" "$2" >&"$T_IN"
	target_line '{'
	[[ $(field .made "$LINE") -eq $2 ]] || fail "the target made $LINE, not $2"
}

let_go() {
	printf 'let-go\n' >&"$T_IN"
	target_line '{'
}

end_keeper() {
	printf 'quit\n' >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
}

# Blocks that these functions (the names of several kernels) have asked the allocator for; on behalf of a call.
JQ_SUMS='
	def caller: [.frames[].function // "?" | select(test("^_*(kv?malloc|kmem_cache|kzalloc)") | not)][0];
	def by($names): [.stacks[] | select(caller as $c | any($names[]; . == $c))];
	def blocks($names): by($names) | map(.live.count) | add // 0;
	def blocks($names; $call): by($names) | map(select([.frames[].function // "?"] | any(test($call))) | .live.count) | add // 0;
	def files($call): blocks(["alloc_empty_file", "__alloc_file"]; $call);
'

@test "the books are as many as the kernel has made: sockets, pipes, eventfds, BPF maps, watches" {
	local cpus memlock

	start_target "$TARGETS/kernel_keeps"
	start_probes
	keep sockets 1000
	keep pipes 500
	keep eventfds 800
	keep arrays 300
	keep percpu 200
	keep watches 400
	until_so "$JQ_SUMS"'
		blocks(["sk_prot_alloc"]) == 1000 and blocks(["sock_alloc_inode"]) == 1000 and files("_sys_socket$") == 1000 and
		blocks(["alloc_pipe_info"]) == 1000 and files("_sys_pipe2?$") == 1000 and
		blocks(["do_eventfd"]) == 800 and files("_sys_eventfd2?$") == 800 and files("_sys_bpf$") == 500 and
		blocks(["inotify_update_watch", "inotify_new_watch"]; "_sys_inotify_add_watch$") == 400'
	# Every map says what memory it has.
	memlock=$(awk '/^map_type/ { type = $2 } /^memlock/ && type == 2 { sum += $2 } END { print sum + 0 }' "/proc/$T_PID/fdinfo/"*)
	cpus=$(awk -F- '{ print $NF + 1 }' /sys/devices/system/cpu/possible)
	holds "$JQ_SUMS"'[.stacks[] | select(.kind == "pages") | select([.frames[].function] | any(. == "bpf_map_area_alloc" or . == "__bpf_map_area_alloc" or . == "array_map_alloc")) | .live.bytes] | add // 0 | . >= 300 * 32768 and . <= '"$memlock"' + 300 * 4096'
	holds "[.stacks[] | select(.kind == \"percpu\" and .live.count == 200) | .live.bytes] == [200 * 1024 * $cpus]"
	# The four of a socket are one thing, and so are those of a pipe.
	holds '(.stacks[] | select(.live.count == 1000 and ([.frames[].function] | any(. == "sk_prot_alloc")) and .cache != null) | .id) as $id | [.stacks[] | select(.with == $id)] | length >= 2'
	holds '[.stacks[] | select(.live.count >= 300) | .tasks[].pid] | unique == ['"$T_PID"']'
	holds '[.stacks[] | select(.frees_unseen and .live.count >= 300)] == []'
	# Its library is not in an emulated machine.
	[[ -n ${VM_GUEST-} ]] || "$ROOT/tests/tools/schema.py" kernel "$D/kernel.json" >"$D/schema" || fail "$(<"$D/schema")"
	let_go
	until_so "$JQ_SUMS"'
		blocks(["sk_prot_alloc", "sock_alloc_inode", "alloc_pipe_info", "do_eventfd", "inotify_update_watch", "inotify_new_watch"]) == 0 and
		files("_sys_(socket|pipe2?|eventfd2?|bpf)$") == 0 and ([.stacks[] | select(.kind == "percpu")] == [])'
	stop
	end_keeper
}

@test "what no event has freed is no finding: the kernel's nodes of mappings" {
	start_target "$TARGETS/kernel_keeps"
	start_probes
	keep mappings 1500
	# A socket says that all before it is old enough.
	keep sockets 10
	until_so "$JQ_SUMS"'blocks(["sk_prot_alloc"]) == 10'
	# No more of them is believed than the kernel counts, and CPUs may keep for themselves.
	holds '(.caches | map(select(.name == "maple_node"))[0] // {growth_blocks: 0, blocks: 0}) as $cache |
		([.stacks[] | select(.cache == "maple_node" and (.frees_unseen | not)) | .live.count] | add // 0) <=
		([$cache.growth_blocks * 1.05, 0] | max) + $cache.blocks / 2 + 2000'
	stop
	end_keeper
}

@test "samples: the estimate is within six standard errors" {
	start_target "$TARGETS/kernel_keeps"
	start_kernel -p "$T_PID" -s 16k --kind slab --budget 100
	tool_says "attached to the kernel's allocations"
	# At 16 KiB a sample 2,000 sockets are some 290 samples.
	keep sockets 2000
	until_so "$JQ_SUMS"'by(["sk_prot_alloc"]) | length == 1 and .[0].samples > 50'
	SNAP=$(jq -c "$JQ_SUMS"'by(["sk_prot_alloc"])[0] | . + {truth: (2000 * .object_bytes)}' <<<"$SNAP")
	holds '(.live.bytes - .truth) as $off | ($off | fabs) <= 6 * .error_bytes'
	holds '.error_bytes > 0 and .error_bytes < .truth / 5'
	stop
	end_keeper
}

@test "a control group: what is charged to it, and nothing else" {
	memory_cgroup || skip 'no memory control groups'
	start_target "$TARGETS/kernel_keeps"
	echo "$T_PID" >"$CGROUP/cgroup.procs"
	start_kernel --cgroup "/${CGROUP##*/}" -s 1
	tool_says "attached to the kernel's allocations"
	keep pipes 300
	until_so "$JQ_SUMS"'blocks(["alloc_pipe_info"]) == 600'
	holds "[.stacks[].cgroup] | unique == [\"/${CGROUP##*/}\"]"
	holds "(.groups | map(.path)) == [\"/${CGROUP##*/}\"] and .groups[0].bytes > 300 * 1024"
	stop
	end_keeper
	until_true "$DEADLINE" rmdir "$CGROUP" || fail "$CGROUP is left"
}

@test "a stack that grows makes the exit status; a merged cache has all of its names" {
	local step

	start_target "$TARGETS/kernel_keeps"
	start_probes --error-exitcode 7
	for ((step = 0; step < 200; step++)); do
		keep eventfds 200
		look
		! jq -e "$JQ_SUMS"'by(["do_eventfd"]) | any(.trend == "growing")' <<<"$SNAP" >/dev/null || break
	done
	holds "$JQ_SUMS"'by(["do_eventfd"]) | any(.trend == "growing" and .growth_bytes_per_s > 0 and .context == "task" and (.reclaimable | not))'
	# Half of the looks count what the probes take, which is another way to them: a stack is one row all the same.
	holds "$JQ_SUMS"'by(["do_eventfd"]) | length == 1'
	holds '[.caches[] | select((.aliases | length) > 1)] | all(.name as $name | .aliases | any(. == $name))'
	kill -INT "$TOOL_PID"
	TOOL_STATUS=0
	wait "$TOOL_PID" || TOOL_STATUS=$?
	[[ $TOOL_STATUS -eq 7 ]] || fail "status $TOOL_STATUS"
	holds '.final' "$(tail -n 1 "$D/kernel.json")"
	end_keeper
}

@test "without probes nothing is loaded, and as nobody some files are not read" {
	start_kernel --no-drill
	until_true "$DEADLINE" test -s "$D/kernel.json" || fail 'no look'
	! grep -q '^prog_id' "/proc/$TOOL_PID/fdinfo/"* || fail 'it has a BPF program'
	look
	holds 'has("stacks") | not'
	holds '(.pools | map(.name) | contains(["slab_unreclaimable", "percpu", "unnamed"])) and (.caches | length) > 20 and (.areas | length) > 5'
	# What /proc says itself, give or take what happened meanwhile.
	holds "[.pools[] | select(.name == \"slab_reclaimable\") | .bytes / 1024 - $(awk '/^SReclaimable/ { print $2 }' /proc/meminfo) | fabs] | all(. < 262144)"
	stop
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$TOOL" kernel --no-drill -n 1 -f json
	[[ $status -eq 0 ]] || fail "status $status: $output"
	holds '(.missing | map(.what) | contains(["slabinfo"])) and .caches == [] and (.pools | length) > 5' "$output"
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$TOOL" kernel --probe -n 1 -i 1
	[[ $status -eq 1 && $output == *'no probes, and so no stacks'* ]] || fail "status $status: $output"
}

@test "the tool is no finding of its own, and kill -9 leaves nothing" {
	local ids id

	start_kernel --probe -s 1
	tool_says "attached to the kernel's allocations"
	ids=$(awk '/^prog_id/ { print $2 }' "/proc/$TOOL_PID/fdinfo/"* | sort -u)
	[[ $(wc -w <<<"$ids") -ge 8 ]] || fail "programs: $ids"
	until_so '[.stacks[]] | length > 3'
	holds "[.stacks[].tasks[].pid] | all(. != $TOOL_PID)"
	# Of the capabilities it keeps what tracing needs: CAP_SYS_MODULE and CAP_NET_ADMIN are gone.
	[[ $((0x$(awk '/^CapEff/ { print $2 }' "/proc/$TOOL_PID/status") & (1 << 16 | 1 << 12))) -eq 0 ]] || fail 'it keeps all capabilities'
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	for id in $ids; do
		gone() { ! bpftool prog show id "$id" >/dev/null 2>&1; }
		until_true "$DEADLINE" gone || fail "program $id is left"
	done
}
