// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Threads in signal handlers: what these have interrupted must stay as it is. Code that they go back to: test_stop_write.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <alloca.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/freeze/remote_target.h"
#include "user/freeze/remote.h"
#include "user/freeze/text_write.h"

#if !defined(__x86_64__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only");
	return 0;
}
#else
#define HOLD	    (10 * NS_PER_S)

/* What the handler has interrupted lies below the array that it runs on: it must stay as it is. */
static unsigned char *interrupted;
#define INTERRUPTED (64 * 1024)

static void look_at_interrupted(int signal)
{
	(void)signal;
	for (;;) {
		for (size_t i = 0; i < INTERRUPTED; i++)
			books->bad_calls += interrupted[i] != 0x5a;
		__atomic_add_fetch(&books->turns, 1, __ATOMIC_RELAXED);
	}
}

static __attribute__((noinline)) void be_interrupted(void)
{
	unsigned char bytes[INTERRUPTED];

	memset(bytes, 0x5a, sizeof(bytes));
	interrupted = bytes;
	raise(SIGUSR2);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static void *handler_on_own_stack(void *arg)
{
	/* Little more than the kernel's frame needs. */
	const size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1024;
	char *array = alloca(size);
	const stack_t stack = {.ss_sp = array, .ss_size = size};
	const struct sigaction action = {.sa_handler = look_at_interrupted, .sa_flags = SA_ONSTACK};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &action, NULL);
	be_interrupted();
	__asm__ volatile("" : : "r"(array) : "memory");
	return arg;
}

static void on_a_handlers_stack(void **state)
{
	char why[REASON_MAX] = "";
	struct remote *r;

	(void)state;
	target_start(handler_on_own_stack);
	assert_true(moves(&books->turns));
	if (!remote_begin(target, HOLD, &r, why))
		remote_end(r);
	else
		assert_non_null(strstr(why, "no room on a stack of the usual kind"));
	assert_true(moves(&books->turns));
	assert_int_equal(books->bad_calls, 0);
	assert_true(*why);
	target_end();
}

static bool always(void *ctx)
{
	return ctx == NULL;
}

static bool never_late(void *ctx)
{
	return ctx != NULL;
}

/* Nothing is written where there is no time to look at all stacks. */
static void no_time_to_look(void **state)
{
	static const unsigned char code[1] __attribute__((aligned(64))) = {1};
	const struct stop_piece piece = {
		.address = (uint64_t)(uintptr_t)code,
		.from = (uint64_t)(uintptr_t)code,
		.to = (uint64_t)(uintptr_t)code + 1,
		.length = 1,
		.expected = {1},
		.bytes = {2},
	};
	struct tracee only = {0};
	struct tracees all = {.items = &only, .count = 1, .is_late = always};
	char why[REASON_MAX] = "";

	(void)state;
	target_start(turn);
	assert_true(moves(&books->turns));
	all.pid = target;
	only.thread = (struct stop_thread){.tid = target, .sp = (uint64_t)(uintptr_t)&piece};
	assert_int_equal(text_write(&all, &piece, 1, why), -ETIMEDOUT);
	assert_non_null(strstr(why, "takes too long"));
	all.is_late = never_late;
	assert_int_equal(text_write(&all, &piece, 1, why), 0);
	target_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_a_handlers_stack),
		cmocka_unit_test(no_time_to_look),
	};

	return books_open() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
#endif
