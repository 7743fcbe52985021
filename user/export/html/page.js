// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The page: what has been chosen, and drawing all of it anew when that changes.

// What the flame graph's width and the table's order can be. `bytes` and `blocks` take a value from what valuesBetween() gives.
const MODES = [
	{key: 'live', name: 'Live', bytes: (e) => e.live, blocks: (e) => e.count,
		meaning: () => `Allocated since tracing began and not freed until ${timeText(STATE.to, true)}.`},
	{key: 'alloc', name: 'Allocated', bytes: (e) => e.alloc, blocks: (e) => e.allocs,
		meaning: () => `All that was allocated from when tracing began until ${timeText(STATE.to, true)}, freed or not.`},
	{key: 'growth', name: 'Growth', since: true, bytes: (e) => e.growth, blocks: (e) => e.growthCount,
		meaning: (shrunk) => `What has become more from ${timeText(STATE.from, true)} to ${timeText(STATE.to, true)}` +
			` (${durationText(STATE.to - STATE.from)}; drag on the chart for another time)` + (shrunk ? `; stacks that became less, ${shrunk}, are in the table only.` : '.')},
	{key: 'peak', name: 'Peak', peak: true, bytes: (e) => e.peak, blocks: (e) => e.peakCount,
		meaning: () => `Live when the process had most, or as near to that as it was looked at (${STATE.targets.filter((t) => t.peak).map((t) => `${bytesText(t.peak[2])} of ${bytesText(t.peak[0])} at ${timeText(t.peak[1], true)}`).join('; ')}).`},
	{key: 'lost', name: 'Lost', verdict: true, bytes: (e) => e.lost, blocks: (e) => e.lostCount,
		meaning: () => `Live at ${timeText(STATE.to, true)}, and no pointer in the process's memory leads to it: definitely lost, or held only by what is.`},
	{key: 'possible', name: 'Possibly lost', verdict: true, bytes: (e) => e.possible, blocks: (e) => e.possibleCount,
		meaning: () => `Live at ${timeText(STATE.to, true)}, and every way to it goes through a pointer into the middle of some block.`},
	{key: 'reachable', name: 'Reachable', verdict: true, bytes: (e) => e.reachable, blocks: (e) => e.reachableCount,
		meaning: () => `Live at ${timeText(STATE.to, true)}, and pointers lead to it: in use, kept for later, or a container that nobody empties.`},
];

let DATA;
const STATE = {
	targets: [], from: 0, to: 0, mode: 'live', measure: 'bytes', term: '', way: 'callers', sort: {key: 'live', down: true}, most: ROWS_AT_ONCE,
	through: null, off: new Set(),
};
let flame = {search: () => 0, reset: () => {}};

const first = () => Math.min(...STATE.targets.map((t) => t.first));
const last = () => Math.max(...STATE.targets.map((t) => t.last));
const hasSince = () => STATE.from < STATE.to;
const hasPeak = () => STATE.to === last() && STATE.targets.some((t) => t.peak);
const hasVerdict = () => STATE.to === last() && STATE.targets.some((t) => t.judged);

function card(name, value, small, data, id) {
	return element('div', {class: 'card', id}, element('small', {}, name), element('b', {'data-value': data}, value), element('small', {}, small));
}

// What is to be known of a target's verdict and of what is not shown.
function notes(target) {
	const list = [], v = target.verdict, out = target.left_out;
	if (v?.refused)
		list.push(`No verdict: ${v.refused}.`);
	if (v?.approximate)
		list.push('The verdict is approximate: some memory was read while the process ran.');
	if (v?.unknown)
		list.push(`${bytesText(v.unknown)} of heap may be from before the attach: what it points to counts as reachable.`);
	if (v?.unread)
		list.push(`${bytesText(v.unread)} could not be read: what only it points to counts as lost.`);
	if (out)
		list.push(`Not shown but in the chart: ${bytesText(out[0])} in ${plural(out[1], 'block')} of ${plural(out[2], 'stack')} (suppressions, --leak-only).`);
	return list;
}

function drawCards(sums) {
	const span = STATE.to - STATE.from, cards = [
		card('Live', bytesText(sums.live), `${countText(sums.live)} B in ${plural(sums.count, 'block')}`, sums.live, 'card-live'),
		card('Allocated', bytesText(sums.alloc), `in ${plural(sums.allocs, 'call')}, ${bytesText(sums.alloc - sums.live)} of it freed`, sums.alloc, 'card-alloc'),
	];
	if (hasVerdict())
		cards.splice(1, 0, card('Lost', bytesText(sums.lost), `definitely ${bytesText(sums.definite)}, indirectly ${bytesText(sums.indirect)}; possibly lost ${bytesText(sums.possible)}`, sums.lost, 'card-lost'));
	if (hasSince())
		cards.splice(1, 0, card('Growth', signed(sums.growth, bytesText),
			`in ${durationText(span)}, ${signed(sums.growth * 3600000 / span, bytesText)} an hour`, sums.growth, 'card-growth'));
	if (STATE.targets.length === 1 && STATE.targets[0].peak) {
		const [bytes, time, known] = STATE.targets[0].peak;
		cards.push(card('Peak', bytesText(bytes), `at ${timeText(time, false)}; by stack ${bytesText(known)} are known`, bytes, 'card-peak'));
	}
	if (STATE.targets.length === 1) {
		const [target] = STATE.targets, at = lastUntil(target.time, STATE.to);
		for (const [key, name, small] of [['anon', 'Anonymous memory', 'resident: heap and stacks'], ['rss', 'Resident memory', 'as the kernel counts it']]) {
			if (target[key][at])
				cards.push(card(name, bytesText(target[key][at]), small, target[key][at], `card-${key}`));
		}
	}
	const lost = STATE.targets.flatMap((t) => Object.entries(t.lost).map(([text, n]) => `${STATE.targets.length > 1 ? `${t.name}: ` : ''}${countText(n)} × ${text}`));
	if (lost.length)
		cards.push(element('div', {class: 'card warn'}, element('small', {}, 'Not recorded'), ...lost.map((text) => element('div', {}, text))));
	for (const target of STATE.targets)
		cards.push(...notes(target).map((text) => element('div', {class: 'card warn'}, STATE.targets.length > 1 ? `${target.name}: ${text}` : text)));
	const sampled = Math.max(...STATE.targets.map((t) => t.sample_bytes));
	if (sampled)
		cards.push(element('div', {class: 'card warn'}, `Sampled, every ${bytesText(sampled)} on average: all numbers are estimates.`));
	byId('cards').replaceChildren(...cards);
}

// What is said of each target, at its end.
function drawFindings(targets) {
	const lines = targets.flatMap((t) => (t.findings ?? []).map(([kind, text]) =>
		element('li', {class: kind, 'data-kind': kind}, targets.length > 1 ? `${t.name}: ${text}` : text)));
	byId('findings').replaceChildren(...lines);
	byId('findings').hidden = !lines.length;
}

function hoverFrame(node, text, total) {
	const line = byId('hover');
	if (!node) {
		line.replaceChildren('\u00a0');
		return;
	}
	line.replaceChildren(element('b', {}, node.name), `  ${text(node.value)}, ${shareText(node.value, total)}`,
		element('span', {class: 'place'}, `  ${placesText(node)}${node.frame.where ? `  (${node.frame.where})` : ''}`));
}

function drawChoices() {
	const button = (row, key, state) => element('button', {
		'aria-pressed': String(STATE[state] === row.key), 'data-key': row.key, disabled: row.since && !hasSince(),
		title: row.since && !hasSince() ? 'growth needs two snapshots' : undefined,
		click: () => {
			STATE[state] = row.key;
			STATE.through = null;
			STATE.sort = {key: sortKey(STATE.mode, STATE.measure), down: true};
			draw();
		},
	}, row.name);
	byId('modes').replaceChildren(...MODES.filter((mode) => (!mode.verdict || hasVerdict()) && (!mode.peak || hasPeak())).map((mode) => button(mode, mode.key, 'mode')));
	byId('ways').replaceChildren(...WAYS.map((way) => button(way, way.key, 'way')));
	byId('measures').replaceChildren(...[{key: 'bytes', name: 'Bytes'}, {key: 'blocks', name: 'Blocks'}].map((m) => button(m, m.key, 'measure')));
}

function drawStackTable(entries, sums) {
	const through = STATE.through && rowsBelow(STATE.through);
	const shown = entries.filter((e) => (e.count || e.allocs || e.growth) && (!through || through.has(e.row)) && (!STATE.term || matches(e.row, STATE.term)));
	byId('through').hidden = !through;
	if (through)
		byId('through').firstElementChild.textContent = `${plural(shown.length, 'stack')} through ${STATE.through.name}`;
	const found = shown.reduce((sum, e) => sum + e.live, 0);
	byId('found').textContent = STATE.term ? `${plural(shown.length, 'stack')}, ${bytesText(found)} live, ${shareText(found, sums.live)}` : '';
	byId('found').dataset.value = shown.length;
	drawTable({entries: shown, sums, term: STATE.term, sort: STATE.sort, since: hasSince(), latest: STATE.to === last(), verdict: hasVerdict(), peak: hasPeak(), blocks: STATE.measure === 'blocks', most: STATE.most}, (key) => {
		STATE.sort = {key, down: STATE.sort.key === key ? !STATE.sort.down : true};
		drawStackTable(entries, sums);
	}, () => {
		STATE.most += ROWS_AT_ONCE;
		drawStackTable(entries, sums);
	});
}

function drawStacks(entries, sums) {
	const mode = MODES.find((m) => m.key === STATE.mode), value = mode[STATE.measure];
	const text = STATE.measure === 'bytes' ? bytesText : (n) => plural(n, mode.key === 'alloc' ? 'call' : 'block');
	const weighed = entries.map((e) => ({row: e.row, value: value(e)}));
	const shrunk = weighed.reduce((sum, e) => sum + Math.min(0, e.value), 0);
	const tree = flameTree(weighed.filter((e) => e.value > 0), STATE.targets.length === 1 ? STATE.targets[0].name : 'all processes',
		WAYS.find((way) => way.key === STATE.way));
	byId('meaning').textContent = mode.meaning(shrunk ? text(shrunk) : '');
	byId('flame').dataset.value = tree.value;
	drawKinds(entries.flatMap(({row}) => row.frames));
	flame = drawFlame(tree, {
		text,
		hover: (node) => hoverFrame(node, text, tree.value),
		zoom: (node) => {
			STATE.through = node;
			drawStackTable(entries, sums);
		},
	});
	byId('through').lastElementChild.onclick = () => {
		STATE.through = null;
		flame.reset();
		drawStackTable(entries, sums);
	};
	byId('search').oninput = (event) => {
		STATE.term = event.target.value.trim().toLowerCase();
		flame.search(STATE.term);
		drawStackTable(entries, sums);
	};
	if (STATE.term)
		flame.search(STATE.term);
	drawStackTable(entries, sums);
}

function chooseTime(from, to) {
	const moments = [...new Set(STATE.targets.flatMap((t) => t.moments))].sort((a, b) => a - b);
	const nearest = (time) => moments.reduce((best, m) => (Math.abs(m - time) < Math.abs(best - time) ? m : best), moments[0]);
	STATE.from = from === null ? first() : nearest(from);
	STATE.to = to === null ? last() : nearest(to);
	if (STATE.from >= STATE.to && from !== null) {
		/* Too narrow to hold two moments: the one before. */
		STATE.from = moments[Math.max(0, moments.indexOf(STATE.to) - 1)];
	}
	const mode = MODES.find((m) => m.key === STATE.mode);
	if ((mode.since && !hasSince()) || (mode.verdict && !hasVerdict()) || (mode.peak && !hasPeak()))
		STATE.mode = 'live';
	STATE.through = null;
	draw();
}

function drawTimes() {
	const lines = linesOf(STATE.targets), whole = STATE.from === first() && STATE.to === last();
	const say = (text) => { byId('range').textContent = text || (hasSince() ? `${timeText(STATE.from, true)} to ${timeText(STATE.to, true)}` : timeText(STATE.to, true)); };
	drawLegend('legend', lines, STATE.off, drawTimes);
	drawChart('chart', lines, STATE.off, STATE, chooseTime, say);
	say('');
	byId('whole').hidden = whole;
	/* Of a survey's window there is one snapshot, at its end. */
	byId('times').hidden = STATE.targets.every((t) => t.window);
}

function draw() {
	const entries = valuesBetween(STATE.targets, STATE.from, STATE.to);
	const sums = {lost: 0, definite: 0, indirect: 0, possible: 0, reachable: 0, live: 0, count: 0, alloc: 0, allocs: 0, growth: 0};
	for (const entry of entries) {
		for (const key of Object.keys(sums))
			sums[key] += entry[key];
	}
	drawCards(sums);
	drawTimes();
	drawChoices();
	drawStacks(entries, sums);
}

function chooseTargets(targets) {
	STATE.targets = targets;
	STATE.most = ROWS_AT_ONCE;
	STATE.off.clear();
	const [one] = targets;
	byId('about').textContent = targets.length > 1 ? '' : (one.cmdline?.join(' ') ?? '') + (one.window ? `: what it allocated in ${durationText(one.last - one.start)} of probes` : one.exited ? ` (${one.end})` : one.execed ? ' (became another program)' : '');
	drawFindings(targets);
	drawBad(targets);
	drawScopes(targets);
	chooseTime(null, null);
}

function fillTargets() {
	const select = byId('targets'), {targets} = DATA;
	/* Windows of a survey do not add up: what one has seen may have been freed before the next. */
	if (targets.length > 1 && !DATA.survey)
		select.append(element('option', {value: 'all'}, `all ${targets.length} processes`));
	targets.forEach((t, i) => select.append(element('option', {value: String(i)}, t.name + (t.execed ? ' until it became another program' : ''))));
	select.onchange = () => chooseTargets(select.value === 'all' ? targets : [targets[+select.value]]);
	select.hidden = !targets.length;
	byId('target').hidden = !targets.length;
	if (targets.length)
		select.onchange();
}

// The windows of a process that was chosen in a survey, the last one first; of those that had none nothing is shown.
function showWindows(targets) {
	byId('target').hidden = !targets.length;
	if (!targets.length)
		return;
	byId('targets').value = String(targets.at(-1).number);
	chooseTargets([targets.at(-1)]);
}

function begin() {
	const root = document.documentElement, system = matchMedia('(prefers-color-scheme: dark)');
	root.dataset.theme = system.matches ? 'dark' : 'light';
	DATA = readData(byId('data').textContent);
	// The program's own code is what most outer frames are in that are not the C library's.
	const commands = new Set(DATA.targets.map((t) => t.cmdline?.[0]?.split('/').at(-1) ?? t.comm));
	DATA.mainModule = DATA.frames.find((f) => f?.inObject && commands.has(f.module))?.module ?? DATA.frames.find((f) => f?.inObject && f.module && !/^(libc|ld-|lib)/.test(f.module))?.module;
	document.title = DATA.survey ? 'memleakbpf: survey' : `memleakbpf: ${DATA.targets.map((t) => t.name).slice(0, 3).join(', ')}`;
	document.querySelector('main').hidden = false;
	byId('whole').onclick = () => chooseTime(null, null);
	let redrawSurvey = () => {};
	const redraw = () => {
		redrawSurvey();
		if (STATE.targets.length)
			draw();
	};
	byId('theme').onclick = () => {
		root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
		redraw();
	};
	fillTargets();
	if (DATA.survey)
		redrawSurvey = beginSurvey(DATA.survey, showWindows);
	let width = innerWidth;
	addEventListener('resize', () => {
		if (innerWidth !== width)
			redraw();
		width = innerWidth;
	});
}

try {
	begin();
} catch (error) {
	byId('failed').hidden = false;
	byId('failed').textContent = `The page cannot be drawn: ${error.message}`;
	throw error;
}
