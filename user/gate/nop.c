// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/nop.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/page.h"
#include "user/base/util.h"
#include "user/gate/stub.h"
#include "user/kernel/link_bin.h"
#include "user/kernel/unkillable.h"
#include "user/kernel/uprobe.h"

void gate_nop_write(uint8_t *code, const struct gate_nop *nop)
{
	const struct gate_stub *stubs;
	size_t count;

	stubs = gate_stubs(&count);
	for (size_t i = 0; i < count; i++) {
		const uint32_t places[] = {stubs[i].allocated, stubs[i].reallocated, stubs[i].freed,
					   stubs[i].kept};

		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			if (places[k])
				memcpy(code + places[k], nop->bytes, sizeof(nop->bytes));
		}
	}
}

#ifndef __x86_64__
int gate_nop_choose(struct gate_nop *out)
{
	*out = (struct gate_nop){.step = "there is a gate for x86_64 only"};
	return -EOPNOTSUPP;
}
#else

/* Since Linux 6.3; before, every memfd may be executed. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

#define BREAKPOINT 0xcc
#define RET	   0xc3
#define APART	   64 /* bytes from one to the next, so that each has its cache line */
/* The least of so many rounds: others want the processor as well. */
#define ROUNDS	   16
#define HITS	   16

/* Best first. The last is what the others have to beat. */
static const struct {
	const char *name;
	uint8_t length, bytes[GATE_PROBE];
} nops[] = {
	{"nop10", 10, {0x66, 0x2e, 0x0f, 0x1f, 0x84}},
	{"nop5", 5, {0x0f, 0x1f, 0x44, 0x00, 0x00, 0x0f, 0x1f, 0x44, 0x00, 0x00}},
	{"nop", 1, {0x90, 0x66, 0x0f, 0x1f, 0x84}},
};
#define NOPS	   ARRAY_SIZE(nops)

struct nop_trial {
	void *code;
	int event, link; /* or -errno */
	bool optimised;
	uint32_t hit_ns;
};

struct nop_trials {
	uint8_t *page; /* mapped as a target has it: private, never writable */
	char path[32]; /* its file */
	int file, program, bin;
	struct nop_trial of[NOPS];
};

static void nop_run(const struct nop_trial *t)
{
	void (*code)(void);

	memcpy(&code, &t->code, sizeof(code));
	code();
}

static int nop_make_file(struct nop_trials *t)
{
	uint8_t bytes[NOPS * APART];

	memset(bytes, BREAKPOINT, sizeof(bytes));
	for (size_t i = 0; i < NOPS; i++) {
		memcpy(bytes + i * APART, nops[i].bytes, GATE_PROBE);
		bytes[i * APART + GATE_PROBE] = RET;
	}
	t->file = memfd_create("memleakbpf-nop", MFD_CLOEXEC | MFD_EXEC);
	if (t->file < 0 && errno == EINVAL)
		t->file = memfd_create("memleakbpf-nop", MFD_CLOEXEC);
	if (t->file < 0 || pwrite(t->file, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -errno;
	snprintf(t->path, sizeof(t->path), "/proc/self/fd/%d", t->file);
	return 0;
}

static int nop_map(struct nop_trials *t)
{
	t->page = mmap(NULL, page_size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, t->file, 0);
	if (t->page == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < NOPS; i++)
		t->of[i].code = t->page + i * APART;
	return 0;
}

/* One that does nothing. */
static int nop_load_program(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.insn_cnt = ARRAY_SIZE(insns),
		.insns = (uintptr_t)insns,
		.license = (uintptr_t) "Dual BSD/GPL",
	};
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

/* The program's descriptor for the event, or -errno: kernels before 5.15 have none. */
static int nop_link(const struct nop_trials *all, const struct nop_trial *t)
{
	union bpf_attr attr = {.link_create = {
				       .prog_fd = (uint32_t)all->program,
				       .target_fd = (uint32_t)t->event,
				       .attach_type = BPF_PERF_EVENT,
			       }};
	long link = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return link < 0 ? -errno : (int)link;
}

/* Does each hit count? The kernel optimises at the first. From then on the program runs instead. */
static int nop_see_hits(const struct nop_trials *all, struct nop_trial *t)
{
	uint64_t hits;

	nop_run(t);
	nop_run(t);
	if (read(t->event, &hits, sizeof(hits)) != sizeof(hits))
		return -EIO;
	if (hits != 2)
		return -ENODATA;
	t->link = nop_link(all, t);
	return t->link < 0 && ioctl(t->event, PERF_EVENT_IOC_SET_BPF, all->program) ? -errno : 0;
}

static void nop_measure(struct nop_trial *t)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t began = monotonic_ns();

		for (int i = 0; i < HITS; i++)
			nop_run(t);
		began = monotonic_ns() - began;
		if (began < best)
			best = began;
	}
	t->hit_ns = (uint32_t)(best / HITS);
}

/* The first that is optimised and gains by it; single-stepped ones are not measured, it takes long. */
static int nop_best(struct nop_trials *all, size_t *best, const char **step)
{
	struct nop_trial *plain = &all->of[NOPS - 1];
	int err;

	*step = "putting a uprobe on a memfd";
	if (plain->event < 0)
		return plain->event;
	err = nop_see_hits(all, plain);
	*step = err == -ENODATA ? "a uprobe on a memfd does not see every hit"
				: "running a BPF program at a uprobe";
	if (err)
		return err;
	nop_measure(plain);
	for (*best = 0; *best < NOPS - 1; ++*best) {
		struct nop_trial *t = &all->of[*best];

		if (t->event < 0 || nop_see_hits(all, t))
			continue;
		/* The breakpoint is gone: 6.18 has a call here, 7.2 makes room for a red zone first. */
		t->optimised = *(const volatile uint8_t *)t->code != BREAKPOINT;
		if (!t->optimised)
			continue;
		nop_measure(t);
		if (t->hit_ns <= plain->hit_ns)
			break;
	}
	return 0;
}

static void nop_trials_end(struct nop_trials *all)
{
	/* First, so that nobody has to put the nops back. */
	if (all->page != MAP_FAILED)
		munmap(all->page, page_size());
	for (size_t i = 0; i < NOPS; i++) {
		struct nop_trial *t = &all->of[i];

		if (t->event < 0)
			continue;
		/* A link can be given up without waiting, and has the event still. */
		if (t->link < 0)
			t->link = nop_link(all, t);
		if (t->link < 0) {
			unkillable_close(t->event);
			continue;
		}
		close(t->event);
		link_bin_drop(all->bin, t->link);
	}
	cleanup_close(&all->bin);
	cleanup_close(&all->program);
	cleanup_close(&all->file);
}

int gate_nop_choose(struct gate_nop *out)
{
	struct nop_trials all = {
		.page = MAP_FAILED, .file = -1, .program = -1, .bin = link_bin_new()};
	const char *step = "making a memfd";
	size_t best = 0;
	int err;

	for (size_t i = 0; i < NOPS; i++)
		all.of[i] = (struct nop_trial){.event = -1, .link = -1};
	err = nop_make_file(&all);
	if (err)
		goto out;
	step = "loading a BPF program";
	all.program = err = nop_load_program();
	if (err < 0)
		goto out;
	/*
	 * One after the other: the kernel waits for the first, not for those that follow at once. A nop
	 * that it refuses would make us wait for 80 ms, were the file mapped by now; like this it gets
	 * no breakpoint, without a word.
	 */
	for (size_t i = 0; i < NOPS; i++)
		all.of[i].event = uprobe_open(all.path, i * APART, false, gettid());
	step = "mapping a memfd as code";
	err = nop_map(&all);
	if (!err)
		err = nop_best(&all, &best, &step);
out:
	nop_trials_end(&all);
	*out = (struct gate_nop){.step = step};
	if (err)
		return err;
	out->name = nops[best].name;
	out->step = NULL;
	out->length = nops[best].length;
	out->optimised = all.of[best].optimised;
	out->hit_ns = all.of[best].hit_ns;
	memcpy(out->bytes, nops[best].bytes, sizeof(out->bytes));
	return 0;
}
#endif
