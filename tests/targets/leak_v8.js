// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A program for Node that leaks blocks of malloc's, each of another size, from functions of all kinds. It says "ready" and its process, waits for a
// line, and prints as JSON in one line, for each block, its size and the functions that were on the stack, innermost first, as V8 itself sees them, with the
// line of each call; and where the function begins, of those that say so by here(). It ends with its input.
'use strict';

const {Worker, isMainThread, parentPort} = require('worker_threads');
const vm = require('vm');

Error.stackTraceLimit = 200;

const kept = [], truth = [], begins = new Map();
let size = isMainThread ? 20001 : 22001;

// As text it would be changed: names of classes are put before those of methods.
function stack() {
	const before = Error.prepareStackTrace;
	Error.prepareStackTrace = (error, sites) => sites.filter((site) => !site.isAsync()).map((site) => ({
		function: site.getFunctionName(), file: site.getFileName() || null, line: site.getLineNumber()}));
	const holder = {};
	Error.captureStackTrace(holder, stack);
	const sites = holder.stack;
	Error.prepareStackTrace = before;
	return sites;
}

function keep() { const sites = stack(); kept.push(Buffer.allocUnsafeSlow(size)); truth.push({bytes: size, stack: sites}); size += 1; }

// To be called in the line in which its caller begins.
function here() {
	const site = stack()[1];
	begins.set(`${site.file} ${site.function}`, site.line);
}

function declared() { keep(); }
const arrow = () => { keep(); };
const expression = function () { keep(); };
function over() { here();
	const one = 1;

	if (one)
		keep();
}
class Base { constructor() { keep(); } method() { keep(); } static fixed() { keep(); } get value() { keep(); return 1; } #secret() { keep(); } tell() { this.#secret(); } }
class Derived extends Base { constructor() { super(); this.method(); } }
function* generator() { keep(); yield 1; keep(); }
async function waits() { keep(); await null; keep(); }
function deep(n) { if (n) deep(n - 1); else keep(); }
function variables() { here();
	// All of them outlive the call, so that they are in its context: names in it, up to 74 of them.
	const a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10;
	kept.push(() => a + b + c + d + e + f + g + h + i + j);
	keep();
}
const outer = () => { const inner = () => { keep(); }; inner(); };
const object = {method() { keep(); }, 'ü ☃': function () { keep(); }};

function many() { here();
	const names = Array.from({length: 100}, (unused, i) => `v${i}`);
	const text = `(function many_variables(keep, kept) { const ${names.map((n) => `${n} = 1`).join(', ')}; kept.push(() => ${names.join(' + ')}); keep(); })`;
	vm.runInThisContext(text, {filename: 'variables.js'})(keep, kept);
}

// Each is called once and gone: what comes to lie at its address is another one.
function made(rounds) { here();
	for (let i = 0; i < rounds; i++) {
		const text = `${'\n'.repeat(i % 50)}(function made_${i}(keep) { keep(); })`;
		vm.runInThisContext(text, {filename: `made_${i}.js`, lineOffset: i % 7})(keep);
		if (global.gc && i % 20 === 0)
			global.gc();
	}
}

function texts() { here();
	vm.runInThisContext('// ☃\r\n\r\n\r(function wide(keep) { keep(); })', {filename: 'wide.js'})(keep);
	eval('\n\n(function evaluated() { keep(); })')();
	new Function('keep', 'keep()')(keep);
	// Nothing has a name that it could be called by.
	global.keep = keep;
	vm.runInThisContext('keep();', {filename: 'whole.js'});
}

function hot(keeper) { here();

	keeper();
}
// All of these are inlined into the last one.
function inlined() {
	keep();
}
class Inlined { constructor() {
	inlined(); }
}
function inlining() { here();
	const one = 1;

	[one].forEach((n) => {
		new Inlined(); });
	inlined();
}
function fitted(keeper) {
	keeper(); }
function middling() { here();
	fitted(keep);

	if (kept.length)
		fitted(keep);
	[1].forEach(() => {
		keep(); });
}
// It is compiled while it runs.
function loop(rounds) { here();
	let sum = 0;

	for (let i = 0; i <= rounds; i++) {
		sum += i;
		if (i === rounds)
			inlined();
	}
	return sum;
}
function optimised() { here();
	if (!process.execArgv.includes('--allow-natives-syntax'))
		return;
	const natives = (text) => new Function('f', `return %${text}(f)`);

	natives('PrepareFunctionForOptimization')(hot);
	// Of several, so that it takes none for the only one.
	for (let i = 0; i < 9; i++)
		hot(new Function(`return ${i}`));
	natives('OptimizeFunctionOnNextCall')(hot);
	hot(keep);
	if (!natives('ActiveTierIsTurbofan')(hot))
		throw new Error('it is not optimised');
	natives('PrepareFunctionForOptimization')(inlined);
	natives('PrepareFunctionForOptimization')(inlining);
	inlining(); inlining();
	natives('OptimizeFunctionOnNextCall')(inlining);
	inlining(); inlining();
	if (!natives('ActiveTierIsTurbofan')(inlining))
		throw new Error('it is not optimised');
	loop(3000000);
	if (parseInt(process.versions.node, 10) < 24)
		return;
	natives('PrepareFunctionForOptimization')(fitted);
	natives('PrepareFunctionForOptimization')(middling);
	middling(); middling();
	natives('OptimizeMaglevOnNextCall')(middling);
	middling(); middling();
	if (!natives('ActiveTierIsMaglev')(middling))
		throw new Error('it is not compiled by Maglev');
}

function calls() { here();
	declared(); arrow(); expression(); over();
	new Derived(); new Base().method(); Base.fixed(); new Base().value; new Base().tell();
	for (const unused of generator())
		;
	deep(20); variables(); outer(); object.method(); object['ü ☃']();
	[1].forEach(() => { keep(); });
	[2, 1].sort(function order() { keep(); return 0; });
	'x'.replace(/x/, function replacer() { keep(); return ''; });
	Reflect.apply(declared, null, []);
	declared.bind(null)();
	many(); texts(); optimised(); made(Number(process.argv[2] || 30));
}

function done() {
	for (const place of truth) {
		for (const site of place.stack)
			site.begins = begins.get(`${site.file} ${site.function}`) || null;
	}
	return truth;
}

async function handle() { here();
	calls();
	await waits();
	return done();
}

if (isMainThread) {
	console.log(`ready ${process.pid}`);
	process.stdin.once('data', () => {
		const worker = new Worker(__filename);

		worker.on('message', async (theirs) => { console.log(JSON.stringify([...await handle(), ...theirs])); });
	});
	process.stdin.on('end', () => process.exit(0));
} else {
	setImmediate(() => { handle().then((all) => parentPort.postMessage(all)); });
	// Its memory goes with it.
	parentPort.on('message', () => {});
}
