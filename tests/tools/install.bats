#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `make install` puts where, and that systemd and Prometheus can read it.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}

setup() {
	[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
	[[ -x $BUILD/memleakbpf ]] || skip 'memleakbpf is not built'
	D=$BATS_TEST_TMPDIR/root
	# As it was built: with another spelling of the folder the flags differ, and all would be built anew under the tests beside this one.
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" install DESTDIR="$D" PREFIX=/opt/it >/dev/null
}

@test "files are where they belong, and uninstall takes all of them" {
	[[ -x $D/opt/it/bin/memleakbpf ]]
	[[ -s $D/opt/it/share/man/man1/memleakbpf.1 ]]
	[[ -s $D/opt/it/share/bash-completion/completions/memleakbpf ]]
	[[ -s $D/opt/it/share/zsh/site-functions/_memleakbpf ]]
	[[ -s $D/opt/it/share/fish/vendor_completions.d/memleakbpf.fish ]]
	[[ -s $D/opt/it/share/memleakbpf/memleakbpf.rules.yml ]]
	diff -r "$ROOT/docs/schema" "$D/opt/it/share/memleakbpf/schema"
	for unit in survey profiles; do
		grep -q '^ExecStart=/opt/it/bin/memleakbpf survey ' "$D/opt/it/lib/systemd/system/memleakbpf-$unit.service"
	done
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" uninstall DESTDIR="$D" PREFIX=/opt/it >/dev/null
	# Directories of its own as well.
	[[ -z $(find "$D" -type f -o -name memleakbpf -type d) ]] || {
		find "$D" -type f
		false
	}
}

# confined NAME MOST: systemd accepts that unit, and its exposure is no higher.
confined() {
	local unit=$BATS_TEST_TMPDIR/memleakbpf-$1.service exposure

	command -v systemd-analyze >/dev/null || skip 'systemd is not installed'
	sed "s|/opt/it/bin/|$D/opt/it/bin/|" "$D/opt/it/lib/systemd/system/memleakbpf-$1.service" >"$unit"
	# The man page's place is known from above, and not every machine has man.
	systemd-analyze verify --man=no "$unit" 2>&1 | tee "$BATS_TEST_TMPDIR/said"
	[[ ! -s $BATS_TEST_TMPDIR/said ]]
	exposure=$(LC_ALL=C systemd-analyze security --no-pager --offline=true "$unit" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\) .*/\1/p')
	awk -v e="$exposure" -v most="$2" 'BEGIN { exit !(e != "" && e <= most) }' || {
		echo "exposure $exposure"
		false
	}
}

@test "systemd accepts the survey's unit and finds it well confined" {
	confined survey 4
}

@test "systemd accepts the profiles' unit, which has the same capabilities and no system call filter" {
	local units=$D/opt/it/lib/systemd/system

	# What systemd counts most is filters.
	confined profiles 7.2
	diff <(grep '^CapabilityBoundingSet=' "$units/memleakbpf-survey.service") <(grep '^CapabilityBoundingSet=' "$units/memleakbpf-profiles.service")
	! grep -E '^(SystemCall|Restrict|MemoryDenyWriteExecute|LockPersonality|Protect(Clock|Hostname|Kernel)|PrivateDevices|DynamicUser)' "$units/memleakbpf-profiles.service"
}

# taken NAME ARG…: the command of that unit, with these in place of what the administrator says, is one that memleakbpf takes.
taken() {
	local words

	words=$(sed -n 's|^ExecStart=/opt/it/bin/memleakbpf \([^$]*\) \$MEMLEAKBPF_.*$|\1|p' "$D/opt/it/lib/systemd/system/memleakbpf-$1.service")
	[[ -n $words ]]
	# With --help nothing is run, but all words before it are read.
	# shellcheck disable=SC2086
	"$D/opt/it/bin/memleakbpf" $words "${@:2}" --help >/dev/null
}

@test "the commands of the units are ones that memleakbpf takes" {
	taken survey --metrics 192.0.2.17:9435 --exclude '^(sshd|bash)$' --budget 0.5
	taken profiles --keep unit=shop.service --keep comm=^redis --profiles-token /etc/memleakbpf/token
}

@test "promtool accepts the rules" {
	command -v promtool >/dev/null || skip 'prometheus is not installed'
	promtool check rules "$D/opt/it/share/memleakbpf/memleakbpf.rules.yml"
}

# rules_tell TESTS EDIT ALERT: promtool's tests pass; with that edit of the rules they fail, and name the alert.
rules_tell() {
	command -v promtool >/dev/null || skip 'prometheus is not installed'
	cp "$D/opt/it/share/memleakbpf/memleakbpf.rules.yml" "$ROOT/tests/prometheus/$1.test.yml" "$BATS_TEST_TMPDIR/"
	promtool test rules "$BATS_TEST_TMPDIR/$1.test.yml"
	# What tests does see what is wrong.
	sed -i "$2" "$BATS_TEST_TMPDIR/memleakbpf.rules.yml"
	! promtool test rules "$BATS_TEST_TMPDIR/$1.test.yml" >"$BATS_TEST_TMPDIR/said" 2>&1 || false
	grep -q "$3" "$BATS_TEST_TMPDIR/said"
}

@test "the rules tell of a survey that has died, and of one that is no target any more" {
	rules_tell ended 's/ == 0$/ == 2/' MemleakbpfDown
}

@test "the rules tell of memory that is full soon, of leaks and of bad accesses" {
	rules_tell processes 's/ < 900 / < 90 /' ProcessMemoryFullSoon
}
