#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The image of tools/container, made of the static program, as the DaemonSet of tools/kubernetes has it run. No engine is needed: container.bash.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
DEADLINE=${DEADLINE:-120}
load container.bash

setup_file() {
	[[ ${SANITIZE-} != 1 ]] || skip 'a sanitized build is not static'
	[[ $(gcc -print-file-name=libdw.a) == /* ]] || skip 'no archives to link with'
	# As what is built was: see install.bats. Several files of tests may want it at once.
	flock "$BUILD" make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" static
}

# container_of PROGRAM ROOT: another container's root, with the program and its libraries.
container_of() {
	local library

	mkdir "$2"
	cp "$1" "$2/"
	ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$2${library%/*}"
		cp "$library" "$2$library"
	done
}

@test "the image holds the program and no other file, and nobody but its owner may write that" {
	image_made "$BATS_TEST_TMPDIR/image" "$BUILD/static"
	[[ $(cd "$BATS_TEST_TMPDIR/image" && find . -type f -printf '%p %m\n') == './memleakbpf 755' ]]
	cmp "$BATS_TEST_TMPDIR/image/memleakbpf" "$BUILD/static/memleakbpf"
	[[ $EUID -eq 0 ]] || skip 'needs root'
	mapfile -t entry < <(instruction ENTRYPOINT | jq -r '.[]')
	[[ $(env -i "$(instruction ENV)" "$(command -v chroot)" "$BATS_TEST_TMPDIR/image" "${entry[@]}" --version) == "$("$BUILD/memleakbpf" --version)" ]]
	mapfile -t words < <(instruction CMD | jq -r '.[]')
	diff <(env -i "$(command -v chroot)" "$BATS_TEST_TMPDIR/image" "${entry[@]}" "${words[@]}") <("$BUILD/memleakbpf" --help)
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

	[[ $EUID -eq 0 ]] || skip 'needs root'
	make -s -C "$ROOT" BUILD="${BUILD#"$ROOT/"}" "${BUILD#"$ROOT/"}/tests/targets/survey_scene"
	id=$(printf '0123456789abcdef%.0s' 1 2 3 4)
	container_of "$BUILD/tests/targets/survey_scene" "$BATS_FILE_TMPDIR/shop"
	image_made "$BATS_FILE_TMPDIR/image" "$BUILD/static"
	mkdir -p "$node/var/log/containers"
	touch "$node/var/log/containers/web-0_shop_web-$id.log"
	pod_group "$uid" "$id"
	PODS=()
	mkfifo "$BATS_TEST_TMPDIR/hold"
	exec {hold}<>"$BATS_TEST_TMPDIR/hold"
	(
		echo "$BASHPID" >"$GROUP/cgroup.procs"
		exec unshare --mount --propagation private chroot "$BATS_FILE_TMPDIR/shop" /survey_scene leak 4000000 <&"$hold" >/dev/null 3>&-
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
	# The kubelet asks by the pod's address, and finds it alive.
	[[ $(nsenter --target "${PODS[1]}" --net curl -s --noproxy '*' -o /dev/null -w '%{http_code}' "http://127.0.0.1:9435$(pod '.containers[0].livenessProbe.httpGet.path')") == 200 ]]
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
