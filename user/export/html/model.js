// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the page's data means. user/export/html_write.c writes it:
//   strings   names, by number; 0: none
//   frames    [function, module, module's path, file, line, inlined, offset in hexadecimal, kind ("" or left out: native),
//             the function's name for people, where it is another], by number from 1
//   stacks    numbers of frames, innermost first, by number from 1
//   sites     of each stack: which of its frames stands for it (frames_site()); 0: none but the first is known
//   ends      why a walk up the stack ended, as a frame that stands for the callers; "" for complete
//   targets   each with totals at `time` (ms since the epoch): live, count, alloc, allocs, rss, anon (null: unknown);
//             `moments`, the times of which every stack's values are kept, and `rows`:
//             [stack id, stack, end (-1: not recorded), ms of its oldest block or 0,
//              [moments until it changes, live bytes +-, blocks +-, allocated bytes +, allocations +, …],
//              and where there is a verdict bytes and blocks that are definitely lost, indirectly, possibly, still reachable,
//              and what holds a reachable one, from the root on];
//             `verdict` where it was asked for: refused, or pause (ms), approximate, unknown, unread (bytes);
//             `bad_frees`, `bad_accesses`, where there are any: [what it is, [[what the call did, stack, end as above], …]];
//             `suppressed_frees`: how many suppressions hide;
//             `scopes`, where there are any: [function, tag, has it one, calls, open, left without a return, seen to return, ns in sum, at most,
//             bytes and blocks allocated, kept at return, live, live in no scope inside, [from ns, calls, …], [kept from, to, calls, …], different tags of what is no tag of its own or 0];
//             `figures`: what else is known of a row, by its number: scope, lifetimes, outlived (ns, bytes, blocks), temporary, sizes [bytes, blocks, …]
//             (of powers of two: where `powers` says so), usable (bytes set aside, blocks, bytes asked for), peak (bytes, blocks, most bytes); `peak`: bytes, ms since the epoch, bytes that the rows' add up to;
//             `findings`: [kind, sentence], …: what is said of its end;
//             `left_out`: bytes, blocks and stacks that are live at the end and not among the rows

const LIVE = 0, COUNT = 1, ALLOC = 2, ALLOCS = 3;

function readFrame(data, raw) {
	const [fn, module, path, file, line, inlined, offset, kind, short] = raw;
	const name = (number) => (number ? data.strings[number] : undefined);
	const frame = {
		function: name(fn), module: name(module), path: name(path), file: name(file), line, inlined: !!inlined, offset, kind: kind || undefined,
	};
	/* An object with code; else the module is a script. */
	frame.inObject = !kind || kind === 'go';
	frame.where = [frame.inObject ? frame.module : undefined, kind].filter(Boolean).join(', ');
	frame.label = short ?? frame.function ?? (frame.module ? (frame.inObject ? `${frame.module}+0x${offset}` : frame.module) : `0x${offset}`);
	frame.place = frame.file ? frame.file + (line ? `:${line}` : '') : '';
	// Scripts of one name in different directories are different ones.
	frame.key = `${frame.function ?? frame.label}\0${(frame.inObject ? frame.module : frame.path) ?? ''}\0${frame.inlined}`;
	return frame;
}

const mark = (label) => ({label, place: '', key: label, mark: true});

function readStack(data, stack, end) {
	const label = end < 0 ? data.unknown : data.ends[end];
	return {frames: stack ? data.stacks[stack].map((frame) => data.frames[frame]) : [], site: data.sites[stack], end: label ? mark(label) : undefined};
}

// The values of a row at each of its target's moments; made when they are first asked for.
function seriesOf(row) {
	if (row.series)
		return row.series;
	const n = row.target.moments.length, changes = row.changes;
	const series = [0, 1, 2, 3].map(() => new Float64Array(n));
	const now = [0, 0, 0, 0];
	let at = 0;
	const fill = (until) => {
		for (; at < until; at++)
			now.forEach((value, k) => { series[k][at] = value; });
	};
	for (let i = 0, moment = 0; i < changes.length; i += 5) {
		moment += changes[i];
		fill(moment);
		for (let k = 0; k < 4; k++)
			now[k] += changes[i + 1 + k];
	}
	fill(n);
	row.series = series;
	return series;
}

// Of a target, or of a process of a survey.
function readBad(data, target, list) {
	return (list ?? []).map(([title, calls]) =>
		({target, title, calls: calls.map(([name, stack, end]) => ({name, ...readStack(data, stack, end)}))}));
}

function readTarget(data, raw, number) {
	const target = {...raw, number, name: `${raw.comm} (${raw.pid})`};
	/* A process may have had probes for several windows of a survey. */
	if (raw.window)
		target.name += ` ${timeText(raw.moments.at(-1), false)}`;
	target.rows = raw.rows.map(([id, stack, end, oldest, changes, verdict, heldBy]) =>
		({target, id, ...readStack(data, stack, end), oldest, changes, verdict, heldBy}));
	target.scopes = raw.scopes?.map(readScope);
	for (const figures of raw.figures ?? [])
		target.rows[figures.row].figures = figures;
	target.badFrees = readBad(data, target, raw.bad_frees);
	target.badAccesses = readBad(data, target, raw.bad_accesses);
	target.judged = target.rows.some((row) => row.verdict);
	target.first = target.moments[0];
	target.last = target.moments[target.moments.length - 1];
	return target;
}

function readData(text) {
	const data = JSON.parse(text);
	data.frames = data.frames.map((raw) => raw && readFrame(data, raw));
	data.targets = data.targets.map((raw, number) => readTarget(data, raw, number));
	if (data.survey)
		data.survey = readSurvey(data, data.survey);
	return data;
}

// The last of the ascending times that is not after `time`; -1: all are.
function lastUntil(times, time) {
	let low = 0, high = times.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

// What the stacks of some targets have at the time `to`, and since `from`. Of a program that has become another one nothing is left.
function valuesBetween(targets, from, to) {
	const list = [];
	for (const target of targets) {
		if (target.execed && targets.length > 1)
			continue;
		const end = lastUntil(target.moments, to), begin = lastUntil(target.moments, from);
		for (const row of target.rows) {
			const s = seriesOf(row);
			const at = (k, i) => (i < 0 ? 0 : s[k][i]);
			/* A verdict is of the last snapshot. */
			const last = end === target.moments.length - 1;
			const v = row.verdict && last ? row.verdict : [0, 0, 0, 0, 0, 0, 0, 0];
			list.push({
				row,
				live: at(LIVE, end), count: at(COUNT, end), alloc: at(ALLOC, end), allocs: at(ALLOCS, end),
				peak: last && row.figures?.peak ? row.figures.peak[0] : 0, peakCount: last && row.figures?.peak ? row.figures.peak[1] : 0,
				definite: v[0], indirect: v[2], lost: v[0] + v[2], lostCount: v[1] + v[3],
				possible: v[4], possibleCount: v[5], reachable: v[6], reachableCount: v[7],
				growth: at(LIVE, end) - at(LIVE, begin), growthCount: at(COUNT, end) - at(COUNT, begin),
			});
		}
	}
	return list;
}

// The frame that stands for the stack, as in every output; where none has a name, the allocation function's caller.
function siteOf(row) {
	const {frames} = row;
	if (!frames.length)
		return row.end ?? mark(DATA.unknown);
	return frames[row.site || Math.min(1, frames.length - 1)];
}

const matches = (row, term) =>
	[row.target.name, ...row.frames.flatMap((f) => [f.label, f.function, f.file, f.module, f.path, f.kind])].some((text) => text?.toLowerCase().includes(term));
