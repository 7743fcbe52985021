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
		const uint32_t places[] = {stubs[i].allocated, stubs[i].freed, stubs[i].kept};

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

/* Since Linux 6.3. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

/* enum bpf_attach_type; newer than Debian 12's headers. */
#define TRACE_UPROBE_MULTI 48

#define BREAKPOINT 0xcc
#define RET	   0xc3
#define APART	   64 /* bytes from one to the next, so that each has its cache line */
/* Takes the least of so many rounds: other threads want the processor as well. */
#define ROUNDS	   16
#define HITS	   16

/* Best first. All kernels emulate the last. */
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
	int event, link; /* its own, without a link for all; or -errno */
	bool optimised;
	uint32_t hit_ns;
};

struct nop_trials {
	uint8_t *page; /* mapped like a target's code: private, never writable */
	char path[32]; /* its file */
	int file, map, program, link, bin;
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
	/*
	 * The flag is unknown, or vm.memfd_noexec=2 refuses it; under that the other may be mapped
	 * as code too.
	 */
	if (t->file < 0)
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

/* ---- a program that counts its runs ------------------------------------------------------- */

static int nop_bpf(int command, union bpf_attr *attr)
{
	long result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return result < 0 ? -errno : (int)result;
}

static int nop_make_map(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(uint64_t),
		.max_entries = 1,
	};

	return nop_bpf(BPF_MAP_CREATE, &attr);
}

static uint64_t nop_hits(const struct nop_trials *all)
{
	uint32_t key = 0;
	uint64_t hits = 0;
	union bpf_attr attr = {
		.map_fd = (uint32_t)all->map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&hits,
	};

	nop_bpf(BPF_MAP_LOOKUP_ELEM, &attr);
	return hits;
}

static int nop_load_program(const struct nop_trials *all, uint32_t attach_type)
{
	/* The counter is at 0 of the map's value. */
	const struct bpf_insn insns[] = {
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = all->map},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1},
		{.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_REG_2,
		 .imm = BPF_ADD},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = attach_type,
		.insn_cnt = ARRAY_SIZE(insns),
		.insns = (uintptr_t)insns,
		.license = (uintptr_t) "Dual BSD/GPL",
	};

	return nop_bpf(BPF_PROG_LOAD, &attr);
}

/* ---- the probes --------------------------------------------------------------------------- */

static int nop_link_all(const struct nop_trials *all)
{
	uint64_t offsets[NOPS];
	/* struct link_create.uprobe_multi of union bpf_attr, kernel >= 6.6. */
	struct {
		uint32_t program, target, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t count, multi_flags, pid, pad;
	} attr = {
		.program = (uint32_t)all->program,
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)all->path,
		.offsets = (uintptr_t)offsets,
		.count = NOPS,
	};

	for (size_t i = 0; i < NOPS; i++)
		offsets[i] = i * APART;
	return (int)unkillable_syscall(SYS_bpf, BPF_LINK_CREATE, (long)&attr, sizeof(attr), 0, 0);
}

/*
 * Makes a probe of its own. Its event has a link for the program if the kernel has such (5.15): a
 * link can be given up without waiting.
 */
static void nop_link_one(const struct nop_trials *all, size_t i, struct nop_trial *t)
{
	union bpf_attr attr = {.link_create = {
				       .prog_fd = (uint32_t)all->program,
				       .attach_type = BPF_PERF_EVENT,
			       }};

	t->event = uprobe_open(all->path, i * APART, false, gettid());
	if (t->event < 0)
		return;
	attr.link_create.target_fd = (uint32_t)t->event;
	t->link = nop_bpf(BPF_LINK_CREATE, &attr);
	if (t->link < 0)
		ioctl(t->event, PERF_EVENT_IOC_SET_BPF, all->program);
}

/* One link for all, which takes fewer privileges; before 6.6, probes of their own. */
static int nop_attach(struct nop_trials *all, const char **step)
{
	*step = "creating a BPF map";
	all->map = nop_make_map();
	if (all->map < 0)
		return all->map;
	*step = "loading a BPF program";
	all->program = nop_load_program(all, TRACE_UPROBE_MULTI);
	if (all->program >= 0)
		all->link = nop_link_all(all);
	if (all->link >= 0)
		return 0;
	cleanup_close(&all->program);
	all->program = nop_load_program(all, 0);
	if (all->program < 0)
		return all->program;
	*step = "putting a uprobe on a memfd";
	for (size_t i = 0; i < NOPS; i++)
		nop_link_one(all, i, &all->of[i]);
	return all->of[NOPS - 1].event < 0 ? all->of[NOPS - 1].event : 0;
}

/* ---- the choice --------------------------------------------------------------------------- */

/* The kernel optimises at the first hit. */
static bool nop_sees_hits(const struct nop_trials *all, const struct nop_trial *t)
{
	uint64_t before = nop_hits(all);

	nop_run(t);
	nop_run(t);
	return nop_hits(all) == before + 2;
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

/*
 * The first that is optimised, or the last. Not the fastest: other tools that watch system calls
 * make optimised ones dearer for a while.
 */
static int nop_best(struct nop_trials *all, size_t *best, const char **step)
{
	struct nop_trial *t = all->of;

	for (*best = 0; *best < NOPS; ++*best, t++) {
		if (!nop_sees_hits(all, t))
			continue;
		/*
		 * The breakpoint is gone: 6.18 puts a call here, 7.3 first makes room for a red
		 * zone.
		 */
		t->optimised = *(const volatile uint8_t *)t->code != BREAKPOINT;
		if (t->optimised || *best == NOPS - 1) {
			nop_measure(t);
			return 0;
		}
	}
	*step = "a uprobe on a memfd does not see every hit";
	return -ENODATA;
}

static void nop_trials_end(struct nop_trials *all)
{
	/* Unmaps first, so that nobody has to put the nops back. */
	if (all->page != MAP_FAILED)
		munmap(all->page, page_size());
	for (size_t i = 0; i < NOPS; i++) {
		struct nop_trial *t = &all->of[i];

		/* A link keeps its event alive. */
		if (t->link < 0)
			unkillable_close(t->event);
		else
			close(t->event);
		link_bin_drop(all->bin, t->link);
	}
	link_bin_drop(all->bin, all->link);
	cleanup_close(&all->map);
	cleanup_close(&all->bin);
	cleanup_close(&all->program);
	cleanup_close(&all->file);
}

int gate_nop_choose(struct gate_nop *out)
{
	struct nop_trials all = {.page = MAP_FAILED,
				 .file = -1,
				 .map = -1,
				 .program = -1,
				 .link = -1,
				 .bin = link_bin_new()};
	const char *step = "making a memfd";
	size_t best = 0;
	int err;

	for (size_t i = 0; i < NOPS; i++)
		all.of[i] = (struct nop_trial){.event = -1, .link = -1};
	err = nop_make_file(&all);
	if (err)
		goto out;
	/*
	 * Before the file is mapped: a nop that the kernel refuses then gets no breakpoint, without
	 * a word. Otherwise we would wait for 80 ms, and attach the others without it.
	 */
	err = nop_attach(&all, &step);
	if (err)
		goto out;
	step = "mapping a memfd as code";
	err = nop_map(&all);
	if (!err)
		err = nop_best(&all, &best, &step);
out:
	nop_trials_end(&all);
	*out = (struct gate_nop){.step = err ? step : NULL};
	if (err)
		return err;
	out->name = nops[best].name;
	out->length = nops[best].length;
	out->optimised = all.of[best].optimised;
	out->hit_ns = all.of[best].hit_ns;
	memcpy(out->bytes, nops[best].bytes, sizeof(out->bytes));
	return 0;
}
#endif
