# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Are estimates what they say they are? For tests/targets/mixed; loaded after lib.bash.

ROUNDS=${ROUNDS:-40}

# One line per round and site: name, bytes and error estimated, bytes in truth, mean distance of samples; "all" is the whole.
rounds() {
	local i

	for ((i = 0; i < ROUNDS; i++)); do
		tell go
		snap
		jq -r --argjson truth "$TRUTH" '
			.sample_bytes as $distance | ([.stacks[] | {site: .frames[1].function, bytes: .live.bytes, error: .error_bytes}] +
			 [{site: "all", bytes: .live.bytes,
			   error: ([.stacks[].error_bytes | . * .] | add | sqrt)}])[]
			| . as $s
			| [$s.site, $s.bytes, $s.error,
			   (if $s.site == "all" then [$truth.live[].bytes] | add
			    else $truth.live[$s.site].bytes end), $distance] | @tsv' <<<"$SNAP"
		tell free
		snap
		jq -e '.live == {"bytes": 0, "count": 0}' <<<"$SNAP" >/dev/null || fail 'frees do not take away what allocations added'
	done
}

# The mean of R estimates has a standard error of error / sqrt(R). A run of all tests looks at some thirty such means: with a bound of 3.5 standard
# errors (one in two thousand by chance) one run in seventy failed; 5.5 are one in 26 million. That is so of many samples. Of large blocks, of which one
# in hundreds is missed, the errors are like few and heavy raindrops: in a million simulations of ten rounds by 16k they were beyond 3.5 standard errors 3,706 times, beyond
# 5.5 still 87 times, and never beyond 5.5 and 16 distances more, divided by R (Bernstein's inequality asks for such a term). A bias that matters is
# outside: of the sum over all sites these bounds are 3 % (ten rounds by 16k) and 2 % (40 by 32k).
#
# The spread of the estimates must be what the tool says it is. Of R = 40 values it is within 12 % or so of the truth, and by chance outside of half
# and 1.9 times of it in one of 200,000 simulations; of 0.6 and 1.5 times, of the large blocks, in one of 800. Of fewer values it says too little.
judge() {
	awk -F'\t' '
	{ n[$1]++; sum[$1] += $2; square[$1] += $2 * $2; error[$1] += $3; truth[$1] = $4; distance = $5 }
	END {
		for (site in n) {
			r = n[site]; mean = sum[site] / r; said = error[site] / r
			spread = sqrt((square[site] - r * mean * mean) / (r - 1))
			off = said ? (mean - truth[site]) / (said / sqrt(r)) : 0
			most = 5.5 * said / sqrt(r) + (said ? 16 * distance / r : 0)
			printf "%-12s truth %d, mean of %d estimates %.0f: %+.2f standard errors; spread %.0f, said %.0f\n",
				site, truth[site], r, mean, off, spread, said
			if (mean - truth[site] > most || mean - truth[site] < -most) bad = 1
			if (said && r >= 40 && (spread < 0.5 * said || spread > 1.9 * said)) bad = 1
		}
		exit bad
	}'
}
