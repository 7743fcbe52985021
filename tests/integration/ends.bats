#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# How walks up the stack end: in real programs, while libraries come and go, and in processes that live for milliseconds. The numbers
# are printed. Environment: STRESS=full runs the stress tests at their full length (30 s, 2,000 children).
# bats file_tags=beside

load lib.bash

say() {
	printf '# %s\n' "$*" >&3
}

# Runs a command under the tool, which writes to $D/report; children from their first instruction on.
under_tool() {
	STATUS=0
	timeout $((4 * DEADLINE)) "$TOOL" -v -f json -T 1 --max-stacks 200000 --children exact -o "$D/report" -- "$@" \
		</dev/null >"$D/run.out" 2>"$D/tool.err" 3>&- || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "$1: status $STATUS"
}

# ends REPORT [COMM]: "PROPER ALL LEFT": allocations whose stack is complete, or cut at --depth; all; how the others ended.
ends() {
	jq -rs --arg comm "${2-}" '[.[] | select(.final and ($comm == "" or .comm == $comm)) | .ends | to_entries[]] | group_by(.key)
		| map({key: .[0].key, n: (map(.value.allocs) | add)} | select(.n > 0))
		| [(map(select(.key == "complete" or .key == "truncated").n) | add // 0), (map(.n) | add // 0),
		   (map(select(.key != "complete" and .key != "truncated") | "\(.key) \(.n)") | join(", "))] | @tsv' "$1"
}

# proper NAME MILLIONTHS [COMM]: at most so many of a million stacks have no proper end.
proper() {
	local good all left

	IFS=$'\t' read -r good all left < <(ends "$D/report" "${3-}")
	[[ $all -gt 100 ]] || fail "$1: $all allocations"
	say "$1: $good of $all allocations have a whole stack${left:+; $left}"
	[[ $(((all - good) * 1000000)) -le $((all * $2)) ]] || fail "$1: $((all - good)) of $all stacks have no proper end: $left"
	# Functions of JavaScript that could not be named are walked over all the same, and counted apart (managed_v8.bats).
	jq -es '[.[] | .lost | del(.v8_frames)[]] | add == 0' "$D/report" >/dev/null || fail "$1: something was lost"
}

@test "stacks of python3 have a proper end" {
	# Every object a malloc of its own, as otherwise only the larger ones are.
	PYTHONMALLOC=malloc under_tool /usr/bin/python3 -c 'import ssl, json, re, sqlite3, decimal, xml.dom.minidom
for i in range(100): json.loads(json.dumps({"a": [str(i)] * 50}))'
	proper python3 100
}

# The constructors of libLLVM make some thousand stacks in the moment in which the tables of its million rows are made.
@test "stacks below a large library that has just been opened have a proper end" {
	llvm=$(ldconfig -p | awk '/libLLVM/ { print $NF; exit }')
	[[ -n $llvm ]] || skip 'no libLLVM'
	under_tool /usr/bin/python3 -c "import ctypes; ctypes.CDLL('$llvm')"
	grep -q "libLLVM.*unwind rows" "$D/tool.err" || fail 'libLLVM was not opened'
	jq -es '[.[] | select(.final) | .ends.complete.stacks] | max > 2000' "$D/report" >/dev/null || fail 'hardly a stack'
	proper 'python3 with libLLVM' 1000
}

@test "stacks of git have a proper end" {
	git init -q "$D/repo"
	for i in 1 2 3; do
		seq $((i * 1000)) >"$D/repo/file$i"
		git -C "$D/repo" add .
		git -C "$D/repo" -c user.name=a -c user.email=a@b commit -qm "number $i"
	done
	under_tool git -C "$D/repo" log --stat -p
	proper git 100
}

@test "stacks of perl have a proper end" {
	under_tool perl -MData::Dumper -MPOSIX -e 'my %h; $h{$_} = [map { "x$_" } 1 .. 20] for 1 .. 1500; print length Dumper(\%h)'
	proper perl 100
}

@test "stacks of gdb have a proper end" {
	need gdb
	under_tool gdb -batch -nx -ex 'break main' -ex run -ex bt -ex 'info functions nest' "$BUILD/tests/unwind/shapes-gcc-O2"
	proper gdb 100 gdb
}

@test "stacks of clang have a proper end" {
	need clang
	under_tool clang -O2 -g -c -o "$D/out.o" "$ROOT/tests/unwind/targets/shapes.c" -D_GNU_SOURCE
	proper clang 100
}

# Code made at run time has no tables: there frame pointers lead on, but V8's own code keeps them everywhere only nearly.
@test "stacks of node have a proper end, nearly all" {
	need node
	under_tool node -e 'const zlib = require("zlib"), crypto = require("crypto");
		let sum = 0;
		for (let i = 0; i < 300; i++) sum += zlib.deflateSync(JSON.stringify({a: Array(200).fill(i)})).length;
		for (let i = 0; i < 500; i++) sum += crypto.createHash("sha256").update("x" + i).digest("hex").length;
		console.log(sum)'
	proper node 1000
}

@test "stacks of redis-server have a proper end" {
	need redis-server
	need redis-benchmark
	port=$(free_port)
	start_redis "$port"
	attach -v -T 1
	redis-benchmark -p "$port" -n 10000 -r 10000 -t set,lpush,zadd -q >"$D/bench" 3>&- || fail 'redis-benchmark failed'
	stop_tool
	final
	printf '%s\n' "$SNAP" >"$D/report"
	proper redis-server 100
}

@test "stacks of nginx have a proper end" {
	need nginx
	need curl
	port=$(free_port)
	printf '%s\n' "daemon off; pid $D/nginx.pid; user root; worker_processes 1; error_log $D/error.log;" \
		'events { worker_connections 64; }' \
		"http { access_log off; gzip on; gzip_types *; client_body_temp_path $D; proxy_temp_path $D;" \
		"fastcgi_temp_path $D; uwsgi_temp_path $D; scgi_temp_path $D;" \
		"server { listen 127.0.0.1:$port; root $D; } }" >"$D/nginx.conf"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "$D" 2>/dev/null || :
	seq 10000 >"$D/page"
	nginx -c "$D/nginx.conf" >"$D/nginx.log" 2>&1 3>&- &
	master=$!
	PIDS+=("$master")
	until_true "$DEADLINE" curl -sf -o "$D/got" "http://127.0.0.1:$port/page" || fail "$(<"$D/nginx.log")"
	T_PID=$(ps -o pid= --ppid "$master" | tr -d ' ')
	attach -v -T 1
	for _ in {1..30}; do
		curl -sf --compressed -o "$D/got" "http://127.0.0.1:$port/page" || fail 'no answer'
	done
	stop_tool
	final
	printf '%s\n' "$SNAP" >"$D/report"
	proper nginx 100
	kill -QUIT "$master"
	wait "$master" || fail 'nginx ended badly'
}

# churn ROUNDS PERIOD: plugins opened and closed; FIRST and SECOND are what the two have allocated, and SEEN_A and SEEN_B what the tool says of
# them by stacks that go to main.
churn() {
	local whole='[.[] | select(.final) | .stacks[] | select(.["end"] == "complete" and (.frames | any(.function == "main")))
		| select(.frames | any(.function == "churn_allocate" and .module == $object)) | .alloc.count] | add // 0'

	timeout $((4 * DEADLINE)) "$TOOL" -v -f json -T 1000 --sort alloc -o "$D/report" -- \
		"$BUILD/tests/unwind/churn" "$BUILD/tests/unwind" "$@" >"$D/run.out" 2>"$D/tool.err" 3>&- || fail "status $?"
	read -r FIRST SECOND <"$D/run.out"
	[[ $((FIRST + SECOND)) -eq $1 ]] || fail "the target made $FIRST and $SECOND allocations"
	SEEN_A=$(jq -s --arg object libchurn_a.so "$whole" "$D/report")
	SEEN_B=$(jq -s --arg object libchurn_b.so "$whole" "$D/report")
}

@test "plugins opened and closed 100 times a second: their stacks go to main" {
	[[ ${STRESS-} == full ]] && seconds=30 || seconds=5
	churn $((seconds * 100)) 10000
	say "plugins: $((SEEN_A + SEEN_B)) of $((seconds * 100)) stacks are whole"
	[[ $SEEN_A -le $FIRST && $SEEN_B -le $SECOND ]] || fail "$SEEN_A of $FIRST and $SEEN_B of $SECOND were seen"
	[[ $(((FIRST - SEEN_A + SECOND - SEEN_B) * 10)) -le $seconds ]] || fail "$SEEN_A of $FIRST and $SEEN_B of $SECOND are whole"
	proper 'the program with plugins' 1000
}

# One takes the other's place thousands of times while the tool reads what is mapped where.
@test "plugins that take each other's place as fast as they can: no stack goes by the other's name" {
	rounds=3000
	[[ ${STRESS-} != full ]] || rounds=30000
	churn "$rounds" 0
	say "plugins: of $FIRST and $SECOND allocations $SEEN_A and $SEEN_B have whole stacks"
	[[ $SEEN_A -le $FIRST && $SEEN_B -le $SECOND ]] || fail "$SEEN_A of $FIRST and $SEEN_B of $SECOND were seen"
	[[ $(((FIRST - SEEN_A + SECOND - SEEN_B) * 1000)) -le $rounds ]] || fail "$SEEN_A of $FIRST and $SEEN_B of $SECOND are whole"
}

@test "children that live for 20 ms: their stacks are whole" {
	[[ ${STRESS-} == full ]] && children=2000 || children=300
	under_tool "$BUILD/tests/unwind/children" "$children"
	made=$(<"$D/run.out")
	IFS=$'\t' read -r good all left < <(ends "$D/report")
	say "$children children: $good of $made stacks are whole${left:+; $left}"
	[[ $made -gt $((children * 10)) ]] || fail "the children made $made allocations"
	[[ $(((made - good) * 1000)) -lt $made ]] || fail "of $made stacks $good are whole; $left"
	# The parent's own standard output is one allocation more.
	[[ $all -le $((made + children + 10)) ]] || fail "$all allocations were seen, $made made"
}

# like_heaptrack NAME COMMAND…: heaptrack, which unwinds in the program by libunwind, finds as many different allocating stacks, to 2 %.
# In its file a line "a" is a pair of size and stack, the latter its third word.
like_heaptrack() {
	local name=$1 file theirs ours

	shift
	heaptrack -o "$D/heaptrack.$name" "$@" >"$D/heaptrack.log" 2>&1 </dev/null 3>&- || fail "heaptrack: status $?"
	file=$(compgen -G "$D/heaptrack.$name.*") || fail "$(<"$D/heaptrack.log")"
	theirs=$({ zstd -dcq "$file" 2>/dev/null || gzip -dc "$file"; } | awk '$1 == "a" { seen[$3] = 1 } END { print length(seen) }')
	under_tool "$@"
	ours=$(jq -s '[.[] | select(.final) | .ends.complete.stacks] | max' "$D/report")
	say "$name: $ours different stacks, by heaptrack $theirs"
	[[ $theirs -gt 100 ]] || fail "heaptrack knows $theirs stacks of $name"
	[[ $(((ours - theirs) * 50)) -le $theirs && $(((theirs - ours) * 50)) -le $theirs ]] || fail "$ours, not about $theirs"
}

# Nothing with an interpreter whose functions are part of a stack: what is one stack of C functions to heaptrack is as many as there are of these.
@test "as many different stacks as heaptrack finds: git, jq" {
	need heaptrack
	git init -q "$D/repo"
	for i in 1 2 3 4 5; do
		seq $((i * 1000)) >"$D/repo/file$i"
		git -C "$D/repo" add .
		git -C "$D/repo" -c user.name=a -c user.email=a@b commit -qm "number $i"
	done
	like_heaptrack git git -C "$D/repo" --no-pager log --stat
	like_heaptrack jq jq -n '[range(200) | {a: ., b: [range(.) | tostring]}] | group_by(.a % 7) | map(length)'
}
