// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Frees and accesses that are wrong: a line for each, which opens to the stacks of its calls.

function badEntry(bad, several) {
	return element('details', {class: 'bad-free'}, element('summary', {}, several ? `${bad.target.name}: ${bad.title}` : bad.title),
		...bad.calls.flatMap((call) => [element('div', {}, call.name), framesList(call, '')]));
}

function drawBadList(id, list, suppressed, several, more = 0) {
	byId(id).hidden = !list.length && !suppressed;
	byId(id).lastElementChild.replaceChildren(...list.map((bad) => badEntry(bad, several)),
		...(more ? [element('p', {class: 'soft'}, `and ${countText(more)} more`)] : []), ...(suppressed ? [element('p', {class: 'soft'}, `suppressed: ${countText(suppressed)}`)] : []));
}

function drawBad(targets) {
	const sum = (key) => targets.reduce((total, target) => total + (target[key] ?? 0), 0);
	drawBadList('bad-frees', targets.flatMap((target) => target.badFrees), sum('suppressed_frees'), targets.length > 1);
	drawBadList('bad-accesses', targets.flatMap((target) => target.badAccesses), sum('suppressed_accesses'), targets.length > 1);
}
