// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Frees that are wrong: a line for each, which opens to the stacks of its calls.

function badFreeEntry(bad, several) {
	return element('details', {class: 'bad-free'}, element('summary', {}, several ? `${bad.target.name}: ${bad.title}` : bad.title),
		...bad.calls.flatMap((call) => [element('div', {}, call.name), framesList(call, '')]));
}

function drawBadFrees(targets) {
	const list = targets.flatMap((target) => target.badFrees);
	const suppressed = targets.reduce((sum, target) => sum + (target.suppressed_frees ?? 0), 0);
	byId('bad-frees').hidden = !list.length && !suppressed;
	byId('bad-frees').lastElementChild.replaceChildren(...list.map((bad) => badFreeEntry(bad, targets.length > 1)),
		...(suppressed ? [element('p', {class: 'soft'}, `suppressed: ${countText(suppressed)}`)] : []));
}
