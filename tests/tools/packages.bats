#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make deb` and `make rpm`: what is in the packages, that they are the same whenever and wherever they are made, and that they can be installed in a clean
# Debian, used there and removed again. Both are compiled once, in folders of their own. The clean system is kept in $BUILD/package.
# bats file_tags=nightly

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
DEADLINE=${DEADLINE:-120}
PACKAGES=$BUILD/package

setup_file() {
	command -v dh >/dev/null && command -v lintian >/dev/null && command -v mmdebstrap >/dev/null || skip 'this is no Debian'
	make_packages deb rpm
}

# make_packages deb|rpm…: as it was built: see install.bats.
make_packages() {
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" "$@"
}

setup() {
	DEB=$(echo "$PACKAGES"/memleakbpf_*.deb)
	RPM=$(echo "$PACKAGES"/memleakbpf-*.rpm)
	VERSION=$(sed -n '/^## /{ s/^## \([0-9.]*\) .*/\1/p; q }' "$ROOT/CHANGELOG.md")
	R=$BATS_FILE_TMPDIR/root
}

@test "one version, the change log's, in all of them" {
	[[ $VERSION == [0-9]*.[0-9]*.[0-9]* ]]
	[[ $("$BUILD/memleakbpf" --version) == "memleakbpf $VERSION" ]]
	[[ $(dpkg-deb -f "$DEB" Version) == "$VERSION" ]]
	[[ $(rpm -qp --qf '%{VERSION}' "$RPM") == "$VERSION" ]]
	[[ -z $(grep -rnE "MEMLEAKBPF_VERSION +\"[0-9]" "$ROOT/user") ]]
}

@test "lintian has nothing to say" {
	lintian --fail-on none "$PACKAGES"/*.deb >"$BATS_TEST_TMPDIR/said" 2>/dev/null
	[[ ! -s $BATS_TEST_TMPDIR/said ]] || {
		cat "$BATS_TEST_TMPDIR/said"
		false
	}
}

# Of what is installed, by name; where each distribution wants it, and compressed or not, differs.
names() {
	sed -nE 's/.*\/(memleakbpf[^/]*|_memleakbpf|[a-z]+\.json)$/\1/p' | sed 's/\.gz$//' | sort
}

@test "both hold the program, its unit, manual page, completions, rules and schemas" {
	local expected

	expected=$(cd "$ROOT/docs/schema" && ls)
	expected=$(printf '%s\n' _memleakbpf memleakbpf memleakbpf memleakbpf-profiles.service memleakbpf-survey.service memleakbpf.1 memleakbpf.fish memleakbpf.rules.yml $expected | sort)
	[[ $(dpkg-deb --fsys-tarfile "$DEB" | tar -t | grep -v '/$' | names) == "$expected" ]]
	[[ $(rpm -qlp "$RPM" | grep -vE '/share/(doc|licenses)/|/memleakbpf/?$' | names) == "$(grep -vx memleakbpf <<<"$expected")" ]]
	[[ $(rpm -qlp "$RPM" | grep -cx -e /usr/bin/memleakbpf -e /usr/share/bash-completion/completions/memleakbpf) -eq 2 ]]
	# No power of its own: the unit's bounding set, and what docs/security.md says how to give, are all.
	[[ $(dpkg-deb --fsys-tarfile "$DEB" | tar -tv | awk '$NF == "./usr/bin/memleakbpf" { print $1, $2 }') == '-rwxr-xr-x root/root' ]]
	[[ $(rpm -qp --qf '[%{FILENAMES} %{FILEMODES:perms} %{FILEUSERNAME} %{FILECAPS}\n]' "$RPM" | sed -n 's|^/usr/bin/memleakbpf ||p') == '-rwxr-xr-x root (none)' ]]
	for capability in $(dpkg-deb --fsys-tarfile "$DEB" | tar -xO --wildcards '*/memleakbpf-survey.service' | sed -n 's/^CapabilityBoundingSet=//p'); do
		grep -q "^|.*\`$capability\`.*|" "$ROOT/docs/security.md"
	done
}

@test "the same bytes from another folder, and again" {
	local before after

	cmp "$PACKAGES/deb/memleakbpf-$VERSION/build/memleakbpf" "$PACKAGES/rpm/BUILD/memleakbpf-$VERSION/build/memleakbpf"
	[[ -z $(grep -a -m 1 -o "$PACKAGES" "$PACKAGES/deb/memleakbpf-$VERSION/build/memleakbpf") ]]
	before=$(cd "$PACKAGES" && sha256sum -- *.deb *.rpm)
	# With other presets, by a clock that has gone on, and in another order.
	(
		umask 077
		export TZ=Pacific/Auckland LANG=C LC_ALL=C VERSION HTML_LIBRARIES=$BUILD/html
		"$ROOT/tools/package/build" rpm "$PACKAGES" --again
		"$ROOT/tools/package/build" deb "$PACKAGES" --again
	)
	after=$(cd "$PACKAGES" && sha256sum -- *.deb *.rpm)
	diff -u <(echo "$before") <(echo "$after")
}

# reachable URI: by apt, as it is set up here.
reachable() {
	(cd "$BATS_TEST_TMPDIR" && timeout 60 /usr/lib/apt/apt-helper download-file "$1" reachable) >/dev/null 2>&1
}

# clean_system: R, a Debian with what the package depends on, and man.
clean_system() {
	local suite include archive mirror

	[[ $EUID -eq 0 ]] || skip 'needs root'
	[[ ! -d $R ]] || return 0
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	include=$(dpkg-deb -f "$DEB" Depends | sed -E 's/ \([^)]*\)//g; s/ \| [^,]*//g; s/, /,/g'),man-db
	archive=$PACKAGES/clean-$suite-$(sha256sum <<<"$include" | cut -c1-12).tar
	if [[ ! -s $archive || -n $(find "$archive" -mtime +6) ]]; then
		mirror=$("$ROOT/tests/vm/packages" mirror 2>"$BATS_TEST_TMPDIR/mirror") || skip "no clean system: $(<"$BATS_TEST_TMPDIR/mirror")"
		reachable "${mirror%/}/dists/$suite/Release" || skip "no clean system: the mirror cannot be reached"
		timeout 1000 mmdebstrap --quiet --format=tar --variant=essential --include="$include" "$suite" "$archive.part" "$mirror" >"$PACKAGES/clean.log" 2>&1 || {
			cat "$PACKAGES/clean.log"
			# It may have gone meanwhile.
			! reachable "${mirror%/}/dists/$suite/Release" || return 1
			skip "no clean system: the mirror cannot be reached any more"
		}
		mv "$archive.part" "$archive"
	fi
	mkdir "$R"
	tar -x -C "$R" -f "$archive" --exclude='./dev/*'
	# Fedora's package of the file system has it.
	mkdir "$R/usr/share/licenses"
	files_of >"$BATS_FILE_TMPDIR/before"
}

# inside COMMAND…: in there, with the kernel's own file systems.
inside() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 MANPAGER=cat unshare --mount --propagation private \
		bash -ec 'for at in proc sys dev; do mount --rbind "/$at" "$0/$at"; done; exec chroot "$0" "$@"' "$R" "$@" 3>&-
}

# All that there is in there, but for what the package managers and man themselves keep.
files_of() {
	(cd "$R" && find . \( -path ./var/lib/dpkg -o -path ./var/lib/rpm -o -path ./var/cache/man -o -path ./var/log/dpkg.log -o -path ./root/.lesshst \) -prune -o \
		\( -type d -printf '%p/ %m\n' -o -printf '%p %m %s\n' \)) | sort
}

# used: what is installed there does what it is for.
used() {
	[[ $(inside memleakbpf --version) == "memleakbpf $VERSION" ]]
	inside man memleakbpf | grep -q 'find memory leaks'
	# bash of that system, with the completion that lies where it looks.
	[[ $(inside bash -c '. /usr/share/bash-completion/completions/memleakbpf
		COMP_WORDS=(memleakbpf survey --met) COMP_CWORD=2; _memleakbpf memleakbpf --met survey; echo "${COMPREPLY[@]}"') == '--metrics --metrics-host --metrics-processes' ]]
	diff <(inside memleakbpf doctor -f json | jq '.modes, .features') <("$BUILD/memleakbpf" doctor -f json | jq '.modes, .features')
	"$BUILD/memleakbpf" doctor >/dev/null || return 0
	inside memleakbpf -f json -- env true | jq -se 'any(.[]; .alloc.count > 0 and .final)' >/dev/null
}

nothing_left() {
	files_of | diff -u "$BATS_FILE_TMPDIR/before" -
}

@test "the deb in a clean Debian: installed, used, removed, and nothing is left" {
	clean_system
	cp "$DEB" "$R/tmp/it.deb"
	inside dpkg -i /tmp/it.deb
	rm "$R/tmp/it.deb"
	# Its services are there, and nobody has begun them.
	[[ -s $R/lib/systemd/system/memleakbpf-survey.service && -s $R/lib/systemd/system/memleakbpf-profiles.service ]]
	[[ -z $(find "$R/etc/systemd" -name 'memleakbpf*') ]]
	used
	inside dpkg -P memleakbpf
	nothing_left
}

@test "the rpm in a clean system: installed, used, removed, and nothing is left" {
	clean_system
	# Of the dependencies it knows nothing there: they are from debs.
	rpm --root "$R" --dbpath /var/lib/rpm --nodeps -i "$RPM" 2>"$BATS_TEST_TMPDIR/said"
	[[ -s $R/usr/lib/systemd/system/memleakbpf-survey.service && -s $R/usr/lib/systemd/system/memleakbpf-profiles.service ]]
	used
	rpm --root "$R" --dbpath /var/lib/rpm -e memleakbpf
	nothing_left
}
