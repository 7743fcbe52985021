// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A survey: the memory of every process over time, those that grow first; a click on one that was drilled shows its stacks.
// The data: `time` (ms since the epoch), `processes`: pid, comm, where, rank, trend, leaking, growth (bytes a second), reason,
// ended, `bytes`, anonymous memory and swap at each of the times (null: it was not there), and of one whose blocks were guarded
// `bad_accesses`, as a target has them (model.js), how many more there were (`bad_accesses_left_out`), and how many are suppressed.

const PROCESSES_AT_ONCE = 12;

const PROCESS_COLUMNS = [
	{key: 'now', name: 'Memory', text: (p) => bytesText(p.now), number: (p) => p.now},
	{key: 'growth', name: 'Growth/h', text: (p) => (p.growth === undefined ? '' : signed(p.growth * 3600, bytesText)), number: (p) => p.growth ?? -Infinity},
	{key: 'trend', name: 'Trend', text: (p) => (p.trend === 'growing' ? (p.leaking ? 'leaking' : 'growing') : p.trend ?? 'too early'), number: (p) => -p.rank},
];

function readSurvey(data, survey) {
	for (const process of survey.processes) {
		process.name = `${process.comm} (${process.pid})`;
		const last = process.bytes.findLastIndex((value) => value !== null);
		process.now = last < 0 ? 0 : process.bytes[last];
		process.drilled = data.targets.filter((t) => t.pid === process.pid);
		process.badAccesses = readBad(data, process, process.bad_accesses);
	}
	survey.processes.sort((a, b) => a.ended - b.ended || a.rank - b.rank);
	return survey;
}

function processLines(survey, chosen) {
	const shown = chosen ? [chosen] : survey.processes.filter((p) => p.trend === 'growing').slice(0, PALETTE.length);
	const list = shown.length ? shown : [...survey.processes].sort((a, b) => b.now - a.now).slice(0, PALETTE.length);
	return list.map((p, i) => ({
		name: p.name, color: PALETTE[i], latest: p.now,
		points: p.bytes.map((value, k) => [survey.time[k], value]).filter(([, value]) => value !== null),
	}));
}

function processSpark(process) {
	const width = 110, height = 18, known = process.bytes.filter((v) => v !== null);
	const most = Math.max(1, ...known), least = Math.min(...known) * 0.98;
	const svg = d3.create('svg').attr('width', width).attr('height', height).attr('aria-hidden', 'true');
	const line = d3.line((v, i) => 1 + (width - 2) * i / Math.max(1, process.bytes.length - 1), (v) => height - 2 - (height - 4) * (v - least) / Math.max(1, most - least))
		.defined((v) => v !== null);
	svg.append('path').attr('d', line(process.bytes));
	return svg.node();
}

function drawSurvey(survey, state, choose) {
	const {sort} = state, column = PROCESS_COLUMNS.find((c) => c.key === sort.key);
	const rows = [...survey.processes].filter((p) => !state.term || `${p.name} ${p.where ?? ''}`.toLowerCase().includes(state.term))
		.sort((a, b) => a.ended - b.ended || (column.number(b) - column.number(a)) * (sort.down ? 1 : -1) || a.rank - b.rank);
	const again = (change) => {
		Object.assign(state, change);
		drawSurvey(survey, state, choose);
	};
	const heads = PROCESS_COLUMNS.map((c) => element('th', {}, element('button', {'data-key': c.key,
		click: () => again({sort: {key: c.key, down: sort.key === c.key ? !sort.down : true}})}, c.name + (sort.key === c.key ? (sort.down ? ' ↓' : ' ↑') : ''))));
	const table = byId('processes'), focused = document.activeElement?.dataset.pid;
	table.tHead.replaceChildren(element('tr', {}, element('th', {}, 'PID'), ...heads, element('th', {}, 'Over time'), element('th', {class: 'site'}, 'Process')));
	table.tBodies[0].replaceChildren(...rows.slice(0, state.most).map((p) => byKeys(element('tr',
		{class: `row${p === state.chosen ? ' open' : ''}`, 'data-pid': p.pid, click: () => choose(p === state.chosen ? null : p)},
		element('td', {class: 'soft', 'data-label': 'PID'}, String(p.pid)),
		...PROCESS_COLUMNS.map((c) => element('td', {class: c.key !== 'now' && p.trend === 'growing' ? 'up' : undefined, 'data-key': c.key, 'data-label': c.name,
			'data-value': c.number(p), title: c.key === 'trend' ? p.reason : undefined}, c.text(p))),
		element('td', {class: 'spark', 'data-label': 'Over time'}, processSpark(p)),
		element('td', {class: 'site'}, element('div', {}, p.comm, p.ended ? element('span', {class: 'inlined'}, 'exited') : '',
			p.drilled.length ? element('span', {class: 'inlined'}, 'stacks') : '', p.badAccesses.length ? element('span', {class: 'inlined'}, 'bad accesses') : '', element('span', {class: 'place file'}, p.where ?? '')))))));
	if (focused)
		table.querySelector(`tr.row[data-pid="${focused}"]`)?.focus();
	const more = byId('more-processes');
	more.hidden = rows.length <= state.most;
	more.firstElementChild.textContent = `${countText(Math.min(rows.length, state.most))} of ${plural(rows.length, 'process').replace(/ss$|sss$/, 'sses')}`;
	more.lastElementChild.onclick = () => again({most: state.most + PROCESSES_AT_ONCE});
	byId('find-process').oninput = (event) => again({term: event.target.value.trim().toLowerCase()});
}

function drawSurveyChart(survey, state) {
	const lines = processLines(survey, state.chosen), redraw = () => drawSurveyChart(survey, state);
	const say = (text) => { byId('survey-range').textContent = text || 'anonymous memory and swap'; };
	drawLegend('survey-legend', lines, state.off, redraw);
	drawChart('survey-chart', lines, state.off, null, null, say);
	say('');
}

// What the guarded blocks of the chosen process have shown, or of all.
function drawSurveyBad(survey, chosen) {
	const processes = chosen ? [chosen] : survey.processes;
	const sum = (key) => processes.reduce((total, process) => total + (process[key] ?? 0), 0);
	drawBadList('survey-bad', processes.flatMap((process) => process.badAccesses), sum('suppressed_accesses'), !chosen, sum('bad_accesses_left_out'));
}

// show(targets): the page's stacks are to be those of these targets; none: there are none to show.
function beginSurvey(survey, show) {
	const state = {sort: {key: 'trend', down: true}, most: PROCESSES_AT_ONCE, term: '', chosen: null, off: new Set()};
	const choose = (process) => {
		state.chosen = process;
		drawSurvey(survey, state, choose);
		drawSurveyChart(survey, state);
		drawSurveyBad(survey, process);
		if (process)
			show(process.drilled);
	};
	byId('survey').hidden = false;
	choose(null);
	show(survey.processes.find((p) => p.drilled.length)?.drilled ?? []);
	return () => drawSurveyChart(survey, state);
}
