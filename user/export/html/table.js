// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The stacks as a table; a row opens to its frames.

const ROWS_AT_ONCE = 100;

// Bytes, or blocks where these are what is shown.
function amountText(value, blocks, isChange) {
	if (!value)
		return '0';
	const text = blocks ? countText : bytesText;
	return isChange ? signed(value, text) : text(value);
}

const COLUMNS = [
	{key: 'live', name: 'Live', text: (e) => bytesText(e.live), number: (e) => e.live},
	{key: 'share', name: 'Share', text: (e, sums) => shareText(e.live, sums.live), number: (e) => e.live},
	{key: 'count', name: 'Blocks', text: (e) => countText(e.count), number: (e) => e.count},
	{key: 'growth', name: 'Growth', text: (e, sums, blocks) => amountText(blocks ? e.growthCount : e.growth, blocks, true), number: (e, blocks) => (blocks ? e.growthCount : e.growth), since: true},
	{key: 'peak', name: 'At peak', text: (e, sums, blocks) => amountText(blocks ? e.peakCount : e.peak, blocks), number: (e, blocks) => (blocks ? e.peakCount : e.peak), peak: true},
	{key: 'lost', name: 'Lost', text: (e, sums, blocks) => amountText(blocks ? e.lostCount : e.lost, blocks), number: (e, blocks) => (blocks ? e.lostCount : e.lost), verdict: true},
	{key: 'possible', name: 'Possibly lost', text: (e, sums, blocks) => amountText(blocks ? e.possibleCount : e.possible, blocks), number: (e, blocks) => (blocks ? e.possibleCount : e.possible), verdict: true},
	{key: 'reachable', name: 'Reachable', text: (e, sums, blocks) => amountText(blocks ? e.reachableCount : e.reachable, blocks), number: (e, blocks) => (blocks ? e.reachableCount : e.reachable), verdict: true},
	{key: 'alloc', name: 'Allocated', text: (e) => bytesText(e.alloc), number: (e) => e.alloc},
	{key: 'allocs', name: 'Calls', text: (e) => countText(e.allocs), number: (e) => e.allocs},
	{key: 'oldest', name: 'Oldest', latest: true, text: (e) => (e.row.oldest ? durationText(e.row.oldest) : ''), number: (e) => e.row.oldest},
];

// What a mode is sorted by: blocks have columns of their own where there are both.
const sortKey = (mode, measure) => (measure === 'blocks' ? {live: 'count', alloc: 'allocs'}[mode] ?? mode : mode);

// Where a long name or path may go on in the next line: at its joints, and not within a word.
const jointed = (text) => text.split(/(?<=::|[(,/])/).flatMap((part, i) => (i ? [element('wbr'), part] : [part]));

// The text with what is searched for marked.
function marked(text, term) {
	const parts = [], lower = text.toLowerCase();
	let at = 0;
	for (let next; term && (next = lower.indexOf(term, at)) >= 0; at = next + term.length)
		parts.push(...jointed(text.slice(at, next)), element('mark', {}, text.slice(next, next + term.length)));
	return [...parts, ...jointed(text.slice(at))];
}

function frameLine(frame, term) {
	const line = element('span', {class: 'frame-line', title: frame.function === frame.label ? undefined : frame.function}, ...marked(frame.label, term));
	if (frame.inlined)
		line.append(element('span', {class: 'inlined'}, 'inlined'));
	if (frame.function && frame.offset && frame.offset !== '0' && !frame.inlined)
		line.append(element('span', {class: 'place'}, `+0x${frame.offset}`));
	if (frame.place)
		line.append(element('wbr'), element('span', {class: 'place file'}, ...marked(frame.place, term)));
	if (frame.where)
		line.append(element('wbr'), element('span', {class: 'place module', title: frame.path ?? frame.where}, '(', ...marked(frame.where, term), ')'));
	return line;
}

// "1.2 MiB in 3 blocks definitely lost, …": the classes that have any.
function classesText(verdict) {
	return ['definitely lost', 'indirectly lost', 'possibly lost', 'still reachable'].map((name, i) => ({name, bytes: verdict[2 * i], count: verdict[2 * i + 1]}))
		.filter((c) => c.count).map((c) => `${bytesText(c.bytes)} in ${plural(c.count, 'block')} ${c.name}`).join(', ');
}

function framesList(stack, term) {
	const lines = stack.frames.map((frame) => element('li', {}, frameLine(frame, term)));
	if (stack.end)
		lines.push(element('li', {}, element('span', {class: 'place'}, stack.end.label)));
	return element('ol', {class: 'frames', start: 0}, ...lines);
}

function framesRow(row, term, columns, latest) {
	return element('tr', {class: 'frames'}, element('td', {colspan: columns},
		...(row.verdict && latest ? [element('div', {class: 'classes'}, classesText(row.verdict))] : []),
		...(row.heldBy?.length && latest ? [element('div', {class: 'held-by'}, `held by ${row.heldBy.join(' → ')}`)] : []),
		...(latest ? figureLines(row) : []),
		framesList(row, term),
		element('span', {class: 'soft'}, `stack ${row.id} of ${row.target.name}`)));
}

// Live bytes over the watch.
function spark(row) {
	const values = seriesOf(row)[LIVE], width = 70, height = 18;
	const most = values.reduce((m, v) => Math.max(m, v), 1);
	const svg = d3.create('svg').attr('width', width).attr('height', height).attr('aria-hidden', 'true');
	const line = d3.line((v, i) => 1 + (width - 2) * i / Math.max(1, values.length - 1), (v) => height - 2 - (height - 4) * v / most);
	svg.append('path').attr('d', line(values));
	return svg.node();
}

function tableHead(columns, sort, resort) {
	const heads = columns.map((column) => element('th', {'aria-sort': sort.key === column.key ? (sort.down ? 'descending' : 'ascending') : undefined},
		element('button', {'data-key': column.key, click: () => resort(column.key)},
			column.name + (sort.key === column.key ? (sort.down ? ' ↓' : ' ↑') : ''))));
	byId('table').tHead.replaceChildren(element('tr', {}, element('th', {}, '#'), ...heads, element('th', {}, 'Trend'), element('th', {class: 'site'}, 'Site')));
}

function tableRow(entry, number, columns, view) {
	const {sums, term, latest, blocks} = view;
	const site = siteOf(entry.row);
	const cells = columns.map((c) => element('td', {class: (c.key === 'growth' || c.key === 'lost') && c.number(entry, blocks) > 0 ? 'up' : undefined,
		'data-key': c.key, 'data-label': c.name, 'data-value': c.number(entry, blocks)}, c.text(entry, sums, blocks)));
	const row = element('tr', {class: 'row', 'data-id': entry.row.id}, element('td', {class: 'soft number'}, String(number)), ...cells,
		element('td', {class: 'spark', 'data-label': 'Trend'}, spark(entry.row)), element('td', {class: 'site'}, element('div', {}, frameLine(site, term))));
	row.addEventListener('click', () => toggleRow(row, () => framesRow(entry.row, term, columns.length + 3, latest)));
	row.setAttribute('aria-expanded', 'false');
	return byKeys(row);
}

// view: {entries, sums, term, sort, since, latest, verdict, blocks, most}; resort(key) and more() are called on clicks.
function drawTable(view, resort, more) {
	const columns = COLUMNS.filter((c) => (view.since || !c.since) && (view.latest || !c.latest) && (view.verdict || !c.verdict) && (view.peak || !c.peak));
	const column = COLUMNS.find((c) => c.key === view.sort.key);
	const sorted = [...view.entries].sort((a, b) => (column.number(b, view.blocks) - column.number(a, view.blocks)) * (view.sort.down ? 1 : -1) || b.live - a.live);
	const shown = sorted.slice(0, view.most);
	tableHead(columns, view.sort, resort);
	byId('table').tBodies[0].replaceChildren(...shown.map((entry, i) => tableRow(entry, i + 1, columns, view)));
	byId('more').hidden = shown.length === sorted.length;
	byId('more').firstElementChild.textContent = `${countText(shown.length)} of ${plural(sorted.length, 'stack')}`;
	byId('more').lastElementChild.onclick = more;
}
