// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Totals over time. Dragging chooses the time that the rest of the page is about.

const MARGIN = {top: 8, right: 30, bottom: 24, left: 70};
const CHART_HEIGHT = 210;
const LABEL_WIDTH = 76; // of "12:34:56", and what is free beside it
const PALETTE = ['#c2410c', '#2563a8', '#15803d', '#a21caf', '#b45309', '#0e7490', '#be123c', '#4d7c0f'];

// The lines to draw: of one target live bytes and what the kernel says of it, of several the live bytes of each of the largest.
function linesOf(targets) {
	const line = (name, color, target, key) => ({
		name, color, points: target.time.map((time, i) => [time, target[key][i]]).filter(([, value]) => value !== null), latest: target[key].at(-1),
	});
	if (targets.length === 1) {
		const [target] = targets;
		return [['live', 'live', 'var(--live)'], ['anonymous memory', 'anon', 'var(--anon)'], ['resident memory', 'rss', 'var(--rss)']]
			.filter(([, key]) => target[key].some((value) => value !== null))
			.map(([name, key, color]) => line(name, color, target, key));
	}
	return targets.map((t) => line(t.name, '', t, 'live')).sort((a, b) => b.latest - a.latest).slice(0, PALETTE.length)
		.map((l, i) => ({...l, color: PALETTE[i]}));
}

// Steps of 1, 2 and 5 do not suit units of 1,024.
function bytesTicks(most) {
	let step = 1;
	while (most / step > 5)
		step *= 2;
	const ticks = [];
	for (let at = 0; at <= most; at += step)
		ticks.push(at);
	return ticks;
}

function drawAxes(svg, x, y, width, most) {
	const inner = CHART_HEIGHT - MARGIN.bottom;
	const day = 86400000, [first, last] = x.domain();
	const text = (t) => timeText(+t, false).slice(0, last - first > day ? 5 : 8);
	/* Of a short watch there would be several ticks a second. No label touches the one before it. */
	let end = -Infinity;
	const ticks = x.ticks(Math.max(2, Math.floor(width / 120))).filter((t) => {
		const apart = t % 1000 === 0 && x(t) - end >= LABEL_WIDTH;
		if (apart)
			end = x(t);
		return apart;
	});
	svg.append('g').attr('transform', `translate(0,${inner})`)
		.call(d3.axisBottom(x).tickValues(ticks).tickFormat(text).tickSizeOuter(0));
	svg.append('g').attr('class', 'grid').attr('transform', `translate(${MARGIN.left},0)`)
		.call(d3.axisLeft(y).tickValues(bytesTicks(most)).tickFormat(bytesText).tickSize(-(width - MARGIN.left - MARGIN.right)))
		.call((g) => g.select('.domain').remove());
}

// Follows the mouse: the values at the time below it.
function addCursor(svg, x, lines, say) {
	const cursor = svg.append('line').attr('class', 'cursor').attr('y1', MARGIN.top).attr('y2', CHART_HEIGHT - MARGIN.bottom).attr('visibility', 'hidden');
	svg.on('mousemove', (event) => {
		const time = +x.invert(d3.pointer(event, svg.node())[0]);
		const texts = lines.flatMap((line) => {
			const at = lastUntil(line.points.map(([t]) => t), time);
			return at < 0 ? [] : [`${line.name} ${bytesText(line.points[at][1])}`];
		});
		if (!texts.length)
			return;
		cursor.attr('x1', x(time)).attr('x2', x(time)).attr('visibility', null);
		say(`${timeText(time, true)}: ${texts.slice(0, 4).join(', ')}`);
	}).on('mouseleave', () => {
		cursor.attr('visibility', 'hidden');
		say('');
	});
}

function drawLegend(id, lines, off, redraw) {
	byId(id).replaceChildren(...lines.map((line) => element('button', {
		'aria-pressed': String(!off.has(line.name)),
		click: () => {
			if (!off.delete(line.name))
				off.add(line.name);
			redraw();
		},
	}, element('i', {style: `background:${line.color}`}), line.name)));
}

// chosen: {from, to}, times; choose(from, to) is called when it is to be another, with null for the whole time; null: no time is chosen.
function drawChart(id, lines, off, chosen, choose, say) {
	const holder = byId(id), width = Math.max(240, holder.clientWidth);
	const shown = lines.filter((line) => !off.has(line.name) && line.points.length);
	holder.replaceChildren();
	if (!shown.length)
		return;
	const times = lines.flatMap((line) => [line.points[0]?.[0], line.points.at(-1)?.[0]]).filter((t) => t !== undefined);
	const first = Math.min(...times), last = Math.max(...times);
	const most = Math.max(1, ...shown.map((line) => line.points.reduce((m, [, v]) => Math.max(m, v), 0)));
	const x = d3.scaleTime([first, Math.max(last, first + 1)], [MARGIN.left, width - MARGIN.right]);
	const y = d3.scaleLinear([0, most * 1.05], [CHART_HEIGHT - MARGIN.bottom, MARGIN.top]);
	const svg = d3.select(holder).append('svg').attr('viewBox', `0 0 ${width} ${CHART_HEIGHT}`).attr('height', CHART_HEIGHT);
	drawAxes(svg, x, y, width, most * 1.05);
	for (const line of shown) {
		svg.append('path').attr('class', 'series').style('stroke', line.color)
			.attr('d', d3.line(([t]) => x(t), ([, v]) => y(v))(line.points));
		if (line.points.length === 1)
			svg.append('circle').attr('r', 3).style('fill', line.color).attr('cx', x(line.points[0][0])).attr('cy', y(line.points[0][1]));
	}
	addCursor(svg, x, shown, say);
	if (first === last || !choose)
		return;
	const brush = d3.brushX().extent([[MARGIN.left, MARGIN.top], [width - MARGIN.right, CHART_HEIGHT - MARGIN.bottom]])
		.on('end', (event) => {
			if (event.sourceEvent)
				choose(...(event.selection ? event.selection.map((at) => +x.invert(at)) : [null, null]));
		});
	const layer = svg.append('g').attr('class', 'brush').call(brush);
	if (chosen.from > first || chosen.to < last)
		layer.call(brush.move, [x(Math.max(first, chosen.from)), x(chosen.to)]);
}
