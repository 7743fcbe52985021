// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The floor of the benchmark: BPF programs that do nothing, on the allocator functions of a
 * process. Attaches, says "attached MILLISECONDS", waits for a byte on standard input or its end,
 * detaches, says "detached MILLISECONDS". Usage: empty_probes PID single|multi|session|skip
 * entry|place
 *     single    a perf uprobe for each entry and each return, as libbpf and bcc do
 *     multi     multi-uprobe links: one for entries, one for returns, one for frees
 *     session   entry and return of an allocation in one session
 *     skip      the same, and the entry says that the return is not wanted: a call that is not
 *     sampled
 *     entry     at each function's first instruction, as other tools place them; place: where
 *     memleakbpf does
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "user/base/util.h"
#include "user/probe/probe.h"
#include "user/target/image.h"

/* enum bpf_attach_type of linux/bpf.h, newer than Debian 12's headers. */
#define TRACE_UPROBE_MULTI   48
#define TRACE_UPROBE_SESSION 57
#define UPROBE_MULTI_RETURN  1u
#define MAX_LINKS	     256

enum mode {
	MODE_SINGLE,
	MODE_MULTI,
	MODE_SESSION,
	MODE_SKIP,
};

static const char *const mode_names[] = {"single", "multi", "session", "skip"};

struct bench {
	pid_t pid;
	enum mode mode;
	bool at_entry;
	int links[MAX_LINKS];
	size_t link_count;
};

static void die(const char *what)
{
	fprintf(stderr, "empty_probes: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A program that returns a number. */
static int load(uint32_t attach_type, int result)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type);
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = result},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "Dual BSD/GPL", insns,
			       ARRAY_SIZE(insns), &opts);

	if (fd < 0)
		die("loading a BPF program");
	return fd;
}

static void add_link(struct bench *b, int fd, const char *what)
{
	if (fd < 0)
		die(what);
	if (b->link_count == MAX_LINKS) {
		errno = E2BIG;
		die(what);
	}
	b->links[b->link_count++] = fd;
}

static unsigned long offset_of(const struct bench *b, const struct probe *probe)
{
	return (unsigned long)(b->at_entry ? probe->fn->offset : probe->offset);
}

/* All probes of the roles [from, to) in one link. */
static void attach_multi(struct bench *b, const struct probe_set *set, int program, uint32_t type,
			 uint32_t flags, enum probe_role from, enum probe_role to)
{
	unsigned long offsets[MAX_LINKS];
	struct {
		uint32_t program, target, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t count, multi_flags, pid, pad;
	} attr = {
		.program = (uint32_t)program,
		.attach_type = type,
		.path = (uintptr_t)object_fd_path(set->provider->object),
		.offsets = (uintptr_t)offsets,
		.multi_flags = flags,
		.pid = (uint32_t)b->pid,
	};

	for (size_t i = 0; i < set->count && attr.count < MAX_LINKS; i++) {
		if (set->probes[i].role >= from && set->probes[i].role < to)
			offsets[attr.count++] = offset_of(b, &set->probes[i]);
	}
	if (attr.count)
		add_link(b, (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)),
			 "multi-uprobe link");
}

static void attach_single(struct bench *b, const char *path, unsigned long offset, bool at_return)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	struct perf_event_attr attr = {.size = sizeof(attr)};
	int event, program = load(0, 0);

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		die("uprobe event source");
	fclose(f);
	attr.config = at_return; /* format/retprobe is bit 0 */
	attr.config1 = (uintptr_t)path;
	attr.config2 = offset;
	event = (int)syscall(SYS_perf_event_open, &attr, b->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		die("uprobe");
	add_link(b, bpf_link_create(program, event, BPF_PERF_EVENT, NULL), "linking a uprobe");
	close(event);
	close(program);
}

static void attach(struct bench *b, const struct probe_set *set)
{
	switch (b->mode) {
	case MODE_SINGLE:
		for (size_t i = 0; i < set->count; i++) {
			const struct probe *probe = &set->probes[i];
			const char *path = object_fd_path(set->provider->object);

			if (probe->role == PROBE_ALLOC)
				attach_single(b, path, offset_of(b, probe), true);
			attach_single(b, path, offset_of(b, probe), false);
		}
		break;
	case MODE_MULTI:
		attach_multi(b, set, load(TRACE_UPROBE_MULTI, 0), TRACE_UPROBE_MULTI,
			     UPROBE_MULTI_RETURN, PROBE_ALLOC, PROBE_FREE);
		attach_multi(b, set, load(TRACE_UPROBE_MULTI, 0), TRACE_UPROBE_MULTI, 0,
			     PROBE_ALLOC, PROBE_FREE);
		attach_multi(b, set, load(TRACE_UPROBE_MULTI, 0), TRACE_UPROBE_MULTI, 0, PROBE_FREE,
			     PROBE_ROLES);
		break;
	default:
		attach_multi(b, set, load(TRACE_UPROBE_SESSION, b->mode == MODE_SKIP),
			     TRACE_UPROBE_SESSION, 0, PROBE_ALLOC, PROBE_FREE);
		attach_multi(b, set, load(TRACE_UPROBE_MULTI, 0), TRACE_UPROBE_MULTI, 0, PROBE_FREE,
			     PROBE_ROLES);
		break;
	}
}

/* Probes every object of the process that allocates, as the tool does. */
static void attach_all(struct bench *b)
{
	static const struct provider_options options = {0};
	struct object_cache *cache = object_cache_new();
	const struct object *last = NULL;
	struct image *image;
	double start;

	if (!cache || image_new(b->pid, cache, &image)) {
		errno = ESRCH;
		die("reading the process");
	}
	start = now_ms();
	for (size_t i = 0; i < image_range_count(image); i++) {
		struct object *object = image_range_at(image, i)->object;
		struct provider *provider;
		struct probe_set *set;

		if (!object || object == last || object_is_vdso(object))
			continue;
		last = object;
		if (provider_find(object, &options, &provider))
			continue;
		if (probe_set_new(provider, &set)) {
			errno = ENOMEM;
			die("probes");
		}
		attach(b, set);
		probe_set_free(set);
	}
	if (!b->link_count) {
		errno = ENOENT;
		die("allocator");
	}
	printf("attached %.1f\n", now_ms() - start);
	image_free(image);
	object_cache_free(cache);
}

int main(int argc, char *argv[])
{
	struct bench b = {0};
	double start;
	char byte;

	if (argc != 4)
		goto usage;
	b.pid = (pid_t)atoi(argv[1]);
	for (; b.mode < ARRAY_SIZE(mode_names) && strcmp(argv[2], mode_names[b.mode]); b.mode++)
		;
	b.at_entry = !strcmp(argv[3], "entry");
	if (b.pid <= 0 || b.mode == ARRAY_SIZE(mode_names) ||
	    (!b.at_entry && strcmp(argv[3], "place")))
		goto usage;
	setvbuf(stdout, NULL, _IOLBF, 0);
	attach_all(&b);
	if (read(STDIN_FILENO, &byte, 1) < 0)
		die("standard input");
	start = now_ms();
	while (b.link_count)
		close(b.links[--b.link_count]);
	printf("detached %.1f\n", now_ms() - start);
	return 0;
usage:
	fprintf(stderr, "Usage: empty_probes PID single|multi|session|skip entry|place\n");
	return 2;
}
