// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Has the kernel keep things for it, as many as it is told, and says how many there are. It says
 * "ready PID", then obeys one command a line: "KIND N" makes N more, "let-go" closes all, "quit".
 * The answer is {"kind":"KIND","made":N}, where N is what the kernel has really made.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT_MAX (1 << 17)
#define MAPPINGS 64

static int kept[KEPT_MAX], kept_count, watcher = -1, serial;
static char base[] = "/tmp/kernel_keeps.XXXXXX";

static int keep(int fd)
{
	if (fd < 0 || kept_count == KEPT_MAX)
		return -1;
	kept[kept_count++] = fd;
	return 0;
}

static int make_socket(void)
{
	return keep(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int make_pipe(void)
{
	int ends[2];

	return pipe(ends) ? -1 : keep(ends[0]) | keep(ends[1]);
}

static int make_eventfd(void)
{
	return keep(eventfd(0, EFD_CLOEXEC));
}

static int make_map(enum bpf_map_type type, unsigned value, unsigned entries)
{
	union bpf_attr attr = {
		.map_type = type, .key_size = 4, .value_size = value, .max_entries = entries};

	return keep((int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int make_array(void)
{
	return make_map(BPF_MAP_TYPE_ARRAY, 8192, 4);
}

static int make_percpu_array(void)
{
	return make_map(BPF_MAP_TYPE_PERCPU_ARRAY, 1024, 1);
}

static int make_watch(void)
{
	char path[64];

	if (watcher < 0)
		watcher = inotify_init1(IN_CLOEXEC);
	snprintf(path, sizeof(path), "%s/%d", base, serial++);
	if (mknod(path, S_IFREG | 0600, 0))
		return -1;
	return inotify_add_watch(watcher, path, IN_MODIFY) < 0 ? -1 : 0;
}

/* Made, and gone at once: the kernel frees what it has for them in bulk. */
static int make_mappings(void)
{
	void *at[MAPPINGS];

	for (int i = 0; i < MAPPINGS; i++)
		at[i] = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	for (int i = 0; i < MAPPINGS; i++)
		munmap(at[i], 4096);
	return 0;
}

static const struct {
	const char *name;
	int (*make)(void);
} kinds[] = {
	{"sockets", make_socket},    {"pipes", make_pipe},	    {"eventfds", make_eventfd},
	{"arrays", make_array},	     {"percpu", make_percpu_array}, {"watches", make_watch},
	{"mappings", make_mappings},
};

static void let_go(void)
{
	char command[64];

	while (kept_count)
		close(kept[--kept_count]);
	if (watcher >= 0)
		close(watcher);
	watcher = -1;
	snprintf(command, sizeof(command), "rm -rf %s/*", base);
	if (system(command))
		perror(command);
}

static int make(const char *kind, int count)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int made = 0;

		if (strcmp(kinds[i].name, kind) != 0)
			continue;
		while (made < count && !kinds[i].make())
			made++;
		return made;
	}
	return -1;
}

int main(void)
{
	const struct rlimit many = {KEPT_MAX, KEPT_MAX}, all = {RLIM_INFINITY, RLIM_INFINITY};
	char line[128], kind[64];
	int count;

	setrlimit(RLIMIT_NOFILE, &many);
	/* BPF maps count as locked memory before Linux 5.11. */
	setrlimit(RLIMIT_MEMLOCK, &all);
	if (!mkdtemp(base))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready %d\n", (int)getpid());
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n") != 0) {
		if (!strcmp(line, "let-go\n")) {
			let_go();
			printf("{\"kind\":\"let-go\",\"made\":0}\n");
		} else if (sscanf(line, "%63s %d", kind, &count) == 2) {
			int made = make(kind, count);

			printf("{\"kind\":\"%s\",\"made\":%d}\n", kind, made);
		}
	}
	let_go();
	rmdir(base);
	return 0;
}
