// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// runtimes.js ADDON LIBPYTHON LIBJVM: JavaScript, Python and Java in one process, each called by another (runtimes.py). When it has done so once it says
// "ready" and its process, and for each line that it reads "done" when it has done so again.
'use strict';

const addon = {exports: {}};
const [, , path, libpython, libjvm] = process.argv;

function leaf(size) { addon.exports.keep(size); }
const called = (size) => { leaf(size); };
function rules() {
	addon.exports.python(libpython, `
import sys, runpy
sys.argv = ['runtimes.py', '${path}', '${libjvm}']
runpy.run_path('${__dirname}/runtimes.py', run_name='__main__')
`, called);
}

process.dlopen(addon, path);
rules();
console.log(`ready ${process.pid}`);
process.stdin.on('data', () => { rules(); console.log('done'); });
process.stdin.on('end', () => process.exit(0));
