// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A worker of tests/soak/services.
const kept = [];

function keep(size) {
	kept.push(Buffer.allocUnsafeSlow(size).fill(1));
}

require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
	let [number, leak] = line.split(' ').map(Number);
	const scratch = Array.from({ length: 50 }, (_, i) => Buffer.allocUnsafeSlow(1000 + i * 100));
	if (leak) keep(leak);
	for (let i = 0; i < 10; i++) number = (number * 48271) % 2147483647;
	console.log(String(number));
});
