// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the calls of a function left behind, a line for each function and tag, which opens to histograms; and those of a stack.

const SCOPES_AT_ONCE = 50;

// Times in ns: calls and blocks are shorter than what durationText() is for.
function shortTime(ns) {
	if (ns < 1e3)
		return `${Math.round(ns)} ns`;
	if (ns < 1e6)
		return `${(ns / 1e3).toFixed(1)} µs`;
	return ns < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : durationText(ns / 1e6);
}

// bars: [{name, value}]; drawn one below the other, with what each is of all.
function histogram(title, bars, word) {
	const sum = bars.reduce((n, bar) => n + bar.value, 0), most = bars.reduce((n, bar) => Math.max(n, bar.value), 1);
	return element('div', {class: 'histogram', role: 'img', 'aria-label': title}, element('div', {class: 'soft'}, title),
		...bars.map((bar) => element('div', {class: 'bin', 'data-value': bar.value}, element('span', {class: 'bin-name'}, bar.name),
			element('span', {class: 'bin-track'}, element('i', {style: `width: ${(100 * bar.value / most).toFixed(2)}%`})),
			element('span', {class: 'bin-value'}, `${plural(bar.value, word)}, ${shareText(bar.value, sum)}`))));
}

// Pairs of what a class begins with and how many are in it.
const pairs = (list) => Array.from({length: list.length / 2}, (_, i) => ({from: list[2 * i], value: list[2 * i + 1]}));

function readScope([fn, tag, tagged, calls, open, left, timed, time, timeMax, allocBytes, allocCount, kept, keptCount, live, liveCount, ownLive, ownCount, times, keptCalls, tags]) {
	const scope = {fn, tag: tagged ? tag : undefined, calls, open, left, timed, time, timeMax, allocBytes, allocCount, kept, keptCount, live, liveCount, ownLive, ownCount, times, tags};
	scope.name = tagged ? `${fn} #${tag}` : fn;
	scope.perCall = calls > open ? kept / (calls - open) : 0;
	scope.keptCalls = Array.from({length: keptCalls.length / 3}, (_, i) => ({from: keptCalls[3 * i], to: keptCalls[3 * i + 1], value: keptCalls[3 * i + 2]}));
	return scope;
}

const SCOPE_COLUMNS = [
	{key: 'live', name: 'Live now', text: (s) => bytesText(s.live), number: (s) => s.live},
	{key: 'kept', name: 'Kept at return', text: (s) => bytesText(s.kept), number: (s) => s.kept},
	{key: 'perCall', name: 'Kept per call', text: (s) => (s.perCall && s.perCall < 100 ? `${s.perCall.toFixed(1)} B` : bytesText(s.perCall)), number: (s) => s.perCall},
	{key: 'calls', name: 'Calls', text: (s) => countText(s.calls), number: (s) => s.calls},
	{key: 'alloc', name: 'Allocated', text: (s) => bytesText(s.allocBytes), number: (s) => s.allocBytes},
	{key: 'mean', name: 'Time, mean', text: (s) => (s.timed ? shortTime(s.time / s.timed) : ''), number: (s) => (s.timed ? s.time / s.timed : 0)},
	{key: 'most', name: 'at most', text: (s) => (s.timed ? shortTime(s.timeMax) : ''), number: (s) => s.timeMax},
];
const SCOPE_SORT = {key: 'live', down: true, most: SCOPES_AT_ONCE};

function scopeDetails(scope) {
	const said = [`${plural(scope.liveCount, 'block')} live, ${bytesText(scope.ownLive)} in no scope inside`];
	if (scope.tags)
		said.push(`about ${plural(scope.tags, 'different tag')}`);
	if (scope.open)
		said.push(`${plural(scope.open, 'call')} open`);
	if (scope.left)
		said.push(`${plural(scope.left, 'call')} left without a return`);
	const parts = [element('div', {}, said.join('; '))];
	if (scope.keptCalls.length)
		parts.push(histogram('What a call kept', scope.keptCalls.map((k) =>
			({name: k.from === k.to ? bytesText(k.from) : `${bytesText(k.from)} to ${bytesText(k.to)}`, value: k.value})), 'call'));
	if (scope.times.length)
		parts.push(histogram('How long it took', pairs(scope.times).map((t) => ({name: `from ${shortTime(t.from)}`, value: t.value})), 'call'));
	return element('tr', {class: 'frames'}, element('td', {colspan: SCOPE_COLUMNS.length + 1}, ...parts));
}

function scopeRow(scope) {
	const row = element('tr', {class: 'row', 'data-scope': scope.name}, ...SCOPE_COLUMNS.map((c) =>
		element('td', {'data-key': c.key, 'data-label': c.name, 'data-value': c.number(scope)}, c.text(scope))),
	element('td', {class: 'site'}, element('div', {}, scope.name)));
	row.addEventListener('click', () => toggleRow(row, () => scopeDetails(scope)));
	row.setAttribute('aria-expanded', 'false');
	return byKeys(row);
}

function drawScopes(targets) {
	const scopes = targets.flatMap((t) => (t.scopes ?? []).map((s) => (targets.length > 1 ? {...s, name: `${t.name}: ${s.name}`} : s)));
	const column = SCOPE_COLUMNS.find((c) => c.key === SCOPE_SORT.key), table = byId('scopes-table');
	byId('scopes').hidden = targets.every((t) => !t.scopes);
	scopes.sort((a, b) => (column.number(b) - column.number(a)) * (SCOPE_SORT.down ? 1 : -1) || b.kept - a.kept || b.calls - a.calls);
	table.tHead.replaceChildren(element('tr', {}, ...SCOPE_COLUMNS.map((c) => element('th', {'aria-sort': c === column ? (SCOPE_SORT.down ? 'descending' : 'ascending') : undefined},
		element('button', {'data-key': c.key, click: () => {
			SCOPE_SORT.down = c === column ? !SCOPE_SORT.down : true;
			SCOPE_SORT.key = c.key;
			drawScopes(targets);
		}}, c.name + (c === column ? (SCOPE_SORT.down ? ' ↓' : ' ↑') : '')))), element('th', {class: 'site'}, 'Scope')));
	table.tBodies[0].replaceChildren(...scopes.slice(0, SCOPE_SORT.most).map(scopeRow));
	byId('more-scopes').hidden = scopes.length <= SCOPE_SORT.most;
	byId('more-scopes').firstElementChild.textContent = `${countText(SCOPE_SORT.most)} of ${plural(scopes.length, 'scope')}`;
	byId('more-scopes').lastElementChild.onclick = () => {
		SCOPE_SORT.most += SCOPES_AT_ONCE;
		drawScopes(targets);
	};
}

// What is known of a stack beside its sums: lines for its details.
function figureLines(row) {
	const f = row.figures, lines = [];
	if (!f)
		return lines;
	if (f.scope !== undefined)
		lines.push(element('div', {class: 'in-scope'}, `in ${row.target.scopes[f.scope].name}`));
	if (f.outlived?.[2])
		lines.push(element('div', {}, `${plural(f.outlived[2], 'live block')} (${bytesText(f.outlived[1])}) older than ${shortTime(f.outlived[0])}, far longer than others live`));
	if (f.temporary?.[1])
		lines.push(element('div', {}, `temporary: ${bytesText(f.temporary[0])} in ${plural(f.temporary[1], 'block')}`));
	if (f.peak)
		lines.push(element('div', {}, `at the peak ${bytesText(f.peak[0])} in ${plural(f.peak[1], 'block')}, ${bytesText(f.peak[2])} at most`));
	if (f.usable?.[1])
		lines.push(element('div', {}, `${bytesText(f.usable[0])} are set aside for ${plural(f.usable[1], 'block')} that asked for ${bytesText(f.usable[2])}`));
	if (f.sizes?.length)
		lines.push(histogram('Sizes of live blocks', pairs(f.sizes).map((s) => ({name: `${f.powers ? 'from ' : ''}${bytesText(s.from)}`, value: s.value})), 'block'));
	const bins = (f.lifetimes ?? []).map((value, i) => ({name: i ? `from ${shortTime(1000 * 2 ** i)}` : 'less', value}));
	const used = bins.flatMap((bin, i) => (bin.value ? [i] : []));
	if (used.length)
		lines.push(histogram('How long freed blocks had lived', bins.slice(used[0], used.at(-1) + 1), 'block'));
	return lines;
}
