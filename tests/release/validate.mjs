// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// node validate.mjs FOLDER <BOM: is it CycloneDX 1.6, strictly? FOLDER is what fetch has filled. Prints what is wrong, and exits with 1 then.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const { Spec, Validation } = createRequire(path.resolve(process.argv[2], 'package.json'))('@cyclonedx/cyclonedx-library');
const errors = await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(fs.readFileSync(0, 'utf8'));
if (errors !== null) {
	console.log(JSON.stringify(errors, null, 1));
	process.exit(1);
}
console.log('ok');
