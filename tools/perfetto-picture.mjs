// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Draws what trace_processor answers about a trace of -f perfetto: its counter tracks over time, and the heap profile's unreleased
// bytes as an icicle, root on top, as ui.perfetto.dev has them.
//     node perfetto-picture.mjs DIRECTORY TRACE PAGE.html       (DIRECTORY: of tests/perfetto/fetch)
import {execFileSync} from 'node:child_process';
import {writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const [folder, trace, page] = process.argv.slice(2);
const query = join(dirname(fileURLToPath(import.meta.url)), '..', 'tests', 'perfetto', 'query.mjs');
const [processes, counters, sums, callsites] = execFileSync('node', [query, folder, trace,
	'select pid, name from process where pid != 0',
	'select c.ts, t.name, c.value from counter c join process_counter_track t on t.id = c.track_id order by c.ts',
	'select callsite_id as id, sum(size) as size from heap_profile_allocation group by callsite_id',
	`select c.id, c.parent_id as parent, c.depth, f.name, s.source_file as file, s.line_number as line from stack_profile_callsite c
		join stack_profile_frame f on f.id = c.frame_id left join stack_profile_symbol s using (symbol_set_id)`,
], {maxBuffer: 1 << 28}).toString().trim().split('\n').map((line) => JSON.parse(line));

const WIDTH = 1360, LEFT = 190, ROW = 56, FRAME = 19;
const escape = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const size = (bytes) => (bytes >= 1048576 ? `${(bytes / 1048576).toFixed(1)} MiB` : bytes >= 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${bytes}`);
const out = [];

const names = ['live bytes', 'live blocks', 'allocation rate', 'anonymous memory', 'RSS'];
const first = Math.min(...counters.map((c) => c.ts)), last = Math.max(...counters.map((c) => c.ts));
const x = (ts) => LEFT + (WIDTH - LEFT - 10) * (ts - first) / (last - first);
names.forEach((name, row) => {
	const values = counters.filter((c) => c.name === name), most = Math.max(1, ...values.map((c) => c.value)), top = 40 + row * ROW;
	const y = (value) => top + ROW - 8 - (ROW - 16) * value / most;
	/* A counter keeps its value until the next one, as Perfetto draws it. */
	let path = `M${x(values[0].ts)},${top + ROW - 8}`;
	values.forEach((c, i) => { path += `V${y(c.value)}H${x(values[i + 1]?.ts ?? last)}`; });
	out.push(`<rect x="0" y="${top}" width="${WIDTH}" height="${ROW - 1}" fill="${row % 2 ? '#fff' : '#f7f8fa'}"/>`,
		`<text x="10" y="${top + 32}">${name}</text><path d="${path}V${top + ROW - 8}Z" fill="hsl(${200 + row * 35} 55% 72%)" stroke="hsl(${200 + row * 35} 50% 45%)"/>`,
		`<text x="${LEFT + 6}" y="${top + 16}" class="soft">${name.startsWith('live bl') ? most.toLocaleString('en-US') : size(most) + (name.includes('rate') ? '/s' : '')}</text>`);
});
const dumps = [...new Set(counters.filter((c) => c.name === 'live bytes').map((c) => c.ts))].slice(1);
const below = 40 + names.length * ROW;
out.push(`<text x="10" y="${below + 22}">Native heap profile</text>`, ...dumps.map((ts) => `<path d="M${x(ts) - 6},${below + 18}l6,-9l6,9l-6,9z" fill="#3b6ea8"/>`));

const sites = new Map(callsites.map((c) => [c.id, {...c, total: 0, children: []}]));
for (const {id, size: bytes} of sums) {
	for (let site = sites.get(id); site; site = sites.get(site.parent))
		site.total += bytes;
}
const roots = [];
for (const site of sites.values())
	(sites.get(site.parent)?.children ?? roots).push(site);
const whole = roots.reduce((sum, r) => sum + r.total, 0), flame = below + 66;
let deepest = 0;

function draw(list, from, depth) {
	for (const site of list.sort((a, b) => b.total - a.total)) {
		const wide = (WIDTH - 20) * site.total / whole;
		if (wide < 1.5)
			continue;
		deepest = Math.max(deepest, depth);
		const hue = 20 + [...site.name].reduce((h, c) => (h * 31 + c.charCodeAt(0)) % 340, 7);
		const place = site.file ? `  ${site.file}:${site.line}` : '';
		out.push(`<rect x="${from}" y="${flame + depth * FRAME}" width="${wide - 0.6}" height="${FRAME - 1}" fill="hsl(${hue} 48% 78%)"/>`);
		if (wide > 40)
			out.push(`<svg x="${from}" y="${flame + depth * FRAME}" width="${wide - 4}" height="${FRAME}"><text x="4" y="13.5" class="frame">${escape(site.name)}${escape(place)}  ${size(site.total)}</text></svg>`);
		draw(site.children, from, depth + 1);
		from += wide;
	}
}
draw(roots, 10, 0);
const {pid, name} = processes[0];
writeFileSync(page, `<!doctype html><meta charset="utf-8"><title>trace</title><style>
body { margin: 20px; font: 13px system-ui, "DejaVu Sans", sans-serif; } .soft { fill: #667085; font-size: 11px; } .frame { font: 11.5px "DejaVu Sans Mono", monospace; }
b, text.head { font-weight: 600; }</style>
<svg width="${WIDTH}" height="${flame + (deepest + 1) * FRAME + 10}"><text x="10" y="22" class="head">${escape(name)} ${pid}: counter tracks and heap profile, as trace_processor reads them</text>
${out.join('\n')}<text x="10" y="${below + 54}" class="head">Unreleased Malloc Size: ${size(whole)}</text></svg>`);
