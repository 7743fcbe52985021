# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares one snapshot (the input) with what the target says it did. Prints one line per difference; nothing means equal.
#
# $truth    the target's own line (tests/targets/truth.h)
# $strays   "none": every stack must belong to a site of the target, and the totals are the sites' sums;
#           "freed": other stacks may exist (the C++ run time's, pthread's), but nothing of theirs may be live;
#           "any": other stacks are not looked at
# $direct   true: the caller of the allocator function is the site itself, calls inlined into it aside
# $lost     true: losses are allowed, and live + lost is what is compared, in total

def amount: "\(.bytes) bytes in \(.count)";
def plus(other): {bytes: (.bytes + other.bytes), count: (.count + other.count)};
def total: reduce .[] as $a ({bytes: 0, count: 0}; plus($a));
def site($names): [.frames[]?.function | select(. != null) | select(. as $f | $names | index($f))][0];
def described: "\(.id) [\([.frames[]? | .function // "\(.module // "?")+\(.offset)"] | .[0:8] | join(" < "))], end \(.end)";

($truth.alloc | keys) as $names
| . as $snap
| [.stacks[] | . + {site: site($names)}] as $stacks
| (
	# Every snapshot has these, whatever the target did.
	($stacks[] | select(.live.bytes != .alloc.bytes - .free.bytes or .live.count != .alloc.count - .free.count)
		| "stack \(described): live is not alloc - free"),
	(select(.live.bytes != .alloc.bytes - .free.bytes or .live.count != .alloc.count - .free.count)
		| "totals: live is not alloc - free"),
	($stacks[] | select(.live.bytes < 0 or .live.count < 0) | "stack \(described): negative"),

	($names[] as $name | ("live", "alloc", "free") as $group
		| ([$stacks[] | select(.site == $name) | .[$group]] | total) as $seen
		| $truth[$group][$name] as $true
		| select(($lost | not) and $seen != ($true | {bytes, count}))
		| "\($name): \($group) is \($seen | amount), in truth \($true | amount)"),

	($stacks[] | select(.site == null)
		| select($strays == "none" or ($strays == "freed" and .live.count != 0))
		| "stack \(described) is no site's: live \(.live | amount), alloc \(.alloc | amount)"),

	(("live", "alloc", "free") as $group
		| ([$truth[$group][]] | total) as $true
		| select($strays == "none" and ($lost | not) and $snap[$group] != $true)
		| "total: \($group) is \($snap[$group] | amount), in truth \($true | amount)"),

	($stacks[] | select($direct and .site != null)
		| select([.frames[1:][] | select(.inlined | not)][0].function != .site)
		| "stack \(described): the caller of frame 0 is not the site"),

	(.lost // {} | to_entries[] | select(($lost | not) and .value != 0) | "lost: \(.key) \(.value)")
)
