# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares a snapshot's lifetimes and temporary blocks (the input) with what tests/targets/figures.c says: a line for each difference.
#
# $truth    the target's line


def site($names): [.frames[]?.function | select(. != null) | select(. as $f | $names | index($f))][0];
# [i]: how many lived 2^i microseconds, of classes that begin at .from ns.
def at_least($i): [.[] | select(.from >= (if $i == 0 then 0 else pow(2; $i) * 1000 end)) | .count] | add // 0;

($truth.lived | keys) as $names
| [.stacks[] | . + {site: site($names)} | select(.site != null)] as $stacks
| $names[] as $name
| [$stacks[] | select(.site == $name)] as $own
| (
	([$own[].lifetime_ns.classes[]?]) as $classes
	| (
		(($classes | at_least(0)) as $all | ([$own[].free.count] | add // 0) as $free
			| select($all != $free) | "\($name): lifetimes of \($all), but \($free) freed"),
		(range(24) as $i | ($classes | at_least($i)) as $seen
			| select($seen < $truth.lived[$name].least[$i] or $seen > $truth.lived[$name].most[$i])
			| "\($name): \($seen) lived 2^\($i) us, in truth \($truth.lived[$name].least[$i]) to \($truth.lived[$name].most[$i])")
	)),
	(
		([$own[].temporary.count] | add // 0) as $count | ([$own[].temporary.bytes] | add // 0) as $bytes
		| select({bytes: $bytes, count: $count} != $truth.temporary[$name])
		| "\($name): temporary are \($bytes) bytes in \($count), in truth \($truth.temporary[$name])"
	),
	# The most that a site had, of those that have one stack.
	(select($own | length == 1)
		| select($own[0].peak and $own[0].peak.bytes != $truth.peak.sites[$name].most)
		| "\($name): at most \($own[0].peak.bytes) bytes, in truth \($truth.peak.sites[$name].most)")
