// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The nop for the gate's probes: that the choice is right for this kernel is seen by putting uprobes
 * on every place of a whole copy of the gate's code, which is then run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "tests/unit/unprivileged.h"
#include "user/base/clock.h"
#include "user/base/page.h"
#include "user/base/util.h"
#include "user/gate/nop.h"
#include "user/gate/stub.h"
#include "user/kernel/unkillable.h"
#include "user/kernel/uprobe.h"

#ifndef __x86_64__
static void test_other_machine(void **state)
{
	struct gate_nop nop;

	(void)state;
	assert_int_equal(gate_nop_choose(&nop), -EOPNOTSUPP);
	assert_non_null(nop.step);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_other_machine)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#define HITS	    50
#define ROUNDS	    20
#define THREAD_HITS 1000

static bool may_probe(void)
{
	if (!getuid())
		return true;
	print_message("needs root\n");
	return false;
}

/* ---- a page of code with a probe on it ---------------------------------------------------- */

struct probed {
	int file;
	uint8_t *page;
	void (*code)(void);
	char path[32];
};

/* The bytes at that offset of the page, then a return. */
static void probed_map(struct probed *p, const uint8_t bytes[static GATE_PROBE], size_t offset)
{
	uint8_t page[4096];
	void *at;

	memset(page, 0xcc, sizeof(page));
	memcpy(page + offset, bytes, GATE_PROBE);
	page[offset + GATE_PROBE] = 0xc3;
	p->file = memfd_create("test", MFD_CLOEXEC);
	assert_true(p->file >= 0);
	assert_int_equal(write(p->file, page, sizeof(page)), sizeof(page));
	p->page = mmap(NULL, sizeof(page), PROT_READ | PROT_EXEC, MAP_PRIVATE, p->file, 0);
	assert_ptr_not_equal(p->page, MAP_FAILED);
	at = p->page + offset;
	memcpy(&p->code, &at, sizeof(at));
	snprintf(p->path, sizeof(p->path), "/proc/self/fd/%d", p->file);
}

static void probed_free(struct probed *p)
{
	munmap(p->page, 4096);
	close(p->file);
}

static uint64_t count_of(int event)
{
	uint64_t count;

	assert_int_equal(read(event, &count, sizeof(count)), sizeof(count));
	return count;
}

/* One round's time for a hit, if it is the least so far. */
static void time_round(const struct probed *p, uint32_t *best)
{
	uint64_t took, began = monotonic_ns();

	for (int i = 0; i < HITS; i++)
		p->code();
	took = (monotonic_ns() - began) / HITS;
	if (!*best || took < *best)
		*best = (uint32_t)took;
}

/* ---- the choice --------------------------------------------------------------------------- */

static unsigned open_files(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_choice(void **state)
{
	unsigned files = open_files();
	uint64_t began = monotonic_ns();
	struct gate_nop nop, again;

	(void)state;
	if (!may_probe())
		skip();
	assert_int_equal(gate_nop_choose(&nop), 0);
	print_message("%s, %s, %u ns a hit; chosen in %.1f ms\n", nop.name,
		      nop.optimised ? "optimised" : "emulated", nop.hit_ns,
		      (double)(monotonic_ns() - began) / 1e6);
	/* The same each time, whatever others do on this machine meanwhile. */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gate_nop_choose(&again), 0);
		assert_string_equal(again.name, nop.name);
		assert_memory_equal(again.bytes, nop.bytes, GATE_PROBE);
	}
	assert_null(nop.step);
	assert_int_equal(nop.optimised, nop.length >= 5);
	assert_true(nop.hit_ns > 20 && nop.hit_ns < 1000000);
	assert_int_equal(open_files(), files);
}

/* Does the kernel make a call of these bytes? Then the breakpoint is gone. */
static bool is_optimised(const char *name, const uint8_t bytes[static GATE_PROBE])
{
	struct probed p;
	uint32_t ns = 0;
	bool gone;
	int event;

	probed_map(&p, bytes, 0);
	event = uprobe_open(p.path, 0, false, getpid());
	if (event < 0) {
		print_message("%s: refused, %d\n", name, event);
		probed_free(&p);
		return false;
	}
	for (int i = 0; i < ROUNDS; i++)
		time_round(&p, &ns);
	gone = *(volatile uint8_t *)p.page != 0xcc;
	print_message("%s: %u ns a hit that is counted%s\n", name, ns, gone ? ", optimised" : "");
	assert_int_equal(count_of(event), ROUNDS * HITS);
	unkillable_close(event);
	/* Off, it is a nop again. (7.3 leaves a call in its operand, for threads that stand there.) */
	assert_memory_equal(p.page, bytes, GATE_PROBE / 2);
	p.code();
	/* And can have another. */
	event = uprobe_open(p.path, 0, false, getpid());
	assert_true(event >= 0);
	for (int i = 0; i < HITS; i++)
		p.code();
	assert_int_equal(count_of(event), HITS);
	assert_int_equal(*(volatile uint8_t *)p.page != 0xcc, gone);
	unkillable_close(event);
	probed_free(&p);
	return gone;
}

static const uint8_t plain[GATE_PROBE] = {0x90, 0x66, 0x0f, 0x1f, 0x84},
		     nop10[GATE_PROBE] = {0x66, 0x2e, 0x0f, 0x1f, 0x84},
		     nop5[GATE_PROBE] = {0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x44, 0, 0};

/* If there is a nop that is optimised, one is chosen. */
static void test_optimised(void **state)
{
	struct gate_nop nop;
	bool optimised;

	(void)state;
	if (!may_probe())
		skip();
	optimised = is_optimised("nop10", nop10);
	optimised = is_optimised("nop5", nop5) || optimised;
	assert_false(is_optimised("nop", plain));
	assert_int_equal(gate_nop_choose(&nop), 0);
	assert_int_equal(nop.optimised, optimised);
	assert_int_equal(is_optimised("chosen", nop.bytes), optimised);
}

/*
 * It is cheaper than that of one byte, or not several times as dear as one that is single-stepped.
 * Others that watch system calls make it dearer for a while, so it has some time to show.
 */
static void test_price(void **state)
{
	struct probed chosen, other;
	uint32_t ns = 0, than = 0, most = 0;
	struct gate_nop nop;
	int events[2];

	(void)state;
	if (!may_probe())
		skip();
	assert_int_equal(gate_nop_choose(&nop), 0);
	probed_map(&chosen, nop.bytes, 0);
	probed_map(&other, plain, 0);
	events[0] = uprobe_open(chosen.path, 0, false, getpid());
	events[1] = uprobe_open(other.path, 0, false, getpid());
	assert_true(events[0] >= 0 && events[1] >= 0);
	for (int i = 0; i < 1000 && (i < ROUNDS || ns >= most); i++) {
		/* The one that comes after the pause is at a disadvantage. */
		if (i % 2)
			time_round(&chosen, &ns);
		time_round(&other, &than);
		if (!(i % 2))
			time_round(&chosen, &ns);
		most = nop.optimised ? than : 2 * than;
		usleep(1000);
	}
	print_message("%s: %u ns a hit, a plain one %u ns\n", nop.name, ns, than);
	assert_true(ns < most);
	unkillable_close(events[0]);
	unkillable_close(events[1]);
	probed_free(&chosen);
	probed_free(&other);
}

/* ---- what a program sees ------------------------------------------------------------------ */

static int bpf_call(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* A program that copies these registers from its context to the map. */
#define REGS	    4
static const short regs_at[REGS] = {
	offsetof(struct user_regs_struct, rip), offsetof(struct user_regs_struct, rsp),
	offsetof(struct user_regs_struct, rdi), offsetof(struct user_regs_struct, rsi)};

static int load_copier(int map)
{
	struct bpf_insn insns[2 + 2 * REGS + 2] = {
		{.code = BPF_LD | BPF_IMM | BPF_DW,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = map},
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_KPROBE,
			       .insn_cnt = ARRAY_SIZE(insns),
			       .insns = (uintptr_t)insns,
			       .license = (uintptr_t) "GPL"};
	struct bpf_insn *next = insns + 2;

	for (short i = 0; i < REGS; i++) {
		*next++ = (struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_DW,
					    .dst_reg = BPF_REG_3,
					    .src_reg = BPF_REG_1,
					    .off = regs_at[i]};
		*next++ = (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW,
					    .dst_reg = BPF_REG_2,
					    .src_reg = BPF_REG_3,
					    .off = (short)(8 * i)};
	}
	*next++ = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0};
	*next++ = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return bpf_call(BPF_PROG_LOAD, &attr);
}

/* Calls it with these arguments; the stack pointer before the call. */
static uint64_t call_with(void (*code)(void), uint64_t first, uint64_t second)
{
	uint64_t sp;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "mov %%rsp, %0\n\t"
			 "call *%1\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "=&b"(sp)
			 : "a"(code), "D"(first), "S"(second)
			 : "memory", "cc");
	return sp;
}

/*
 * At a probe the registers are those of the code, however the kernel came there: the stack pointer
 * leads to the return address.
 */
static void test_registers(void **state)
{
	union bpf_attr map_attr = {.map_type = BPF_MAP_TYPE_ARRAY,
				   .key_size = sizeof(uint32_t),
				   .value_size = REGS * sizeof(uint64_t),
				   .max_entries = 1};
	struct probed probed;
	struct gate_nop nop;
	int map, program, event;

	(void)state;
	if (!may_probe())
		skip();
	assert_int_equal(gate_nop_choose(&nop), 0);
	probed_map(&probed, nop.bytes, 64);
	map = bpf_call(BPF_MAP_CREATE, &map_attr);
	program = load_copier(map);
	event = uprobe_open(probed.path, 64, false, getpid());
	assert_true(map >= 0 && program >= 0 && event >= 0);
	assert_int_equal(ioctl(event, PERF_EVENT_IOC_SET_BPF, program), 0);
	/* First by a trap, then as the kernel has made it. */
	for (uint64_t i = 1; i <= 3; i++) {
		uint64_t regs[REGS] = {0}, sp = call_with(probed.code, i, ~i);
		uint32_t key = 0;
		union bpf_attr attr = {
			.map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)regs};

		assert_int_equal(bpf_call(BPF_MAP_LOOKUP_ELEM, &attr), 0);
		assert_int_equal(regs[0], (uintptr_t)probed.page + 64);
		assert_int_equal(regs[1], sp - 8);
		assert_int_equal(regs[2], i);
		assert_int_equal(regs[3], ~i);
	}
	unkillable_close(event);
	close(program);
	close(map);
	probed_free(&probed);
}

/* ---- threads and rights ------------------------------------------------------------------- */

static void *hit_and_count(void *arg)
{
	const struct probed *p = arg;
	int event = uprobe_open(p->path, 0, false, gettid());
	uint64_t count;

	if (event < 0)
		return NULL;
	for (int i = 0; i < THREAD_HITS; i++)
		p->code();
	count = count_of(event);
	unkillable_close(event);
	return (void *)(uintptr_t)count;
}

/* Threads that make the first hits at a time, each with a probe of its own on the same place. */
static void test_two_threads(void **state)
{
	struct probed probed;
	pthread_t threads[2];
	struct gate_nop nop;

	(void)state;
	if (!may_probe())
		skip();
	assert_int_equal(gate_nop_choose(&nop), 0);
	probed_map(&probed, nop.bytes, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hit_and_count, &probed), 0);
	for (int i = 0; i < 2; i++) {
		void *count;

		assert_int_equal(pthread_join(threads[i], &count), 0);
		assert_int_equal((uintptr_t)count, THREAD_HITS);
	}
	probed_free(&probed);
}

static bool says_which_step(void)
{
	struct gate_nop nop;

	return gate_nop_choose(&nop) < 0 && nop.step && !nop.length;
}

static void test_no_rights(void **state)
{
	(void)state;
	assert_true(unprivileged(says_which_step));
}

/* ---- in the gate's code ------------------------------------------------------------------- */

/* What the assembler has put there. */
static const uint8_t in_code[GATE_PROBE] = {0x0f, 0x1f, 0x44, 0x00, 0x00,
					    0x0f, 0x1f, 0x44, 0x00, 0x00};

static size_t places_with(const uint8_t *code, size_t size, const uint8_t bytes[static GATE_PROBE])
{
	size_t count = 0;

	for (size_t at = 0; at + GATE_PROBE <= size; at++) {
		if (memcmp(code + at, bytes, GATE_PROBE))
			continue;
		count++;
		/* None crosses a page. */
		assert_int_equal(at / 4096, (at + GATE_PROBE - 1) / 4096);
		at += GATE_PROBE - 1;
	}
	return count;
}

static void test_written_everywhere(void **state)
{
	static const struct gate_nop nop = {.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
	const uint8_t *original;
	uint8_t *code;
	size_t size, places;

	(void)state;
	original = gate_code(&size);
	code = malloc(size);
	assert_non_null(code);
	memcpy(code, original, size);
	places = places_with(code, size, in_code);
	assert_true(places >= 40);
	gate_nop_write(code, &nop);
	assert_int_equal(places_with(code, size, in_code), 0);
	assert_int_equal(places_with(code, size, nop.bytes), places);
	/* And nowhere else. */
	for (size_t at = 0; at + GATE_PROBE <= size; at++) {
		if (!memcmp(code + at, nop.bytes, GATE_PROBE))
			memcpy(code + at, in_code, GATE_PROBE);
	}
	assert_memory_equal(code, original, size);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_optimised),
		cmocka_unit_test(test_price),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_two_threads),
		cmocka_unit_test(test_no_rights),
		cmocka_unit_test(test_written_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
