// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Plugins that come and go, and take each other's addresses: plugins DIRECTORY. Both are loaded
 * before truth_ready(), so whoever watches knows them; what is mapped where changes afterwards.
 */
#include "truth.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *load(const char *directory, const char *name)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return handle;
}

static unsigned long run(void *handle, int depth)
{
	void (*function)(int) = (void (*)(int))dlsym(handle, "plugin_run");

	function(depth);
	return (unsigned long)function;
}

int main(int argc, char **argv)
{
	unsigned long places[2] = {0};
	unsigned int reused = 0;
	void *a, *b;

	if (argc < 2)
		return 2;
	a = load(argv[1], "libplugin_a.so");
	b = load(argv[1], "libplugin_b.so");
	truth_ready();
	places[0] = run(a, 2);
	places[1] = run(b, 2);
	for (int i = 0; i < 20; i++) {
		unsigned long now[2];

		dlclose(a);
		dlclose(b);
		/* The other order than before: each takes the other's place. */
		if (i % 2) {
			a = load(argv[1], "libplugin_a.so");
			b = load(argv[1], "libplugin_b.so");
		} else {
			b = load(argv[1], "libplugin_b.so");
			a = load(argv[1], "libplugin_a.so");
		}
		now[0] = run(a, 3);
		now[1] = run(b, 3);
		if (now[0] >> 12 == places[1] >> 12 || now[1] >> 12 == places[0] >> 12)
			reused++;
		places[0] = now[0];
		places[1] = now[1];
	}
	fprintf(stderr, "%u times an address was reused by the other plugin\n", reused);
	truth_done();
}
