// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Opens a page of -f html in Chromium and does what it is told:
//     node look.mjs DIRECTORY PAGE STEP…
// DIRECTORY is where tests/html/fetch has put the driver. Steps:
//     click SELECTOR · type SELECTOR TEXT · choose SELECTOR VALUE (of a <select>) · drag SELECTOR FROM TO (parts of its width) · dark · ground (dark or light)
//     press SELECTOR KEY · focused (prints the id of the row that has the focus) · apart SELECTOR (prints "apart" if none touches another) · alike SELECTOR (prints "alike" if all have one width)
//     display SELECTOR (prints how it is laid out) · whole SELECTOR (prints "whole" if each is on one line) · inside SELECTOR (prints "inside" if it is within the window)
//     size WIDTH HEIGHT · fits (prints "fits", or what is wider than the window)
//     value SELECTOR (prints data-value) · text SELECTOR · count SELECTOR · shot FILE [SELECTOR]
// each of them one argument, "|" between its parts. Prints one line per question. Exits with 1 when the page has an error, loads
// anything, is kept from something by its own policy, or opens a dialog.
import {existsSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, file, ...steps] = process.argv.slice(2);
const {chromium} = await import(pathToFileURL(join(resolve(folder), 'package', 'index.mjs')).href);
const browser = await chromium.launch({
	executablePath: ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync),
	args: ['--no-sandbox'],
});
const page = await browser.newPage({viewport: {width: 1400, height: 1000}, colorScheme: 'light', reducedMotion: 'reduce'});
// For whatever it is asked: beside others it has what they leave.
page.setDefaultTimeout(120000);
const address = pathToFileURL(resolve(file)).href;
const complaints = [];
page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
page.on('console', (message) => {
	if (message.type() === 'error' || message.type() === 'warning')
		complaints.push(`console: ${message.text()}`);
});
page.on('request', (request) => {
	if (request.url() !== address)
		complaints.push(`it loads ${request.url()}`);
});
page.on('dialog', (dialog) => {
	complaints.push(`dialog: ${dialog.message()}`);
	dialog.dismiss();
});

async function drag(selector, from, to) {
	const box = await page.locator(selector).boundingBox();
	const y = box.y + box.height / 2;
	await page.mouse.move(box.x + box.width * from, y);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * to, y, {steps: 4});
	await page.mouse.up();
}

// In the page: does it scroll sideways, and because of what?
function tooWide() {
	const {scrollWidth} = document.documentElement;
	if (scrollWidth <= innerWidth)
		return 'fits';
	const wide = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5);
	return `${scrollWidth} > ${innerWidth}: ${wide.slice(-3).map((e) => `${e.tagName}#${e.id}.${e.getAttribute('class') ?? ''}`).join(' ')}`;
}

// In the page: the flame graph moves into its place, however short that is to take, and a picture is of what stands.
async function settled() {
	const drawn = () => document.querySelector('#flame')?.innerHTML;
	for (let last = drawn(), same = 0; same < 3;) {
		await new Promise(requestAnimationFrame);
		const now = drawn();
		same = now === last ? same + 1 : 0;
		last = now;
	}
}

const actions = {
	click: (selector) => page.locator(selector).first().click(),
	press: (selector, key) => page.locator(selector).first().press(key),
	// What has the focus.
	focused: async () => console.log(await page.evaluate(() => document.activeElement?.dataset.id ?? document.activeElement?.tagName)),
	// Of those beside each other: is there room between them? Of all: are they as wide as each other?
	apart: async (selector) => console.log(await page.locator(selector).evaluateAll((all) => {
		const boxes = all.map((e) => e.getBoundingClientRect()).sort((a, b) => a.left - b.left);
		const touching = boxes.filter((box, i) => i && boxes[i - 1].right + 4 > box.left);
		return !all.length ? 'none' : touching.length ? `${touching.length} of ${all.length} touch` : 'apart';
	})),
	alike: async (selector) => console.log(await page.locator(selector).evaluateAll((all) => {
		const widths = [...new Set(all.map((e) => Math.round(e.getBoundingClientRect().width)))];
		return widths.length === 1 ? 'alike' : widths.join(' ');
	})),
	type: (selector, text) => page.locator(selector).fill(text),
	choose: (selector, value) => page.locator(selector).selectOption(value),
	drag: (selector, from, to) => drag(selector, +from, +to),
	// Until the page has heard of it, and been laid out again: events come before the frame's callbacks.
	size: (width, height) => page.setViewportSize({width: +width, height: +height})
		.then(() => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))),
	fits: async () => console.log(await page.evaluate(tooWide)),
	display: async (selector) => console.log(await page.locator(selector).first().evaluate((e) => getComputedStyle(e).display)),
	inside: async (selector) => console.log(await page.locator(selector).first().evaluate((e) => {
		const box = e.getBoundingClientRect();
		return box.left >= 0 && box.right <= innerWidth ? 'inside' : `${box.left} to ${box.right}`;
	})),
	// Each of them on one line?
	whole: async (selector) => console.log(await page.locator(selector).evaluateAll((all) => {
		const broken = all.filter((e) => e.getClientRects().length !== 1);
		return !all.length ? 'none' : broken.length ? `broken in ${broken[0].getClientRects().length}, ${broken.length} of ${all.length}: ${broken[0].textContent}` : 'whole';
	})),
	// What the page stands on.
	ground: async () => console.log(await page.evaluate(() => {
		const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number);
		return r + g + b < 3 * 64 ? 'dark' : r + g + b > 3 * 192 ? 'light' : `${r} ${g} ${b}`;
	})),
	dark: () => page.emulateMedia({colorScheme: 'dark'}).then(() => page.reload()),
	value: async (selector) => console.log(await page.locator(selector).first().getAttribute('data-value')),
	text: async (selector) => console.log((await page.locator(selector).first().textContent()).replace(/\s+/g, ' ').trim()),
	count: async (selector) => console.log(await page.locator(selector).count()),
	shot: async (path, selector) => {
		await page.evaluate(settled);
		await (selector ? page.locator(selector) : page).screenshot({path});
	},
};

try {
	await page.goto(address);
	for (const step of steps) {
		const [action, ...rest] = step.split('|');
		await actions[action](...rest);
	}
} catch (error) {
	complaints.push(error.message);
}
await browser.close();
for (const complaint of complaints)
	console.error(complaint);
process.exit(complaints.length ? 1 : 0);
