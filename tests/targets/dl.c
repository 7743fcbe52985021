// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Plugins that leak and are unloaded, and an allocator that is loaded late. Commands: open X, go X, close X. */
#include <dlfcn.h>

#include "truth.h"

static struct plugin {
	const char *name, *site;
	void *handle;
	void *(*leak)(size_t size);
	void (*release)(void *block);
} plugins[] = {
	{"plugin_a", "plugin_a_leak", NULL, NULL, NULL},
	{"plugin_b", "plugin_b_leak", NULL, NULL, NULL},
	{"plugin_provider", "late_leak", NULL, NULL, NULL},
};

/* Plugins lie beside the program. */
static void open_plugin(struct plugin *p)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
	char *slash;

	if (n < 0)
		truth_die("readlink");
	path[n] = 0;
	slash = strrchr(path, '/');
	snprintf(slash, 100, "/%s.so", p->name);
	p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle)
		truth_die(dlerror());
	p->leak = (void *(*)(size_t))dlsym(p->handle, p->site);
	p->release = (void (*)(void *))dlsym(p->handle, "late_release");
	if (!p->leak)
		truth_die("dlsym");
}

static const char *obey(const char *command)
{
	struct plugin *p = plugins;
	const char *name = strchr(command, ' ');

	while (name && p < plugins + 3 && strcmp(p->name, name + 1))
		p++;
	if (!name || p == plugins + 3)
		return NULL;
	if (!strncmp(command, "open ", 5)) {
		open_plugin(p);
	} else if (!strncmp(command, "close ", 6)) {
		dlclose(p->handle);
	} else if (!strncmp(command, "go ", 3)) {
		for (int i = 0; i < 11; i++)
			truth_count(truth_site(p->site), p->leak(200), 200);
		if (p->release) {
			truth_uncount(truth_site(p->site), 200);
			p->release(truth_count(truth_site(p->site), p->leak(200), 200));
		}
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}
