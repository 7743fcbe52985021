// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A program for Node that leaks memory of Node's own, outside of V8's heap. It says "ready" and its process, waits for a line, and prints, as JSON in one
// line, how many bytes it has leaked in how many blocks, and the functions on the stack there, innermost first, each with the line in which it begins,
// as the program sees it itself. It ends with its input.
'use strict';

const SIZE = 23456, COUNT = 500;
const kept = [];
const begins = new Map();

// To be called in the line in which its caller begins.
function note() {
	const [, name, line] = /at (\S+) .*:(\d+):\d+\)/.exec(new Error().stack.split('\n')[2]);
	begins.set(name.split('.').pop(), Number(line));
}

class Cart { add(size) { note();
	kept.push(Buffer.allocUnsafeSlow(size));
} }

function sell(cart) { note();
	cart.add(SIZE);
}

function handle() { note();
	const cart = new Cart();
	for (let i = 0; i < COUNT; i++)
		sell(cart);
	console.log(JSON.stringify({bytes: SIZE * COUNT, count: COUNT, file: __filename,
		stack: ['add', 'sell', 'handle'].map((name) => ({function: name, line: begins.get(name)}))}));
}

console.log(`ready ${process.pid}`);
process.stdin.once('data', handle);
process.stdin.on('end', () => process.exit(0));
