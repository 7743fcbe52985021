// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks held by a library that is loaded while the program runs: by its data and by thread-local
 * variables of two threads.
 */
#include <dlfcn.h>

#include "verdict_thread.h"

#define N    64
#define SIZE 88

VERDICT_SITE(in_library_data)
VERDICT_SITE(in_library_bss)
VERDICT_SITE(in_library_tls)
VERDICT_SITE(in_library_tls_of_thread)
VERDICT_SITE(in_unloaded_data)
VERDICT_SITE(in_unloaded_tls)

static void **(*place)(int kind);

/* Beside the program; the handle. */
SITE static void *open_plugin(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
	void *handle;

	if (n < 0)
		truth_die("readlink");
	path[n] = 0;
	strcpy(strrchr(path, '/'), "/verdict_plugin.so");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		truth_die(dlerror());
	place = (void **(*)(int))dlsym(handle, "plugin_place");
	if (!place)
		truth_die("dlsym");
	return handle;
}

SITE static void fill(int kind, verdict_alloc alloc)
{
	void **held = place(kind);

	for (int i = 0; i < N; i++)
		held[i] = alloc(SIZE);
}

SITE static void unloaded(void)
{
	void *handle = open_plugin();

	fill(0, in_unloaded_data);
	fill(2, in_unloaded_tls);
	dlclose(handle);
	EXPECT(in_unloaded_data, DEFINITE, N, SIZE);
	EXPECT(in_unloaded_tls, DEFINITE, N, SIZE);
}

static void of_thread(void)
{
	fill(2, in_library_tls_of_thread);
	scrub();
	thread_waits();
}

SITE static void loaded(void)
{
	open_plugin();
	fill(0, in_library_data);
	fill(1, in_library_bss);
	fill(2, in_library_tls);
	thread_start(of_thread);
	EXPECT(in_library_data, REACHABLE, N, SIZE);
	EXPECT(in_library_bss, REACHABLE, N, SIZE);
	EXPECT(in_library_tls, REACHABLE, N, SIZE);
	EXPECT(in_library_tls_of_thread, REACHABLE, N, SIZE);
}

static const struct verdict_case cases[] = {
	{"unloaded", unloaded, 0},
	{"loaded", loaded, 0},
	{NULL, NULL, 0},
};

int main(void)
{
	return verdict_serve(cases);
}
