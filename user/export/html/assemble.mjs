// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Makes the page of -f html, which is whole but for its data, and a C header of it:
//     node assemble.mjs MODULES HEADER
// MODULES is the node_modules folder with what package.json names. Everything goes into the one page: the libraries, each after
// those it needs, our own scripts, the style, and the licences. The policy in the page's head lets nothing else run and nothing
// be loaded.
import {createHash} from 'node:crypto';
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [modules, header] = process.argv.slice(2);
const own = (name) => readFileSync(join(here, name), 'utf8');

// The build for <script>, where a package does not say which file that is.
const builds = {'d3-flame-graph': 'dist/d3-flamegraph.umd.min.js'};
const scripts = ['format.js', 'model.js', 'chart.js', 'flame.js', 'table.js', 'badfrees.js', 'scopes.js', 'survey.js', 'page.js'];

const libraries = [];
const seen = new Set();

function take(name) {
	if (seen.has(name))
		return;
	seen.add(name);
	const folder = join(modules, name);
	const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
	for (const needed of Object.keys(about.dependencies ?? {}))
		take(needed);
	const licence = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((file) => join(folder, file)).find(existsSync);
	if (!licence)
		throw new Error(`${name}: no licence file`);
	libraries.push({
		name: `${about.name} ${about.version} (${about.license})`,
		code: readFileSync(join(folder, builds[name] ?? about.unpkg), 'utf8').replace(/\n\/\/# sourceMappingURL=.*/, ''),
		licence: readFileSync(licence, 'utf8').trim(),
	});
}

for (const name of Object.keys(JSON.parse(own('package.json')).dependencies))
	take(name);

const script = [...libraries.map((l) => l.code), '"use strict";', ...scripts.map(own)].join('\n');
if (/<\/script|<!--/i.test(script))
	throw new Error('a script would end its element');
const digest = createHash('sha256').update(script).digest('base64');
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

// Libraries under one text are named together.
const licences = new Map();
for (const l of libraries)
	licences.set(l.licence, [...(licences.get(l.licence) ?? []), l.name]);
const licenceText = [...licences].map(([text, names]) => `${names.join(', ')}\n\n${text}`).join('\n\n\n');

const parts = {
	POLICY: `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${digest}'`,
	STYLE: own('page.css'),
	SCRIPT: script,
	LICENCES: escaped(licenceText),
};
const page = own('page.html').replace(/@([A-Z]+)@/g, (mark, name) => (name === 'DATA' ? mark : parts[name]));
const [head, tail, more] = page.split('@DATA@');
if (tail === undefined || more !== undefined)
	throw new Error('page.html: one @DATA@ is wanted');

// Octal escapes end after three digits, whatever follows; hexadecimal ones would not.
function literal(text) {
	const bytes = Buffer.from(text, 'utf8');
	const lines = [];
	for (let at = 0; at < bytes.length; at += 96) {
		let line = '';
		for (const byte of bytes.subarray(at, at + 96)) {
			const plain = byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f;
			line += plain ? String.fromCharCode(byte) : '\\' + byte.toString(8).padStart(3, '0');
		}
		lines.push(`\t"${line}"`);
	}
	return lines.join('\n');
}

writeFileSync(header, `/* Made by user/export/html/assemble.mjs. */
static const char html_page_head[] =
${literal(head)};
static const char html_page_tail[] =
${literal(tail)};
`);
