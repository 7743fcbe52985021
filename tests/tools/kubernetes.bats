#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The DaemonSet of tools/kubernetes against Kubernetes' schemas, the systemd unit, the options and the manual page that it goes with. It runs in packages.bats.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
load container.bash

# bats test_tags=nightly
@test "the manifest is as Kubernetes' schemas have it" {
	"$ROOT/tests/kubernetes/fetch" "$BUILD/kubernetes" 2>"$BATS_TEST_TMPDIR/why" || skip "no schemas: $(<"$BATS_TEST_TMPDIR/why")"
	[[ $(manifest | node "$ROOT/tests/kubernetes/validate.mjs" "$BUILD/kubernetes" | xargs) == 'Namespace ok DaemonSet ok NetworkPolicy ok' ]] || {
		manifest | node "$ROOT/tests/kubernetes/validate.mjs" "$BUILD/kubernetes"
		false
	}
	# What checks does see what is wrong.
	[[ $(manifest | jq -c 'select(.kind == "DaemonSet") | .spec.template.spec.containers[0].securityContext.seccompProfile.type = "none"' |
		node "$ROOT/tests/kubernetes/validate.mjs" "$BUILD/kubernetes" || :) == *seccompProfile/type* ]]
}

@test "its capabilities are the systemd unit's, and each has its reason in docs/security.md" {
	local capabilities capability

	capabilities=$(pod '.containers[0].securityContext.capabilities.add[] | "CAP_" + .' | sort)
	[[ $capabilities == "$(sed -n 's/^CapabilityBoundingSet=//p' "$ROOT/tools/systemd/memleakbpf-survey.service" | tr ' ' '\n' | sort)" ]]
	for capability in $capabilities; do
		grep -q "^|.*\`$capability\`.*|" "$ROOT/docs/security.md"
	done
	[[ $(pod '.containers[0] | .securityContext.privileged, .securityContext.allowPrivilegeEscalation, .securityContext.readOnlyRootFilesystem' | xargs) == 'false false true' ]]
	[[ $(pod '[.containers[0].volumeMounts[] | .readOnly] | all') == true ]]
}

@test "its image has this version, and its arguments are options" {
	local options argument

	[[ $(pod '.containers[0].image') == "memleakbpf:$(sed -n '/^## /{ s/^## \([0-9.]*\) .*/\1/p; q }' "$ROOT/CHANGELOG.md")" ]]
	# Help has topics with more of them.
	options=$(for topic in '' =keep =serve; do "$BUILD/memleakbpf" survey "--help$topic"; done)
	[[ $(pod '.containers[0].args[0]') == survey ]]
	for argument in $(pod '.containers[0].args[1:][] | sub("=.*"; "")'); do
		grep -qE -- "(^|[ ,])$argument( |\$)" <<<"$options"
	done
}
