// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Numbers and times for people, and elements whose text is text whatever it holds.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function bytesText(bytes) {
	let value = Math.abs(bytes), unit = 0;
	while (value >= 1024 && unit + 1 < UNITS.length) {
		value /= 1024;
		unit++;
	}
	const digits = unit && value < 1000 ? value.toFixed(1) : String(Math.round(value));
	return `${bytes < 0 ? '−' : ''}${digits} ${UNITS[unit]}`;
}

const countText = (count) => `${count < 0 ? '−' : ''}${Math.abs(count).toLocaleString('en-US')}`;
const signed = (value, text) => (value > 0 ? '+' : '') + text(value);
const shareText = (part, whole) => (whole ? `${(100 * part / whole).toFixed(1)} %` : '');
const plural = (count, word) => `${countText(count)} ${word}${count === 1 ? '' : 's'}`;

function durationText(ms) {
	const s = ms / 1000;
	if (s < 60)
		return `${s.toFixed(s < 10 ? 1 : 0)} s`;
	const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
	const at = units.findIndex(([size]) => s >= size);
	const [size, name] = units[at], [smaller, other] = units[at + 1];
	const rest = Math.floor((s % size) / smaller);
	return `${Math.floor(s / size)} ${name}${rest ? ` ${rest} ${other}` : ''}`;
}

function timeText(ms, withDate) {
	const iso = new Date(ms - new Date(ms).getTimezoneOffset() * 60000).toISOString();
	return withDate ? iso.slice(0, 19).replace('T', ' ') : iso.slice(11, 19);
}

const byId = (id) => document.getElementById(id);

// element('td', {class: 'up'}, 'text', otherElement…): text is never read as HTML.
function element(name, attributes, ...content) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes ?? {})) {
		if (typeof value === 'function')
			made.addEventListener(key, value);
		else if (value !== undefined && value !== false)
			made.setAttribute(key, value === true ? '' : value);
	}
	made.append(...content);
	return made;
}

// A table's row that a click opens can be reached by Tab, is opened by Enter or the space bar, and the arrows go to the next one.
function byKeys(row) {
	row.tabIndex = 0;
	row.addEventListener('keydown', (event) => {
		const sides = {ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling'}, side = sides[event.key];
		if (event.target !== row || event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (event.key === 'Enter' || event.key === ' ') {
			row.click();
		} else if (side) {
			let other = row[side];
			while (other && !other.classList.contains('row'))
				other = other[side];
			other?.focus();
		} else {
			return;
		}
		event.preventDefault();
	});
	return row;
}

// Opens a row, or closes it: what it opens to is the row below it.
function toggleRow(row, details) {
	const open = row.classList.toggle('open');
	row.setAttribute('aria-expanded', String(open));
	if (open)
		row.after(details());
	else
		row.nextSibling.remove();
}
