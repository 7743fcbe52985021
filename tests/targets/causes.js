// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// As causes.c, of JavaScript. It ends by a signal: at its exit Node frees what it has.
const kept = new Map();
const emitter = new (require('events'))();
emitter.setMaxListeners(0);

function remember(i) {
	kept.set(i, Buffer.alloc(20000)); // cause: map
}

function subscribe() {
	const data = new Uint8Array(20000); // cause: listeners
	emitter.on('tick', () => data.length);
}

// Of a heap that is not traced no line is to be named.
function objects(i) {
	kept.set(i, {i, list: Array.from({length: 50}, () => ({i}))});
}

const work = {map: remember, listeners: subscribe, objects}[process.argv[2]];
for (let i = 0; i < 3000; i++)
	work(i);
process.kill(process.pid, 'SIGKILL');
