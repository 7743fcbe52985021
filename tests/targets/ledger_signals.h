/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals for a program that keeps a ledger (ledger.h): its main thread leaves them to the others. */
#ifndef MEMLEAKBPF_TESTS_LEDGER_SIGNALS_H
#define MEMLEAKBPF_TESTS_LEDGER_SIGNALS_H

#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "ledger_children.h"

static volatile bool child_ends; /* in a child that has been forked in a handler */
static uint64_t handled;

typedef void handler(int number, siginfo_t *info, void *context);

static void set_timer(int which, int number, handler *handler, int microseconds)
{
	const struct itimerval every = {{0, microseconds}, {0, microseconds}};
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_RESTART | SA_SIGINFO};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (handler)
		sigaction(number, &action, NULL);
	if (setitimer(which, &every, NULL))
		truth_die("ledger: setitimer");
}

/* Only where the allocator may be called in a handler: signal_safe.c. */
static void on_allocate(int number, siginfo_t *info, void *context)
{
	const struct ledger_functions *f = &ledger_libc;
	uint32_t seed = (uint32_t)__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
	void *blocks[4];

	(void)number;
	(void)info;
	(void)context;
	for (int i = 0; i < 4; i++)
		blocks[i] = ledger_fill(ledger_take(f, seed + (uint32_t)i, 40 + seed % 99),
					40 + seed % 99, seed);
	for (int i = 0; i < 4; i++)
		ledger_give(f, blocks[i]);
}

#ifdef __x86_64__
/* push %rcx; push %r11; push %rax; mov $SYS_uprobe,%rax: arch/x86/kernel/uprobes.c */
static bool is_trampoline(uintptr_t page)
{
	static const unsigned char code[] = {0x51, 0x41, 0x53, 0x50, 0x48, 0xc7, 0xc0, 0x50, 0x01};

	return page && !memcmp((const void *)page, code, sizeof(code));
}

/* Is there such a call among the next bytes? It goes to the beginning of a page. */
static bool calls_trampoline(const unsigned char *code)
{
	for (int i = 0; i < 24; i++) {
		int32_t distance;
		uintptr_t to;

		memcpy(&distance, code + i + 1, sizeof(distance));
		to = (uintptr_t)code + (uintptr_t)i + 5 + (uintptr_t)(intptr_t)distance;
		if (code[i] == 0xe8 && !(to % 4096) && is_trampoline(to))
			return true;
	}
	return false;
}
#endif

/*
 * A probe that the kernel has optimised is a call of a page that up to 7.1 a forked child has not
 * (VM_DONTCOPY). The gate's code asks right before a probe whether it is in a child; but whoever is
 * interrupted between that and the probe, or in that page, by a handler which forks a child that
 * returns from it, has a child that dies.
 */
static bool about_to_be_probed(const ucontext_t *context)
{
#ifdef __x86_64__
	const unsigned char *ip = (const unsigned char *)context->uc_mcontext.gregs[REG_RIP];
	int32_t distance;

	if (is_trampoline((uintptr_t)ip & ~(uintptr_t)4095) || calls_trampoline(ip))
		return true;
	if (*ip == 0x75) /* jne */
		return calls_trampoline(ip + 2 + (signed char)ip[1]);
	if (ip[0] != 0x0f || ip[1] != 0x85)
		return false;
	memcpy(&distance, ip + 2, sizeof(distance));
	return calls_trampoline(ip + 6 + distance);
#else
	(void)context;
	return false;
#endif
}

/*
 * The program has one thread that works, so that the child is a whole one. By the system call: it
 * may come in the midst of malloc, and fork() would wait for its locks.
 */
static void on_fork(int number, siginfo_t *info, void *context)
{
	pid_t child;

	(void)number;
	(void)info;
	if (about_to_be_probed(context))
		return;
	if (__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED) % 4)
		return;
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!child)
		child_ends = true;
	else
		must_end_well(child, "a handler");
}

static void on_profile(int number, siginfo_t *info, void *context)
{
	void *frames[32];

	(void)number;
	(void)info;
	(void)context;
	if (backtrace(frames, 32) < 1)
		truth_die("ledger: backtrace");
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void start_profile(void)
{
	void *frame;

	backtrace(&frame, 1); /* loads a library */
	set_timer(ITIMER_PROF, SIGPROF, on_profile, 1000);
}

#endif
