#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Real programs under load: stacks have names, the program goes on and its results are right.

load lib.bash

named() { # SNAP: most frames have names, and the stacks are more than one frame deep
	holds '.stacks | length > 0'
	holds '[.stacks[0:10][] | .frames | length] | max >= 3'
	holds '[.stacks[0:10][].frames[] | has("function")] | (map(select(.)) | length) / length > 0.6'
	holds '[.lost[]] | add // 0 | . == 0'
}

@test "redis-server under redis-benchmark is traced, and answers" {
	need redis-server
	need redis-benchmark
	port=$(free_port)
	start_redis "$port"
	attach -T 100
	redis-benchmark -p "$port" -n 20000 -r 10000 -t set,lpush -q >"$D/bench" 3>&- || fail 'redis-benchmark failed'
	[[ $(redis-cli -p "$port" set key value) == OK && $(redis-cli -p "$port" get key) == value ]] || fail 'wrong answers'
	size=$(redis-cli -p "$port" dbsize)
	[[ $size -ge 1000 ]] || fail "dbsize $size"
	snap
	named
	holds '.live.count > 1000'
	holds '[.stacks[].frames[].function // empty] | any(test("Command|processInput|call|dbAdd|sds"))'
	redis-cli -p "$port" flushall >/dev/null
	stop_tool
	final
	holds '.live.count < 20000'
	[[ $(redis-cli -p "$port" ping) == PONG ]] || fail 'redis does not answer'
	redis-cli -p "$port" shutdown nosave
	wait "$T_PID" || fail 'redis ended badly'
}

@test "nginx under requests is traced, and answers" {
	need nginx
	need curl
	port=$(free_port)
	mkdir "$D/www"
	head -c 100000 /dev/urandom >"$D/www/file"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "$D" "$D/www" 2>/dev/null || :
	cat >"$D/nginx.conf" <<-END
		daemon off;
		pid $D/nginx.pid;
		user root;
		worker_processes 1;
		error_log $D/error.log;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path $D;
			proxy_temp_path $D;
			fastcgi_temp_path $D;
			uwsgi_temp_path $D;
			scgi_temp_path $D;
			server { listen 127.0.0.1:$port; root $D/www; gzip on; gzip_types *; }
		}
	END
	nginx -c "$D/nginx.conf" >"$D/nginx.log" 2>&1 3>&- &
	master=$!
	PIDS+=("$master")
	until_true "$DEADLINE" curl -sf -o "$D/got" "http://127.0.0.1:$port/file" || fail "$(<"$D/nginx.log")"
	T_PID=$(ps -o pid= --ppid "$master" | tr -d ' ')
	attach -T 100
	for _ in {1..30}; do
		curl -sf --compressed -o "$D/got" "http://127.0.0.1:$port/file" || fail 'no answer'
		cmp -s "$D/got" "$D/www/file" || fail 'wrong answer'
	done
	snap
	holds '.alloc.count > 100'
	holds '[.stacks[].frames[].function // empty] | any(test("^ngx_"))'
	stop_tool
	curl -sf -o "$D/got" "http://127.0.0.1:$port/file" || fail 'nginx does not answer'
	kill -QUIT "$master"
	wait "$master" || fail 'nginx ended badly'
}

@test "nginx: master and worker when the master is watched" {
	need nginx
	port=$(free_port)
	printf '%s\n' "daemon off; pid $D/nginx.pid; user root; worker_processes 2; error_log $D/error.log;" \
		"events { worker_connections 64; }" \
		"http { access_log off; server { listen 127.0.0.1:$port; root $D; } }" >"$D/nginx.conf"
	nginx -c "$D/nginx.conf" >"$D/nginx.log" 2>&1 3>&- &
	T_PID=$!
	PIDS+=("$T_PID")
	until_true "$DEADLINE" eval '[[ $(ps -o pid= --ppid "$T_PID" | wc -l) -eq 2 ]]' || fail "$(<"$D/nginx.log")"
	workers=$(ps -o pid= --ppid "$T_PID" | tr -d ' ')
	attach -T 100
	for worker in $workers; do
		attached "$worker"
	done
	# New workers come by fork, the old ones go.
	kill -HUP "$T_PID"
	for worker in $workers; do
		await_final "$worker"
	done
	until_true "$DEADLINE" eval '[[ $(grep -c "attached to" "$D/tool.err") -ge 5 ]]' || fail 'the new workers are not followed'
	kill -QUIT "$T_PID"
	tool_ends
	wait "$T_PID" || fail 'nginx ended badly'
}

@test "git: a whole command, followed into its children" {
	need git
	git init -q "$D/repo"
	cd "$D/repo"
	seq 2000 >file
	git add file
	git -c user.name=a -c user.email=a@b commit -qm one
	STATUS=0
	timeout "$DEADLINE" "$TOOL" -f json -T 50 -o "$D/report" -- git log --stat >"$D/run.out" 2>"$D/tool.err" 3>&- || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "status $STATUS"
	git log --stat >"$D/expected"
	cmp "$D/run.out" "$D/expected" || fail 'the output changed'
	SNAP=$(jq -c 'select(.final)' "$D/report" | head -n 1)
	# Debian's git is stripped: module and offset, never the name of some symbol nearby.
	holds '.stacks | length > 10'
	holds '[.stacks[].frames[1:][] | select(.module == "git")] | length > 10'
	holds '[.stacks[].frames[] | select((has("function") or has("module")) and (has("offset") | not))] == []'
	holds '[.lost[]] | add // 0 | . == 0'
}

@test "node runs its script and is traced" {
	need node
	run_target node -e '
		const kept = [];
		process.stdout.write("ready\n");
		process.stdin.on("data", () => {
			for (let i = 0; i < 50; i++) kept.push(Buffer.alloc(100000, i));
			let sum = 0;
			for (const b of kept) sum += b[b.length - 1];
			process.stdout.write("sum " + sum + "\n");
		});
	'
	target_line ready
	attach -T 100
	echo go >&"$T_IN"
	target_line 'sum '
	[[ $LINE == 'sum 1225' ]] || fail "$LINE"
	snap
	holds '.live.bytes >= 5000000'
	holds '[.stacks[0:5][].frames[].function // empty] | any(test("node|v8|Buffer|BackingStore"))'
	exec {T_IN}>&-
	wait "$T_PID" || fail "node ended with $?"
	tool_ends
	final
}
