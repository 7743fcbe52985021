# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares the verdicts of one snapshot (the input) with the target's truth (tests/targets/verdict.h). Prints one line per
# difference; nothing means equal.
#
# $truth    the target's own line
#
# Stacks that are no site's (the C library's own allocations for threads and libraries) may be reachable or possibly lost, as
# memcheck has them, never definitely or indirectly. What the built-in suppressions hide is not looked at.

def classes: ["definite", "indirect", "possible", "reachable"];
def site($names): [.frames[]?.function | select(. != null) | sub("\\(.*"; "")
	| select(. as $f | $names | index($f))][0];
def total($class): reduce .[] as $s ({bytes: 0, count: 0};
	{bytes: (.bytes + $s.verdict[$class].bytes), count: (.count + $s.verdict[$class].count)});
def short: to_entries | map(select(.value.count > 0) | "\(.key) \(.value.count) (\(.value.bytes) B)") | join(", ");

($truth.verdict | keys) as $names
| . as $snap
| [.stacks[] | select(.live.count != 0) | . + {site: site($names)}] as $stacks
| (
	(select(.verdict == null) | "the snapshot has no verdict"),
	(select(.verdict.refused != null) | "refused: \(.verdict.refused)"),

	# Whatever the target did: the classes of a stack are all of its live blocks, and those of the snapshot all stacks'.
	($stacks[] | . as $s
		| ({bytes: ([classes[] | $s.verdict[.].bytes // 0] | add), count: ([classes[] | $s.verdict[.].count // 0] | add)}) as $sum
		| select($sum != .live)
		| "stack \(.id): classes add up to \($sum), live is \(.live)"),
	(classes[] as $class | select(.verdict[$class] != null)
		| ($stacks | total($class)) as $sum
		| select(.verdict[$class].count < $sum.count or .verdict[$class].bytes < $sum.bytes)
		| "total: \($class) is \($snap.verdict[$class]), the stacks have \($sum)"),
	(select(.verdict.definite != null)
		| ([classes[] | $snap.verdict[.].count] | add) as $all
		| ([classes[] as $class | $stacks | total($class).count] | add) as $shown
		| select($all != $shown + (.suppressed.count // 0))
		| "total: \($all) blocks, \($shown) shown and \(.suppressed.count // 0) suppressed"),

	($names[] as $name
		| ([$stacks[] | select(.site == $name)]) as $own
		| (reduce classes[] as $class ({}; .[$class] = ($own | total($class)))) as $seen
		| $truth.verdict[$name] as $true
		| select($seen != $true)
		| "\($name): \($seen | short), in truth \($truth.verdict[$name] | short)"),

	($stacks[] | select(.site == null)
		| select(.verdict.definite.count != 0 or .verdict.indirect.count != 0)
		| "stack \(.id) [\([.frames[]? | .function // "?"] | .[0:8] | join(" < "))] is no site's and lost: \(.verdict | short)")
)
