#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make deb` and `make rpm`: what is in the packages, that they are the same whenever and wherever they are made, and that they can be installed in a clean
# Debian, used there and removed again; and the image made of one runs as the DaemonSet has it. Both are compiled once, in folders of their own. The clean system is kept in $BUILD/package.
# bats file_tags=nightly

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
DEADLINE=${DEADLINE:-120}
load container.bash
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

# pod_group UID ID: a control group with the pod's name for what runs in its container; GROUP.
pod_group() {
	local hierarchy=/sys/fs/cgroup/memory

	[[ -d $hierarchy ]] || hierarchy=/sys/fs/cgroup
	GROUP=$hierarchy/memleakbpf-test-$$.slice/kubepods-pod${1//-/_}.slice/cri-containerd-$2.scope
	mkdir -p "$GROUP" 2>/dev/null || skip 'no memory control group can be made here'
}

teardown() {
	local group=${GROUP-}

	[[ -n ${PODS-} ]] || return 0
	kill "${PODS[@]}" 2>/dev/null || :
	wait "${PODS[@]}" 2>/dev/null || :
	while [[ $group == *memleakbpf-test-* ]] && rmdir "$group"; do
		group=${group%/*}
	done
}

# What the pod serves has the process in the other container, sampled all the time.
shown() {
	nsenter --target "${PODS[1]}" --net curl -sf --noproxy '*' http://127.0.0.1:9435/metrics >"$BATS_TEST_TMPDIR/metrics" || return 1
	grep -E "^memleakbpf_process_kept_live_bytes\\{pid=\"${PODS[0]}\"" "$BATS_TEST_TMPDIR/metrics"
}

@test "the image as the DaemonSet runs it names a leak in another container, and takes no more than is granted" {
	local uid=1f2e3d4c-5b6a-4789-8abc-def012345678 id node=$BATS_TEST_TMPDIR/node line end

	clean_system
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" "$BUILD/tests/targets/survey_scene"
	id=$(printf '0123456789abcdef%.0s' 1 2 3 4)
	cp -al "$R" "$BATS_FILE_TMPDIR/shop"
	cp "$BUILD/tests/targets/survey_scene" "$BATS_FILE_TMPDIR/shop/usr/bin/"
	cp -al "$R" "$BATS_FILE_TMPDIR/image"
	image_made "$BATS_FILE_TMPDIR/image" "$DEB"
	mkdir -p "$node/var/log/containers"
	touch "$node/var/log/containers/web-0_shop_web-$id.log"
	pod_group "$uid" "$id"
	PODS=()
	mkfifo "$BATS_TEST_TMPDIR/hold"
	exec {hold}<>"$BATS_TEST_TMPDIR/hold"
	(
		echo "$BASHPID" >"$GROUP/cgroup.procs"
		exec unshare --mount --propagation private chroot "$BATS_FILE_TMPDIR/shop" survey_scene leak 4000000 <&"$hold" >/dev/null 3>&-
	) &
	PODS+=("$!")
	# Faster than a node needs it; all else as it is there.
	mkdir "$BATS_TEST_TMPDIR/memleakbpf"
	(umask 077 && printf '%s\n' 0123456789abcdef0123456789abcdef >"$BATS_TEST_TMPDIR/memleakbpf/token")
	mapfile -t arguments < <(pod '.containers[0].args[] | gsub("[$][(]POD_IP[)]"; "127.0.0.1")')
	(pod_runs "$BATS_FILE_TMPDIR/image" "$node" "$BATS_TEST_TMPDIR" "${arguments[@]}" -i 200ms --window 1s --cgroup "/memleakbpf-test-$$.slice" --keep "cgroup=/memleakbpf-test-$$.slice") >"$BATS_TEST_TMPDIR/said" 2>&1 &
	PODS+=("$!")
	for ((end = SECONDS + DEADLINE; SECONDS < end; )); do
		! line=$(shown) || break
		kill -0 "${PODS[1]}" || break
		sleep 0.1
	done
	[[ -n $line ]] || {
		cat "$BATS_TEST_TMPDIR/said" "$BATS_TEST_TMPDIR/metrics"
		false
	}
	[[ $line == *'container="web",pod="'"$uid"'",pod_name="shop/web-0"'* ]]
	# Its profiles are for who has the token; the target stands still for moments, whatever root it is in.
	for ((end = SECONDS + DEADLINE; SECONDS < end; )); do
		! grep -qs leaked_here "$BATS_TEST_TMPDIR/profile" || break
		nsenter --target "${PODS[1]}" --net curl -sf --noproxy '*' -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef' \
			"http://127.0.0.1:9435/debug/pprof/heap?pid=${PODS[0]}" 2>/dev/null | gzip -dc >"$BATS_TEST_TMPDIR/profile" 2>/dev/null || :
		sleep 0.1
	done
	[[ $(grep -ac leaked_here "$BATS_TEST_TMPDIR/profile") -gt 0 ]]
	[[ $(nsenter --target "${PODS[1]}" --net curl -s --noproxy '*' -o /dev/null -w '%{http_code}' "http://127.0.0.1:9435/targets") == 401 ]]
	# It has the capabilities that the DaemonSet grants, at most; and nowhere to write.
	[[ $(awk '$1 == "NoNewPrivs:" { print $2 }' "/proc/${PODS[1]}/status") -eq 1 ]]
	granted=$(capsh --decode="$(awk '$1 == "CapBnd:" { print $2 }' "/proc/${PODS[1]}/status")" | sed 's/.*=//' | tr ',' '\n' | sort)
	[[ -z $(comm -23 <(cat <<<"$granted") <(pod '.containers[0].securityContext.capabilities.add[] | "cap_" + ascii_downcase' | sort)) ]]
	[[ $(awk '$5 == "/" { print $6 }' "/proc/${PODS[1]}/mountinfo") == ro,* ]]
	[[ $(cat "$BATS_TEST_TMPDIR/said") == 'memleakbpf: metrics at http://127.0.0.1:9435/metrics
memleakbpf: profiles at http://127.0.0.1:9435/targets' ]] || {
		cat "$BATS_TEST_TMPDIR/said"
		false
	}
	kill "${PODS[1]}"
	wait "${PODS[1]}"
	kill -0 "${PODS[0]}"
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
