# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Are estimates what they say they are? For tests/targets/mixed; loaded after lib.bash.

ROUNDS=${ROUNDS:-40}

# One line per round and site: name, bytes and error estimated, bytes in truth; "all" is the whole.
rounds() {
	local i

	for ((i = 0; i < ROUNDS; i++)); do
		tell go
		snap
		jq -r --argjson truth "$TRUTH" '
			([.stacks[] | {site: .frames[1].function, bytes: .live.bytes, error: .error_bytes}] +
			 [{site: "all", bytes: .live.bytes,
			   error: ([.stacks[].error_bytes | . * .] | add | sqrt)}])[]
			| . as $s
			| [$s.site, $s.bytes, $s.error,
			   (if $s.site == "all" then [$truth.live[].bytes] | add
			    else $truth.live[$s.site].bytes end)] | @tsv' <<<"$SNAP"
		tell free
		snap
		jq -e '.live == {"bytes": 0, "count": 0}' <<<"$SNAP" >/dev/null || fail 'frees do not take away what allocations added'
	done
}

# The mean of R estimates has a standard error of error / sqrt(R). A bound of 2 would fail one run in twenty by chance; at 3.5
# it is one in two thousand, and a bias of the size that matters is still far outside. The spread of the
# estimates must be what the tool says it is: the standard deviation of R = 40 values is within 12 % or so of the truth. Of fewer
# values it says too little.
judge() {
	awk -F'\t' '
	{ n[$1]++; sum[$1] += $2; square[$1] += $2 * $2; error[$1] += $3; truth[$1] = $4 }
	END {
		for (site in n) {
			r = n[site]; mean = sum[site] / r; said = error[site] / r
			spread = sqrt((square[site] - r * mean * mean) / (r - 1))
			off = said ? (mean - truth[site]) / (said / sqrt(r)) : 0
			printf "%-12s truth %d, mean of %d estimates %.0f: %+.2f standard errors; spread %.0f, said %.0f\n",
				site, truth[site], r, mean, off, spread, said
			if (off > 3.5 || off < -3.5) bad = 1
			if (said && r >= 40 && (spread < 0.6 * said || spread > 1.5 * said)) bad = 1
		}
		exit bad
	}'
}
