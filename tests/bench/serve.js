// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// As tests/bench/serve.py, in JavaScript: what it answers is a Buffer, whose memory is malloc's.
const server = require('http').createServer((request, response) => {
	const rows = [];

	for (let i = 0; i < 10; i++)
		rows.push({ id: i, name: `${i}`.repeat(600) });
	const body = Buffer.from(JSON.stringify({ path: request.url, rows }));
	response.setHeader('Content-Length', body.length);
	response.end(body);
});

server.listen(0, '127.0.0.1', () => console.log('ready', server.address().port, process.pid));
