// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Makes a page of what a terminal shows, colours and all, to be photographed.
//     tmux capture-pane -e -N -p | node terminal-picture.mjs COLUMNS PAGE.html
import {readFileSync, writeFileSync} from 'node:fs';

const [columns, page] = process.argv.slice(2);
const PALETTE = ['#2b303b', '#e06c75', '#98c379', '#e5c07b', '#61afef', '#c678dd', '#56b6c2', '#c8ccd4',
	'#5c6370', '#e88388', '#a9d18e', '#f0d197', '#7fc1f5', '#d19be5', '#7ccbd5', '#ffffff'];
const INK = '#c8ccd4', PAPER = '#1e222a';
const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// One of 256: 16 of the terminal's own, a cube of 6 by 6 by 6, and greys.
function indexed(number) {
	const step = (part) => (part ? 55 + 40 * part : 0);

	if (number < 16)
		return PALETTE[number];
	if (number >= 232)
		return `rgb(${8 + 10 * (number - 232)} ${8 + 10 * (number - 232)} ${8 + 10 * (number - 232)})`;
	number -= 16;
	return `rgb(${step(Math.floor(number / 36))} ${step(Math.floor(number / 6) % 6)} ${step(number % 6)})`;
}

// "Select graphic rendition": changes what follows.
function render(state, codes) {
	while (codes.length) {
		const code = codes.shift();

		if (code === 0)
			Object.keys(state).forEach((key) => delete state[key]);
		else if (code === 1)
			state.bold = true;
		else if (code === 2)
			state.dim = true;
		else if (code === 7)
			state.reverse = true;
		else if (code === 22)
			state.bold = state.dim = false;
		else if (code === 27)
			state.reverse = false;
		else if (code === 39 || code === 49)
			delete state[code === 39 ? 'ink' : 'paper'];
		else if (code === 38 || code === 48)
			state[code === 38 ? 'ink' : 'paper'] = codes.shift() === 5 ? indexed(codes.shift()) : `rgb(${codes.splice(0, 3).join(' ')})`;
		else if (code >= 30 && code <= 37 || code >= 90 && code <= 97)
			state.ink = PALETTE[code < 40 ? code - 30 : code - 82];
		else if (code >= 40 && code <= 47 || code >= 100 && code <= 107)
			state.paper = PALETTE[code < 50 ? code - 40 : code - 92];
	}
}

function span(state, text) {
	const ink = state.ink ?? INK, paper = state.paper ?? PAPER;
	const style = [`color:${state.reverse ? paper : ink}`, `background:${state.reverse ? ink : paper}`,
		state.bold ? 'font-weight:bold' : '', state.dim ? 'opacity:.65' : ''];

	return text ? `<span style="${style.filter(Boolean).join(';')}">${escape(text)}</span>` : '';
}

const state = {};
const lines = readFileSync(0, 'utf8').replace(/\n$/, '').split('\n').map((line) => {
	const parts = line.split(/\x1b\[([\d;]*)m/);
	let out = '', used = 0;

	parts.forEach((part, i) => {
		if (i % 2) {
			render(state, part.split(';').map(Number));
		} else {
			out += span(state, part);
			used += [...part].length;
		}
	});
	return out + ' '.repeat(Math.max(0, columns - used));
});

writeFileSync(page, `<!doctype html><meta charset="utf-8"><title>top</title>
<style>body{margin:0}pre{display:inline-block;margin:0;padding:16px 20px;background:${PAPER};color:${INK};font:18px/24px "DejaVu Sans Mono",monospace}span{display:inline-block;white-space:pre}</style>
<pre>${lines.join('\n')}</pre>
`);
