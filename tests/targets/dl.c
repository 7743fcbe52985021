// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Plugins that leak and are unloaded, and an allocator that is loaded late. Commands: open X, go X,
 * close X. "flood plugin_a": a child maps and unmaps that file so often, on each processor, that no
 * buffer for such news has room left.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

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
	{"plugin_usdt", "usdt_leak", NULL, NULL, NULL},
};
#define PLUGINS (sizeof(plugins) / sizeof(plugins[0]))

/* Plugins lie beside the program. */
static const char *plugin_path(const struct plugin *p)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 100);
	char *slash;

	if (n < 0)
		truth_die("readlink");
	path[n] = 0;
	slash = strrchr(path, '/');
	snprintf(slash, 100, "/%s.so", p->name);
	return path;
}

static void flood(const struct plugin *p)
{
	int fd = open(plugin_path(p), O_RDONLY | O_CLOEXEC);
	cpu_set_t allowed, one;
	pid_t child = fork();

	if (child) {
		waitpid(child, NULL, 0);
		close(fd);
		return;
	}
	if (fd < 0 || sched_getaffinity(0, sizeof(allowed), &allowed))
		truth_die("flood");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		for (int i = 0; i < 20000; i++) {
			void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

			if (at == MAP_FAILED)
				truth_die("mmap");
			munmap(at, 4096);
		}
	}
	_exit(0);
}

static void open_plugin(struct plugin *p)
{
	p->handle = dlopen(plugin_path(p), RTLD_NOW | RTLD_LOCAL);
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

	while (name && p < plugins + PLUGINS && strcmp(p->name, name + 1))
		p++;
	if (!name || p == plugins + PLUGINS)
		return NULL;
	if (!strncmp(command, "open ", 5)) {
		open_plugin(p);
	} else if (!strncmp(command, "flood ", 6)) {
		flood(p);
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
