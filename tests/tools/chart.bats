#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The chart of tools/kubernetes, by helm itself: without values it is the manifest beside it, and what it renders is as the schemas have it.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
CHART=$ROOT/tools/kubernetes/chart
load container.bash

setup() {
	"$ROOT/tests/kubernetes/fetch-helm" "$BUILD/helm" 2>"$BATS_TEST_TMPDIR/why" || skip "no helm: $(<"$BATS_TEST_TMPDIR/why")"
	export HELM_CACHE_HOME=$BATS_TEST_TMPDIR HELM_CONFIG_HOME=$BATS_TEST_TMPDIR HELM_DATA_HOME=$BATS_TEST_TMPDIR
}

# rendered VERSION [OPTION…]: its objects for that Kubernetes, one JSON text a line.
rendered() {
	"$BUILD/helm/helm" template memleakbpf "$CHART" --namespace memleakbpf --kube-version "$1" "${@:2}" 2>"$BATS_TEST_TMPDIR/err" >"$BATS_TEST_TMPDIR/rendered.yaml" || {
		cat "$BATS_TEST_TMPDIR/err"
		return 1
	}
	MANIFEST=$BATS_TEST_TMPDIR/rendered.yaml manifest
}

@test "helm finds nothing to complain of, and the version is the change log's" {
	"$BUILD/helm/helm" lint --strict "$CHART"
	[[ $(sed -n 's/^\(version\|appVersion\): //p' "$CHART/Chart.yaml" | sort -u) == "$(sed -n '/^## /{ s/^## \([0-9.]*\) .*/\1/p; q }' "$ROOT/CHANGELOG.md")" ]]
}

@test "without values it is the manifest" {
	local kind

	rendered 1.31.0 >"$BATS_TEST_TMPDIR/objects"
	for kind in DaemonSet NetworkPolicy; do
		diff <(manifest | jq -S "select(.kind == \"$kind\")") \
			<(jq -S "select(.kind == \"$kind\") | if .kind == \"DaemonSet\" then del(.spec.template.spec.containers[0].imagePullPolicy) else . end" "$BATS_TEST_TMPDIR/objects")
	done
	[[ $(jq -r .kind "$BATS_TEST_TMPDIR/objects" | sort | xargs) == 'DaemonSet NetworkPolicy Secret' ]]
	[[ $(jq -r 'select(.kind == "Secret") | .data.token | @base64d | length' "$BATS_TEST_TMPDIR/objects") -eq 48 ]]
}

@test "what it renders for three versions of Kubernetes is as the schemas have it; AppArmor's field only where it is known" {
	local version

	"$ROOT/tests/kubernetes/fetch" "$BUILD/kubernetes" 2>"$BATS_TEST_TMPDIR/why" || skip "no schemas: $(<"$BATS_TEST_TMPDIR/why")"
	for version in 1.24.0 1.29.0 1.31.0; do
		rendered "$version" --set podMonitor.enabled=true,rules.enabled=true,podMonitor.labels.release=it >"$BATS_TEST_TMPDIR/objects"
		node "$ROOT/tests/kubernetes/validate.mjs" "$BUILD/kubernetes" <"$BATS_TEST_TMPDIR/objects" >"$BATS_TEST_TMPDIR/said" || {
			cat "$BATS_TEST_TMPDIR/said"
			false
		}
		[[ $(sort "$BATS_TEST_TMPDIR/said" | xargs) == 'DaemonSet ok NetworkPolicy ok PodMonitor ok PrometheusRule ok Secret ok' ]]
		[[ $(jq 'select(.kind == "DaemonSet") | .spec.template.spec.containers[0].securityContext | has("appArmorProfile")' "$BATS_TEST_TMPDIR/objects") == "$([[ $version == 1.31.0 ]] && echo true || echo false)" ]]
	done
	# What checks does see what is wrong.
	[[ $(jq -c 'select(.kind == "PodMonitor") | .spec.podMetricsEndpoints[0].honorLabels = "yes"' "$BATS_TEST_TMPDIR/objects" |
		node "$ROOT/tests/kubernetes/validate.mjs" "$BUILD/kubernetes" || :) == *honorLabels* ]]
	# The process's labels stay; the job is one that the rules know; and the rules are the file's.
	[[ $(jq -c 'select(.kind == "PodMonitor") | .spec.podMetricsEndpoints[0] | [.honorLabels, (.relabelings[] | select(.targetLabel == "job") | .replacement)]' "$BATS_TEST_TMPDIR/objects") == '[true,"memleakbpf"]' ]]
	diff <(jq -S 'select(.kind == "PrometheusRule") | .spec' "$BATS_TEST_TMPDIR/objects") \
		<(MANIFEST=$ROOT/tools/prometheus/memleakbpf.rules.yml manifest | jq -S .)
}

@test "values: what is kept, the port, a secret of one's own; and a value that the schema does not know is refused by its name" {
	local pod

	pod='select(.kind == "DaemonSet") | .spec.template.spec'
	rendered 1.31.0 --set 'keep={container=web,comm=^shop}' --set port=9000,tokenSecret=mine,networkPolicy.enabled=false,image.tag=x --set 'extraArgs={--budget=0.5}' >"$BATS_TEST_TMPDIR/objects"
	[[ $(jq -r .kind "$BATS_TEST_TMPDIR/objects") == DaemonSet ]]
	[[ $(jq -r "$pod"' | .containers[0] | .image, (.args | join(" ")), .ports[0].containerPort' "$BATS_TEST_TMPDIR/objects" | xargs) == \
		'memleakbpf:x survey --interval=10 --gate --keep=container=web --keep=comm=^shop --metrics=$(POD_IP):9000 --profiles=$(POD_IP):9000 --profiles-token=/etc/memleakbpf/token --output=/dev/null --budget=0.5 9000' ]]
	[[ $(jq -r "$pod"' | .volumes[] | .secret.secretName // empty' "$BATS_TEST_TMPDIR/objects") == mine ]]
	rendered 1.31.0 --set 'keep=null' --set-json 'keep=[]' >"$BATS_TEST_TMPDIR/objects"
	[[ $(jq -r "$pod"' | .containers[0].args | join(" ")' "$BATS_TEST_TMPDIR/objects") == 'survey --interval=10 --metrics=$(POD_IP):9435 --output=/dev/null' ]]
	[[ $(jq -r "$pod"' | [.volumes[].name] | join(" ")' "$BATS_TEST_TMPDIR/objects") == 'cgroup names' ]]
	run rendered 1.31.0 --set image.pullPolicy=Sometimes
	[[ $status -ne 0 && $output == *pullPolicy* ]]
	run rendered 1.31.0 --set intervall=5
	[[ $status -ne 0 && $output == *intervall* ]]
	run rendered 1.31.0 --set 'keep={web}'
	[[ $status -ne 0 && $output == *keep* ]]
}
