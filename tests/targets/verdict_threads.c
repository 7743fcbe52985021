// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks that threads hold: on stacks, in registers, by keys; and what is left of threads that are
 * gone.
 */
#include <signal.h>
#include <sys/syscall.h>
#if defined(__GLIBC__)
#include <ucontext.h>
#endif

#include "verdict_thread.h"

#define N    64
#define SIZE 104

SITE static void fill(void *volatile *place, verdict_alloc alloc, int count)
{
	for (int i = 0; i < count; i++)
		place[i] = alloc(SIZE);
}

/* Keeps an array in its frame until here. */
#define STILL_USED(array) __asm__ volatile("" ::"r"(array) : "memory")

/* ---- Stacks ---------------------------------------------------------------------------------- */

VERDICT_SITE(on_stack)
VERDICT_SITE(on_stack_of_eight)
VERDICT_SITE(below_sp)
VERDICT_SITE(on_exited_stack)
VERDICT_SITE(in_exited_tls)

static __thread void *thread_held[N];

static void hold_on_stack(void)
{
	void *volatile held[N];

	fill(held, on_stack, N);
	scrub();
	thread_waits();
	STILL_USED(held);
}

static void hold_a_few(void)
{
	void *volatile held[8];

	fill(held, on_stack_of_eight, 8);
	scrub();
	thread_waits();
	STILL_USED(held);
}

/* Leaves pointers 32 KiB below its caller's frame. */
SITE static void fill_deep(int depth, verdict_alloc alloc)
{
	void *volatile held[4096 / sizeof(void *)];

	if (depth)
		fill_deep(depth - 1, alloc);
	else
		fill(held, alloc, N);
	STILL_USED(held);
}

/* As scrub(), but the stack only as far down as what is called next will reach. */
SITE static void scrub_shallow(void)
{
	volatile char dead[8 << 10];

	for (size_t i = 0; i < sizeof(dead); i++)
		dead[i] = 0;
	verdict_clear_registers();
}

static void leave_below(void)
{
	fill_deep(8, below_sp);
	scrub_shallow();
	thread_waits();
}

static void leave_and_exit(void)
{
	fill_deep(8, on_exited_stack);
	fill(thread_held, in_exited_tls, N);
	OPAQUE(*(void **)thread_held);
	scrub_shallow();
	thread_tells();
}

static void stacks(void)
{
	thread_start(hold_on_stack);
	for (int i = 0; i < 8; i++)
		thread_start(hold_a_few);
	thread_start(leave_below);
	EXPECT(on_stack, REACHABLE, N, SIZE);
	EXPECT(on_stack_of_eight, REACHABLE, 64, SIZE);
	EXPECT(below_sp, DEFINITE, N, SIZE);
}

/* The C library keeps such a thread's stack for the next one. */
static void exited(void)
{
	pthread_join(thread_start(leave_and_exit), NULL);
	EXPECT(on_exited_stack, DEFINITE, N, SIZE);
	EXPECT(in_exited_tls, DEFINITE, N, SIZE);
}

/* ---- Registers ------------------------------------------------------------------------------- */

#ifdef __x86_64__
VERDICT_SITE(in_register)
VERDICT_SITE(in_xmm)
VERDICT_SITE(in_ymm)

/* Waits as thread_waits() does, with the blocks in registers and nowhere else. */
static void hold_in_registers(void)
{
	struct {
		void *volatile block[5];
		char c;
	} held;

	fill(held.block, in_register, 5);
	scrub();
	thread_tells();
	scrub();
	__asm__ volatile(
		"mov 0(%[held]), %%rbx; mov 8(%[held]), %%r12; mov 16(%[held]), %%r13;"
		"mov 24(%[held]), %%r14; mov 32(%[held]), %%r15;"
		"movq $0, 0(%[held]); movq $0, 8(%[held]); movq $0, 16(%[held]);"
		"movq $0, 24(%[held]); movq $0, 32(%[held]);"
		"1: xor %%eax, %%eax; lea 40(%[held]), %%rsi; mov $1, %%edx; syscall; jmp 1b"
		:
		: [held] "r"(&held), "D"((long)thread_pipe[0])
		: "rax", "rbx", "rcx", "rdx", "rsi", "r11", "r12", "r13", "r14", "r15", "memory");
}

/* Two blocks in each of xmm0…7. */
static void hold_in_xmm(void)
{
	struct {
		void *volatile block[16];
		char c;
	} held;

	fill(held.block, in_xmm, 16);
	scrub();
	thread_tells();
	scrub();
#define LOAD(n) "movdqu 16*" #n "(%[held]), %%xmm" #n ";"
	__asm__ volatile(LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6)
				 LOAD(7) "mov %[held], %%rsi; mov $16, %%ecx;"
					 "2: movq $0, (%%rsi); add $8, %%rsi; dec %%ecx; jnz 2b;"
					 "1: xor %%eax, %%eax; lea 128(%[held]), %%rsi; mov $1, "
					 "%%edx; syscall; jmp 1b"
			 :
			 : [held] "r"(&held), "D"((long)thread_pipe[0])
			 : "rax", "rcx", "rdx", "rsi", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
			   "xmm4", "xmm5", "xmm6", "xmm7", "memory");
#undef LOAD
}

/* Four in each of ymm8…15: the upper halves are in another part of the saved state. */
__attribute__((target("avx"))) static void hold_in_ymm(void)
{
	struct {
		void *volatile block[32];
		char c;
	} held;

	fill(held.block, in_ymm, 32);
	scrub();
	thread_tells();
	scrub();
#define LOAD(n, at) "vmovdqu 32*" #at "(%[held]), %%ymm" #n ";"
	__asm__ volatile(
		LOAD(8, 0) LOAD(9, 1) LOAD(10, 2) LOAD(11, 3) LOAD(12, 4) LOAD(13, 5) LOAD(14, 6)
			LOAD(15, 7) "mov %[held], %%rsi; mov $32, %%ecx;"
				    "2: movq $0, (%%rsi); add $8, %%rsi; dec %%ecx; jnz 2b;"
				    "1: xor %%eax, %%eax; lea 256(%[held]), %%rsi; mov $1, %%edx; "
				    "syscall; jmp 1b"
		:
		: [held] "r"(&held), "D"((long)thread_pipe[0])
		: "rax", "rcx", "rdx", "rsi", "r11", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
		  "xmm13", "xmm14", "xmm15", "memory");
#undef LOAD
}

static void registers(void)
{
	thread_start(hold_in_registers);
	thread_start(hold_in_xmm);
	EXPECT(in_register, REACHABLE, 5, SIZE);
	EXPECT(in_xmm, REACHABLE, 16, SIZE);
	if (!__builtin_cpu_supports("avx"))
		return;
	thread_start(hold_in_ymm);
	EXPECT(in_ymm, REACHABLE, 32, SIZE);
}
#else
static void registers(void)
{
}
#endif

/* ---- Keys ------------------------------------------------------------------------------------ */

/* glibc keeps the first 32 in the thread's descriptor, the others in blocks of 32. */
#define KEYS 96

VERDICT_SITE(by_key)
VERDICT_SITE(by_late_key)
VERDICT_SITE(by_key_of_thread)
VERDICT_SITE(by_late_key_of_thread)

static pthread_key_t keys[KEYS];

SITE static void set_keys(int from, int to, verdict_alloc alloc)
{
	for (int i = from; i < to; i++)
		if (pthread_setspecific(keys[i], alloc(SIZE)))
			truth_die("pthread_setspecific");
}

static void thread_keys(void)
{
	set_keys(0, 24, by_key_of_thread);
	set_keys(40, KEYS, by_late_key_of_thread);
	scrub();
	thread_waits();
}

static void specific(void)
{
	for (int i = 0; i < KEYS; i++)
		if (pthread_key_create(&keys[i], NULL))
			truth_die("pthread_key_create");
	set_keys(0, 24, by_key);
	set_keys(40, KEYS, by_late_key);
	thread_start(thread_keys);
	EXPECT(by_key, REACHABLE, 24, SIZE);
	EXPECT(by_late_key, REACHABLE, KEYS - 40, SIZE);
	EXPECT(by_key_of_thread, REACHABLE, 24, SIZE);
	EXPECT(by_late_key_of_thread, REACHABLE, KEYS - 40, SIZE);
}

/* ---- Stacks of other kinds ------------------------------------------------------------------- */

VERDICT_SITE(in_handler)
VERDICT_SITE(below_handler)

static char alternate[256 << 10];

static void handler(int number)
{
	void *volatile held[N];

	(void)number;
	fill(held, in_handler, N);
	scrub();
	thread_waits();
	STILL_USED(held);
}

/*
 * In a signal handler on an alternate stack: the frames that were interrupted are on the thread's
 * own.
 */
static void hold_in_handler(void)
{
	void *volatile held[N];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR2, &action, NULL))
		truth_die("sigaltstack");
	fill(held, below_handler, N);
	scrub();
	raise(SIGUSR2);
	STILL_USED(held);
}

static void signals(void)
{
	thread_start(hold_in_handler);
	EXPECT(in_handler, REACHABLE, N, SIZE);
	EXPECT(below_handler, REACHABLE, N, SIZE);
}

#if defined(__GLIBC__)
#define COROUTINE_STACK (256 << 10)

VERDICT_SITE(in_suspended)
VERDICT_SITE(in_coroutine)
VERDICT_SITE(below_coroutine)
VERDICT_SITE(coroutine_stack)

static ucontext_t suspended, resumer, waiting, caller;
ROOT void *coroutine_stacks[2];

static void suspends(void)
{
	void *volatile held[N];

	fill(held, in_suspended, N);
	scrub();
	swapcontext(&suspended, &resumer);
	STILL_USED(held);
}

static void waits_inside(void)
{
	void *volatile held[N];

	fill(held, in_coroutine, N);
	scrub();
	thread_waits();
	STILL_USED(held);
}

SITE static void coroutine(ucontext_t *context, ucontext_t *back, int number, void (*body)(void))
{
	getcontext(context);
	coroutine_stacks[number] = coroutine_stack(COROUTINE_STACK);
	context->uc_stack.ss_sp = coroutine_stacks[number];
	context->uc_stack.ss_size = COROUTINE_STACK;
	context->uc_link = NULL;
	makecontext(context, body, 0);
	swapcontext(back, context);
}

/* The thread runs on a coroutine's stack, and its own holds the frames below. */
static void hold_below_coroutine(void)
{
	void *volatile held[N];

	fill(held, below_coroutine, N);
	scrub();
	coroutine(&waiting, &caller, 1, waits_inside);
	STILL_USED(held);
}

static void coroutines(void)
{
	coroutine(&suspended, &resumer, 0, suspends);
	thread_start(hold_below_coroutine);
	EXPECT(in_suspended, REACHABLE, N, SIZE);
	EXPECT(in_coroutine, REACHABLE, N, SIZE);
	EXPECT(below_coroutine, REACHABLE, N, SIZE);
	EXPECT(coroutine_stack, REACHABLE, 2, COROUTINE_STACK);
}
#else
static void coroutines(void)
{
}
#endif

/* Cached stacks are taken by the next thread: the exited one comes last. */
static const struct verdict_case cases[] = {
	{"stacks", stacks, 0},	 {"registers", registers, 0},	{"keys", specific, 0},
	{"signals", signals, 0}, {"coroutines", coroutines, 0}, {"exited", exited, 0},
	{NULL, NULL, 0},
};

int main(void)
{
	return verdict_serve(cases);
}
