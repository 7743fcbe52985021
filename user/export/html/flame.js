// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The flame graph: root at the bottom, width is the chosen number. The library is d3-flame-graph.

const FRAME_HEIGHT = 18;

// From where the frames of a stack are put together: from the thread's beginning; from the allocation function, turned round; or from the site, turned round.
const WAYS = [
	{key: 'callers', name: 'Callers first', path: (row) => [row.end, ...[...row.frames].reverse()]},
	{key: 'callees', name: 'Callees first', path: (row) => [...row.frames, row.end]},
	{key: 'sites', name: 'Sites first', path: (row) => [...row.frames.slice(row.site), row.end]},
];

// entries: {row, value}. A node of the tree is a function, whatever the line in it that the call is on.
function flameTree(entries, rootName, way) {
	const make = (frame) => ({name: frame.label + (frame.inlined ? ' [inlined]' : ''), frame, value: 0, byKey: new Map(), children: [], places: new Set()});
	const root = make(mark(rootName)), several = new Set(entries.map(({row}) => row.target)).size > 1;
	for (const {row, value} of entries) {
		const path = several ? [mark(row.target.name)] : [];
		path.push(...way.path(row).filter(Boolean));
		let node = root;
		node.value += value;
		for (const frame of path) {
			let child = node.byKey.get(frame.key);
			if (!child) {
				child = make(frame);
				node.byKey.set(frame.key, child);
				node.children.push(child);
			}
			child.value += value;
			if (frame.place)
				child.places.add(frame.place);
			node = child;
		}
		(node.rows ??= []).push(row);
	}
	return root;
}

// The stacks that go through a node.
function rowsBelow(node) {
	const rows = new Set(), open = [node];
	while (open.length) {
		const at = open.pop();
		for (const row of at.rows ?? [])
			rows.add(row);
		open.push(...at.children);
	}
	return rows;
}

function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ h >>> 15) >>> 0;
}

// Of code that is not native each language has a hue.
const KIND_HUES = {python: 215, javascript: 52, java: 335, go: 185, dotnet: 275, ruby: 355, php: 245, perl: 160, jit: 300, arena: 20};
const kindColor = (kind, light) => `hsl(${KIND_HUES[kind] ?? KIND_HUES.jit} 62% ${light}%)`;

// What the hues mean, where there are any.
function drawKinds(frames) {
	const kinds = [...new Set(frames.map((frame) => frame.kind).filter(Boolean))].sort();
	const entry = (color, text) => element('span', {'data-kind': text}, element('i', {style: `background:${color}`}), text);
	byId('kinds').hidden = !kinds.length;
	byId('kinds').replaceChildren(...kinds.map((kind) => entry(kindColor(kind, 68), kind)), entry('hsl(36 78% 72%)', 'native, a hue for each module'));
}

// One hue per module of native code, one lightness per function: what belongs together looks alike.
function frameColor(node) {
	const {frame} = node.data, dark = document.documentElement.dataset.theme === 'dark';
	if (node.highlight)
		return 'var(--found)';
	if (frame.mark)
		return dark ? '#8b93a1' : '#c9ced8';
	const light = (dark ? 62 : 74) + hash(frame.label) % 11 - (frame.inlined ? -5 : 0);
	if (frame.kind)
		return kindColor(frame.kind, light - 6);
	const hue = hash(frame.module ?? '') % 360, warm = 12 + hue % 48, cold = [175, 205, 265, 120][hue % 4];
	const main = DATA.mainModule === frame.module;
	return `hsl(${main ? warm : cold} ${main ? 78 : 38}% ${light}%)`;
}

function placesText(node) {
	const places = [...node.places];
	if (places.length < 2)
		return places[0] ?? '';
	return `${places[0]} and ${places.length - 1} other ${places.length === 2 ? 'place' : 'places'}`;
}

// {zoom(node), hover(node or null), text(value)} are the page's. Returns what searches: search(term) gives the sum of what matches.
function drawFlame(tree, page) {
	const holder = byId('flame');
	holder.replaceChildren();
	if (!tree.value)
		return {search: () => 0};
	const graph = flamegraph.default().width(Math.max(200, holder.clientWidth - 10)).cellHeight(FRAME_HEIGHT).minFrameSize(1)
		.transitionDuration(matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 250)
		.sort((a, b) => b.value - a.value)
		.setColorMapper(frameColor)
		.setLabelHandler((node) => `${node.data.name} ${page.text(node.data.value)}`)
		.setSearchMatch((node, term) => [node.data.name, node.data.frame.function, node.data.frame.file, node.data.frame.module, node.data.frame.kind].some((text) => text?.toLowerCase().includes(term)))
		.onHover((node) => page.hover(node.data))
		.onClick((node) => page.zoom(node.parent ? node.data : null));
	d3.select(holder).datum(tree).call(graph);
	let found = 0;
	graph.setSearchHandler((results, sum) => { found = sum; });
	holder.onmouseleave = () => page.hover(null);
	return {
		search(term) {
			found = 0;
			if (term)
				graph.search(term);
			else
				graph.clear();
			return found;
		},
		reset: () => graph.resetZoom(),
	};
}
