// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// node validate.mjs DIRECTORY: checks the objects of standard input, one JSON text a line, by Kubernetes' schemas (tests/kubernetes/fetch DIRECTORY). Prints
// "KIND ok" or "KIND: what is wrong" for each; exits with 1 if anything is.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createInterface } from 'node:readline';

const models = (apiVersion) => resolve(process.argv[2], 'node_modules',
	apiVersion.startsWith('monitoring.coreos.com/') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models');

for await (const line of createInterface({ input: process.stdin })) {
	const object = JSON.parse(line);
	try {
		const { [object.kind]: Model } = await import(pathToFileURL(`${models(object.apiVersion)}/${object.apiVersion}/${object.kind}.js`));
		new Model(object).validate();
		console.log(`${object.kind} ok`);
	} catch (error) {
		console.log(`${object.kind}: ${error.message}`);
		process.exitCode = 1;
	}
}
