#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Verdicts on real programs: nothing is definitely lost that memcheck does not know.
# bats file_tags=beside

load lib.bash

# The verdict at the end of a command: SNAP.
judge_run() {
	timeout $((4 * DEADLINE)) "$TOOL" --verdict --max-pause 1m --no-default-suppressions -f json -T 100000 -o "$D/out.json" -- "$@" >"$D/run.out" 2>"$D/tool.err" 3>&- ||
		fail "status $?"
	SNAP=$(jq -c 'select(.final)' "$D/out.json")
	holds '.verdict.definite != null and .verdict.approximate == false and .verdict.unknown_bytes == 0'
}

# known COMMAND [ARG…]: the command under the tool and under memcheck.
known() {
	need valgrind
	judge_run "$@"
	timeout $((4 * DEADLINE)) valgrind -q --leak-check=full --num-callers=100 --xml=yes --xml-file="$D/memcheck" "$@" >"$D/memcheck.out" 2>&1 3>&- ||
		fail "memcheck: $(tail -5 "$D/memcheck.out")"
	"$HERE/known_leaks.py" <(printf '%s' "$SNAP") "$D/memcheck" >"$D/known" || fail "$(<"$D/known")"
	sed -n 's/^total/# &/p' "$D/known" >&3
}

@test "git log: the lost blocks are those that memcheck finds" {
	need git
	git init -q "$D/repo"
	for number in 1 2 3 4 5; do
		echo "$number" >"$D/repo/file$number"
		git -C "$D/repo" add .
		git -C "$D/repo" -c user.name=a -c user.email=a@b commit -qm "$number"
	done
	GIT_PAGER='' known git -C "$D/repo" log -p --stat
}

@test "sqlite3: the lost blocks are those that memcheck finds" {
	need sqlite3
	cat >"$D/query.sql" <<-'END'
		create table t(a, b);
		with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000) insert into t select x, x || 'y' from c;
		create index i on t(b);
		select count(*) from t where b like '1%';
	END
	known sqlite3 :memory: ".read $D/query.sql"
}

@test "perl: the lost blocks are those that memcheck finds, and there are some" {
	export PERL_HASH_SEED=0
	known /usr/bin/perl -e 'my %h; $h{$_} = "x$_" for 1 .. 2000; my @l = sort keys %h; print scalar(@l), "\n";
		my $s = join ",", @l; $s =~ s/(\d+)/<$1>/g;'
	# It ends without giving back what its interpreter had: some of it nobody holds any more.
	holds '.verdict.definite.count > 0'
}

@test "python3: the lost blocks are those that memcheck finds" {
	[[ -x /usr/bin/python3 ]] || skip 'no python3'
	cat >"$D/program.py" <<-'END'
		import json, re
		text = json.dumps([{"k": i, "v": str(i) * 10} for i in range(1000)])
		json.loads(text)
		print(len(re.findall("1+", text)))
	END
	export PYTHONHASHSEED=0
	known /usr/bin/python3 "$D/program.py"
}

@test "redis-server, which runs already: nothing is definitely lost" {
	need redis-server
	need redis-benchmark
	port=$(free_port)
	start_redis "$port"
	attach --verdict --no-default-suppressions
	redis-benchmark -p "$port" -n 5000 -r 1000 -t set,lpush,sadd -q >"$D/bench" 3>&- || fail 'redis-benchmark failed'
	snap
	holds '.verdict.definite == {bytes: 0, count: 0} and .verdict.reachable.count > 1000'
	[[ $(redis-cli -p "$port" ping) == PONG ]] || fail 'redis does not answer'
	stop_tool
	redis-cli -p "$port" shutdown nosave
	wait "$T_PID" || fail 'redis ended badly'
}
