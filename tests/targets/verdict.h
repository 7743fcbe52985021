/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the targets of the verdict tests share. A case allocates blocks from sites of its own,
 * leaves pointers to them in one kind of place (or in none), and says which class every block is
 * in: the truth, from knowing where each pointer is.
 *
 * The truth is exact, without a tolerance for stale copies. Nothing remembers an address but the
 * place that a case is about: sites are called through noipa functions, whose callers never see a
 * pointer unless the case wants it, and after each case scrub() overwrites the dead stack below its
 * caller, the registers that a call may change, and all vector registers. The registers that a call
 * keeps hold what main's frames put there: no block.
 *
 * "report" lets valgrind's memcheck or LeakSanitizer judge the same state, when the program runs
 * under one of them.
 */
#ifndef MEMLEAKBPF_TESTS_VERDICT_H
#define MEMLEAKBPF_TESTS_VERDICT_H

#include "truth.h"

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define VERDICT_MEMCHECK() VALGRIND_DO_LEAK_CHECK
#endif
#endif
#ifndef VERDICT_MEMCHECK
#define VERDICT_MEMCHECK() ((void)0)
#endif

#ifdef __cplusplus
extern "C" int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
#else
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
#endif

/* What memcheck calls definitely, indirectly and possibly lost, and still reachable. */
enum verdict_class { DEFINITE, INDIRECT, POSSIBLE, REACHABLE, VERDICT_CLASSES };

struct verdict_site {
	const char *name;
	uint64_t bytes[VERDICT_CLASSES], count[VERDICT_CLASSES];
};

struct verdict_case {
	const char *command;
	void (*run)(void);
	int alone; /* not part of "all" */
};

/*
 * A variable that holds blocks: the compiler keeps what is written to it though nothing reads it.
 */
#define ROOT static __attribute__((used))

/*
 * A static program that frees nothing has no free at all, and so no allocator that a tool could
 * find.
 */
ROOT void (*verdict_free)(void *block) = free;

/* A pointer that the compiler cannot reason about. */
#define OPAQUE(pointer) __asm__ volatile("" : "+r"(pointer)::"memory")

/*
 * A function that allocates a block of `size` bytes, all zero: memory that was used before may hold
 * pointers. The barrier keeps the compiler from making it a calloc.
 */
#define VERDICT_SITE(name)                          \
	SITE static void *name(size_t size)         \
	{                                           \
		void *block = malloc(size);         \
                                                    \
		if (!block)                         \
			truth_die("out of memory"); \
		OPAQUE(block);                      \
		memset(block, 0, size);             \
		NOT_A_TAIL_CALL();                  \
		return block;                       \
	}

typedef void *(*verdict_alloc)(size_t size);

static struct verdict_site verdict_sites[TRUTH_SITES];
static unsigned int verdict_site_count;
static char verdict_extra[2048]; /* further JSON members, each beginning with a comma */

/* The class of `count` more blocks of the site, `bytes` in all. Main thread only. */
static inline void verdict_expect(const char *name, enum verdict_class class_, uint64_t count,
				  uint64_t bytes)
{
	struct verdict_site *site = verdict_sites;

	while (site < verdict_sites + verdict_site_count && strcmp(site->name, name))
		site++;
	if (site == verdict_sites + TRUTH_SITES)
		truth_die("verdict.h: too many sites");
	if (site == verdict_sites + verdict_site_count)
		verdict_sites[verdict_site_count++].name = name;
	site->bytes[class_] += bytes;
	site->count[class_] += count;
}

/* `count` blocks of `size` bytes each. */
#define EXPECT(site, class_, count, size) \
	verdict_expect(#site, class_, count, (uint64_t)(count) * (size))

#ifdef __x86_64__
__attribute__((target("avx"))) static inline void verdict_clear_avx(void)
{
	__asm__ volatile("vzeroall" ::
				 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
				   "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
				   "xmm15");
}

/*
 * The C library copies and compares with these where they exist; so they may hold what a block
 * held.
 */
__attribute__((target("avx512f"))) static inline void verdict_clear_avx512(void)
{
#define CLEAR(n) __asm__ volatile("vpxorq %%zmm" #n ", %%zmm" #n ", %%zmm" #n ::: "xmm" #n)
	CLEAR(16);
	CLEAR(17);
	CLEAR(18);
	CLEAR(19);
	CLEAR(20);
	CLEAR(21);
	CLEAR(22);
	CLEAR(23);
	CLEAR(24);
	CLEAR(25);
	CLEAR(26);
	CLEAR(27);
	CLEAR(28);
	CLEAR(29);
	CLEAR(30);
	CLEAR(31);
#undef CLEAR
}

static inline void verdict_clear_registers(void)
{
	if (__builtin_cpu_supports("avx"))
		verdict_clear_avx();
	if (__builtin_cpu_supports("avx512f"))
		verdict_clear_avx512();
	__asm__ volatile("xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi;"
			 "xor %%edi, %%edi; xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d;"
			 "xor %%r11d, %%r11d" ::
				 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}
#else
static inline void verdict_clear_registers(void)
{
}
#endif

/* Overwrites what earlier calls left on the stack below the caller's frame, and in registers. */
SITE static void scrub(void)
{
	volatile char dead[32 << 10];

	for (size_t i = 0; i < sizeof(dead); i++)
		dead[i] = 0;
	verdict_clear_registers();
}

static inline void verdict_print(const char *phase)
{
	static const char *const classes[] = {"definite", "indirect", "possible", "reachable"};
	static struct truth_text out;

	out.length = 0;
	truth_add(&out, "{\"phase\":\"%s\",\"pid\":%d,\"verdict\":{", phase, (int)getpid());
	for (unsigned int i = 0; i < verdict_site_count; i++) {
		const struct verdict_site *s = &verdict_sites[i];

		truth_add(&out, "%s\"%s\":{", i ? "," : "", s->name);
		for (unsigned int c = 0; c < VERDICT_CLASSES; c++)
			truth_add(&out, "%s\"%s\":{\"bytes\":%llu,\"count\":%llu}", c ? "," : "",
				  classes[c], (unsigned long long)s->bytes[c],
				  (unsigned long long)s->count[c]);
		truth_add(&out, "}");
	}
	truth_add(&out, "}%s}\n", verdict_extra);
	truth_write(out.text, out.length);
}

SITE static void verdict_run(const struct verdict_case *c)
{
	c->run();
	scrub();
}

/*
 * Runs cases by name ("all": those of the table, in its order) and prints the truth of all that
 * ran; until "quit" or the end of input. The table ends with a case without a name.
 */
static inline int verdict_serve(const struct verdict_case *cases)
{
	const char *command;

	truth_ready();
	while ((command = truth_command())) {
		const struct verdict_case *c = cases;

		if (!strcmp(command, "quit")) {
			verdict_print("quit");
			return 0;
		}
		if (!strcmp(command, "report")) {
			VERDICT_MEMCHECK();
			if (__lsan_do_recoverable_leak_check)
				__lsan_do_recoverable_leak_check();
		} else if (!strcmp(command, "all")) {
			for (; c->command; c++)
				if (!c->alone)
					verdict_run(c);
		} else {
			while (c->command && strcmp(c->command, command))
				c++;
			if (!c->command)
				truth_die("unknown command");
			verdict_run(c);
		}
		verdict_print(command);
	}
	return 0;
}

#endif
