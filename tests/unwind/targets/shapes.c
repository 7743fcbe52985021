// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocations below every shape of C frame that has its own unwind rules. Built several times with
 * different options.
 */
#include "truth.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define KEEP(p)	 __asm__ volatile("" : : "r"(p) : "memory")

static void *volatile sink;

/* An armed allocation. The barrier after it forbids a tail call. */
static NOINLINE void leaf(size_t size)
{
	truth_arm();
	sink = malloc(size);
	truth_disarm();
}

static NOINLINE int nest(int depth, int a)
{
	volatile int local = a + depth;

	if (depth)
		return nest(depth - 1, local) + local;
	leaf(16);
	return local;
}

static NOINLINE void with_alloca(size_t n)
{
	char *p = alloca(n);

	memset(p, 1, n);
	KEEP(p);
	leaf(17);
	KEEP(p);
}

static NOINLINE void with_array(size_t n)
{
	volatile char array[n];

	array[n - 1] = 1;
	KEEP(array);
	leaf(18);
	KEEP(array);
}

static NOINLINE void realigned(int x)
{
	_Alignas(64) char wide[64];

	memset(wide, x, sizeof(wide));
	KEEP(wide);
	leaf(19);
	KEEP(wide);
}

static NOINLINE void realigned_alloca(size_t n)
{
	_Alignas(64) char wide[64];
	char *p = alloca(n);

	KEEP(wide);
	KEEP(p);
	leaf(20);
	KEEP(wide);
}

static NOINLINE void big_frame(int x)
{
	char big[100000];

	memset(big, x, sizeof(big));
	KEEP(big);
	leaf(21);
	KEEP(big);
}

static NOINLINE void many_registers(long a, long b, long c, long d, long e, long f)
{
	leaf(22);
	KEEP(a + b + c);
	KEEP(d + e + f);
	leaf(23);
	KEEP(a * b * c * d * e * f);
}

static int compare(const void *a, const void *b)
{
	leaf(24);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void callbacks(void)
{
	int numbers[] = {3, 1, 2}, key = 2;

	qsort(numbers, 3, sizeof(numbers[0]), compare);
	sink = bsearch(&key, numbers, 3, sizeof(numbers[0]), compare);
}

static NOINLINE void in_libc(void)
{
	truth_arm();
	sink = strdup("text");
	sink = strndup("text", 3);
	truth_disarm();
}

static NOINLINE void one_frame_tail_call(size_t size)
{
	leaf(size); /* becomes a jump at -O2: both sides miss this frame */
}

static void on_signal(int signal)
{
	leaf((size_t)signal + 100);
}

static NOINLINE void signals(int flags)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
}

static NOINLINE void alternate_stack(void)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&ss, NULL);
	signals(SA_ONSTACK);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	static char page[4096];

	(void)signal;
	(void)info;
	leaf(200);
	/* The faulting instruction stores through a register that is put right here. */
#if defined(__x86_64__)
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = (intptr_t)page;
#else
	((ucontext_t *)context)->uc_mcontext.regs[0] = (uintptr_t)page;
#endif
}

/* A signal in the middle of a function, at its very first instruction that touches memory. */
static NOINLINE void faults(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &action, NULL);
#if defined(__x86_64__)
	__asm__ volatile("xor %%eax,%%eax; movb $1,(%%rax)" ::: "rax", "memory");
#else
	__asm__ volatile("mov x0,#0; strb wzr,[x0]" ::: "x0", "memory");
#endif
}

static void *in_thread(void *arg)
{
	nest(3, (int)(intptr_t)arg);
	return NULL;
}

static NOINLINE void threads(void)
{
	pthread_t thread;

	for (intptr_t i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, in_thread, (void *)i);
		pthread_join(thread, NULL);
	}
}

#ifdef __GLIBC__
static ucontext_t main_context, other_context;

static void in_context(void)
{
	nest(2, 1);
	swapcontext(&other_context, &main_context);
	nest(1, 1);
}

static NOINLINE void contexts(void)
{
	static char stack[65536];

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = sizeof(stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, in_context, 0);
	swapcontext(&main_context, &other_context);
	swapcontext(&main_context, &other_context);
}
#else
static void contexts(void)
{
	/* musl has no makecontext(). */
}
#endif

static jmp_buf jump;

static NOINLINE void jumper(int depth)
{
	if (depth)
		jumper(depth - 1);
	else
		leaf(25);
	longjmp(jump, 1);
}

static NOINLINE void jumps(void)
{
	if (!setjmp(jump))
		jumper(3);
	leaf(26);
}

static NOINLINE void vforks(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	leaf(27);
}

static __attribute__((constructor)) void first_steps(void)
{
	if (getenv("TRUTH_CONSTRUCTOR")) {
		truth_ready();
		leaf(28);
	}
}

int main(void)
{
	if (!getenv("TRUTH_CONSTRUCTOR"))
		truth_ready();
	leaf(1);
	for (int i = 1; i < 12; i++)
		nest(i, i);
	nest(100, 1);
	nest(200, 1);
	with_alloca((size_t)getpid() % 1000 + 1);
	with_array((size_t)getpid() % 1000 + 1);
	realigned(1);
	realigned_alloca((size_t)getpid() % 1000 + 1);
	big_frame(1);
	many_registers(1, 2, 3, 4, 5, getpid());
	callbacks();
	in_libc();
	one_frame_tail_call(33);
	signals(0);
	alternate_stack();
	faults();
	threads();
	contexts();
	jumps();
	vforks();
	truth_done();
}
