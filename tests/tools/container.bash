# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The image of tools/container and the pod of tools/kubernetes, without an engine that builds or runs them: what the two files say is carried out by hand.
# Load it into a bats file that has ROOT.
# bash -c has programs of its own.
# shellcheck shell=bash disable=SC2016

CONTAINERFILE=$ROOT/tools/container/Containerfile
MANIFEST=$ROOT/tools/kubernetes/memleakbpf.yaml

# The objects of MANIFEST, one JSON text a line.
manifest() {
	/usr/bin/python3 -c 'import json, sys, yaml
for object in yaml.safe_load_all(open(sys.argv[1])): print(json.dumps(object))' "$MANIFEST"
}

# pod FILTER: of the DaemonSet's pod.
pod() {
	manifest | jq -r "select(.kind == \"DaemonSet\") | .spec.template.spec | $1"
}

# instruction NAME: what is behind it in the Containerfile.
instruction() {
	sed -n "s/^$1 //p" "$CONTAINERFILE"
}

# image_made ROOT CONTEXT: the steps of the Containerfile, in a folder that it makes. Fails for a step that it does not know.
image_made() {
	local name arguments from into

	while read -r name arguments; do
		case $name in
		'' | '#'* | ENTRYPOINT | CMD | ENV) ;;
		FROM)
			[[ $arguments == scratch ]]
			mkdir "$1"
			;;
		COPY)
			read -r from into <<<"$arguments"
			cp "$2/$from" "$1$into"
			;;
		*)
			printf 'no step that is known here: %s\n' "$name" >&2
			return 1
			;;
		esac
	done <"$CONTAINERFILE"
}

# pod_mounts NODE: lines "FROM INTO MODE" of its volumes; FROM is below NODE where that has it, "tmpfs" or "secret:NAME".
pod_mounts() {
	pod '. as $pod | .containers[0].volumeMounts[] | . as $mount | $pod.volumes[] | select(.name == $mount.name)
		| [.hostPath.path // (if .secret then "secret:" + .secret.secretName else "tmpfs" end), $mount.mountPath, if $mount.readOnly then "ro" else "rw" end] | join(" ")' |
		while read -r from into mode; do
			[[ ! -e $1$from ]] || from=$1$from
			printf '%s %s %s\n' "$from" "$into" "$mode"
		done
}

# pod_runs IMAGE NODE SECRETS ARGUMENT…: ENTRYPOINT with the arguments in the pod's container, as an engine would make it: the image read-only as its root, mounts, network, names and
# control groups of its own, the machine's processes, the capabilities that are named and no others. The image has no programs: what an engine does there is done with the machine's, through
# a descriptor, by their own loader. NODE is what the node's host paths are looked for in first; SECRETS has a
# folder for each secret. Replaces the shell.
pod_runs() {
	local image=$1 node=$2 secrets=$3 capabilities loader groups=(--cgroup)

	shift 3
	[[ $(pod '.hostPID') == true && $(pod '.containers[0].securityContext | .privileged, .allowPrivilegeEscalation, .readOnlyRootFilesystem, .runAsUser' | xargs) == 'false false true 0' ]]
	[[ $(pod '.containers[0].securityContext.capabilities.drop | join(" ")') == ALL ]]
	capabilities=$(pod '.containers[0].securityContext.capabilities.add | map("+" + ascii_downcase) | join(",")')
	mapfile -t entry < <(instruction ENTRYPOINT | jq -r '.[]')
	# Where root may not look into process 1, which is so in sandboxes, the machine's names are those of this shell.
	[[ -e /proc/1/ns/cgroup ]] || groups=()
	loader=$(realpath "$(ldd /usr/bin/setpriv | grep -o '/[^ ]*/ld-linux[^ ]*')")
	pod_mounts "$node" >"$image.mounts"
	exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$(instruction ENV)" POD_IP=127.0.0.1 \
		unshare --mount --uts --ipc --net "${groups[@]}" --propagation private bash -ec '
		image=$1 mounts=$2 secrets=$3 capabilities=$4 loader=$5
		shift 5
		exec {descriptor}</
		machine=/proc/self/fd/$descriptor
		# outside PROGRAM ARGUMENT…: one of the machine.
		outside() {
			"$machine$loader" --library-path "$machine/lib/${HOSTTYPE}-linux-gnu" "$machine/usr/bin/$1" "${@:2}"
		}
		ip link set lo up
		mount --bind "$image" "$image"
		cd "$image"
		mkdir proc sys dev
		mount -t proc proc proc
		mount -t sysfs -o ro,nosuid,nodev,noexec sysfs sys
		mount -t tmpfs -o mode=755 tmpfs dev
		for device in null zero full random urandom; do
			touch "dev/$device"
			mount --bind "/dev/$device" "dev/$device"
		done
		mkdir dev/shm
		# What engines hide, and make read-only.
		for file in kcore keys timer_list; do [[ ! -e proc/$file ]] || mount --bind /dev/null "proc/$file"; done
		for folder in bus fs irq sys; do [[ ! -d proc/$folder ]] || { mount --bind "proc/$folder" "proc/$folder"; mount -o remount,bind,ro "proc/$folder"; }; done
		while read -r from into mode; do
			mkdir -p ".$into"
			case $from in
			tmpfs) mount -t tmpfs tmpfs ".$into" ;;
			secret:*) mount --bind "$secrets/${from#secret:}" ".$into" ;;
			*) mount --rbind "$from" ".$into" ;;
			esac
			[[ $mode == rw ]] || mount -o remount,bind,ro ".$into"
		done <"$mounts"
		mkdir -p old
		mount -o remount,bind,ro .
		pivot_root . old
		cd /
		outside umount -l /old
		exec "$machine$loader" --library-path "$machine/lib/${HOSTTYPE}-linux-gnu" "$machine/usr/bin/setpriv" --no-new-privs --inh-caps=-all --bounding-set="-all,$capabilities" "$@"' pod "$image" "$image.mounts" "$secrets" "$capabilities" "$loader" "${entry[@]}" "$@" 3>&-
}
