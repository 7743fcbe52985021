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
	grep -q '^ExecStart=/opt/it/bin/memleakbpf survey ' "$D/opt/it/lib/systemd/system/memleakbpf-survey.service"
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" uninstall DESTDIR="$D" PREFIX=/opt/it >/dev/null
	# Directories of its own as well.
	[[ -z $(find "$D" -type f -o -name memleakbpf -type d) ]] || {
		find "$D" -type f
		false
	}
}

@test "systemd accepts the unit and finds it well confined" {
	local unit=$BATS_TEST_TMPDIR/memleakbpf-survey.service exposure

	command -v systemd-analyze >/dev/null || skip 'systemd is not installed'
	sed "s|/opt/it/bin/|$D/opt/it/bin/|" "$D/opt/it/lib/systemd/system/memleakbpf-survey.service" >"$unit"
	# The man page's place is known from above, and not every machine has man.
	systemd-analyze verify --man=no "$unit" 2>&1 | tee "$BATS_TEST_TMPDIR/said"
	[[ ! -s $BATS_TEST_TMPDIR/said ]]
	exposure=$(LC_ALL=C systemd-analyze security --no-pager --offline=true "$unit" | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\) .*/\1/p')
	awk -v e="$exposure" 'BEGIN { exit !(e != "" && e <= 4) }' || {
		echo "exposure $exposure"
		false
	}
}

@test "the command of the unit is one that memleakbpf takes" {
	local words

	# shellcheck disable=SC2016
	words=$(sed -n 's|^ExecStart=/opt/it/bin/memleakbpf \(.*\) \$MEMLEAKBPF_OPTIONS$|\1|p' "$D/opt/it/lib/systemd/system/memleakbpf-survey.service")
	[[ -n $words ]]
	# With --help nothing is run, but all words before it are read.
	# shellcheck disable=SC2086
	"$D/opt/it/bin/memleakbpf" $words --metrics 192.0.2.17:9435 --exclude '^(sshd|bash)$' --budget 0.5 --help >/dev/null
}

@test "promtool accepts the rules" {
	command -v promtool >/dev/null || skip 'prometheus is not installed'
	promtool check rules "$D/opt/it/share/memleakbpf/memleakbpf.rules.yml"
}
