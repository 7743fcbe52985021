#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Are sampled numbers what they say they are? A fixed workload is made and freed ROUNDS times; each round is one independent
# sample of the same truth.
# shellcheck disable=SC2034,SC2154
# bats file_tags=beside

load lib
load sampling.bash

sampled_truth() {
	start_target "$TARGETS/mixed"
	attach -s 32k
	rounds >"$D/rounds"
	judge <"$D/rounds" >"$D/verdict" || fail "$(cat "$D/verdict")"
	cat "$D/verdict" >&3
	# Each site in every round but, at most, a few: the small one makes some 44 samples a round.
	[[ $(grep -c '^leak_small' "$D/rounds") -eq $ROUNDS ]] || fail 'a round without samples of the small blocks'
}

@test "sampled by probes: the mean over many runs is the truth, and the standard error is the spread" {
	sampled_truth
}

@test "sampled by the gate: the mean over many runs is the truth, and the standard error is the spread" {
	MODE=gate sampled_truth
}

@test "sampled: large blocks are exact" {
	start_target "$TARGETS/mixed"
	attach -s 1k
	tell go
	snap
	# Blocks of 50 times the mean distance are recorded with certainty, to the byte.
	[[ $(jq -c '.stacks[] | select(.frames[1].function == "leak_large") | .live' <<<"$SNAP") == \
		$(jq -c '.live.leak_large' <<<"$TRUTH") ]] || fail 'large blocks are not exact'
	[[ $(jq -c '.stacks[] | select(.frames[1].function == "leak_large") | .error_bytes' <<<"$SNAP") == 0 ]] ||
		fail 'an error where nothing is estimated'
}
