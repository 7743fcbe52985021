// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Asks Perfetto's trace_processor (fetched by tests/perfetto/fetch) about a trace:
//     node query.mjs DIRECTORY TRACE SQL…
// Prints the rows of each query as one JSON array a line. Exits with 1 when a query or the trace is refused.
//
// The package's bundle is made for a web worker: it is given the few globals of one, the WebAssembly module is handed to it instead
// of being fetched, and its bridge is taken out so that messages can be passed to it.
import {readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {runInThisContext} from 'node:vm';

const [folder, trace, ...queries] = process.argv.slice(2);
if (!queries.length) {
	console.error('usage: node query.mjs DIRECTORY TRACE SQL...');
	process.exit(2);
}
const dir = resolve(folder);

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
Object.defineProperty(globalThis, 'location', {value: {href: pathToFileURL(dir).href + '/'}, configurable: true});
globalThis.traceProcessorWasm = new Uint8Array(readFileSync(join(dir, 'trace_processor.wasm')));

const edits = [
	['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
	['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.traceProcessorWasm,'],
	['const wasmBridge = new wasm_bridge_1.WasmBridge();',
	 'const wasmBridge = new wasm_bridge_1.WasmBridge(); globalThis.traceProcessorBridge = wasmBridge;'],
];
let bundle = readFileSync(join(dir, 'engine_bundle.node.js'), 'utf8');
for (const [from, to] of edits) {
	if (!bundle.includes(from))
		throw new Error(`the bundle has changed: no "${from}"`);
	bundle = bundle.replace(from, to);
}
// Its messages are for a browser's console.
console.warn = () => {};
const print = console.log.bind(console);
console.log = () => {};
runInThisContext(bundle, {filename: 'engine_bundle.js'});

const {EngineBase} = await import(pathToFileURL(join(dir, 'engine.mjs')).href);

class Engine extends EngineBase {
	constructor(port) {
		super();
		this.mode = 'WASM';
		this.id = 'query';
		this.port = port;
		port.onmessage = ({data}) => {
			if (data instanceof Uint8Array)
				this.onRpcResponseBytes(data);
		};
	}

	rpcSendRequestBytes(bytes) {
		this.port.postMessage(bytes);
	}
}

const channel = new MessageChannel();
const ready = globalThis.traceProcessorBridge.initialize(channel.port1);
await ready;
const engine = new Engine(channel.port2);
const plain = (value) => {
	if (typeof value === 'bigint')
		return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
	return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
};

try {
	await engine.parse(new Uint8Array(readFileSync(trace)));
	await engine.notifyEof();
} catch (error) {
	console.error(`${trace}: ${error.message ?? error}`);
	process.exit(1);
}
for (const sql of queries) {
	const answer = await engine.tryQuery(sql);
	const result = answer.ok === false ? null : answer.value ?? answer;
	if (!result || result.error?.()) {
		console.error(`${sql}: ${result ? result.error() : answer.error?.message ?? answer.error}`);
		process.exit(1);
	}
	const columns = result.columns();
	const rows = [];
	for (const it = result.iter({}); it.valid(); it.next())
		rows.push(Object.fromEntries(columns.map((name) => [name, plain(it.get(name))])));
	print(JSON.stringify(rows));
}
process.exit(0);
