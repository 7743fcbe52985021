// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The worker's rest: only where it says so, until it is woken. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/live/mailbox.h"

struct work {
	struct mailbox *mailbox;
	pthread_barrier_t held, release;
	atomic_bool holds; /* a process */
	atomic_uint rested;
};

static void *work_run(void *ctx)
{
	struct work *w = ctx;

	atomic_store(&w->holds, true);
	pthread_barrier_wait(&w->held);
	pthread_barrier_wait(&w->release);
	atomic_store(&w->holds, false);
	mailbox_rest(w->mailbox);
	atomic_fetch_add(&w->rested, 1);
	return NULL;
}

static void wait_done(struct mailbox *mailbox)
{
	struct pollfd fd = {.fd = mailbox_fd(mailbox), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_null(mailbox_take(mailbox));
}

static void begin(struct work *w, pthread_t *thread)
{
	*w = (struct work){.mailbox = mailbox_new()};
	assert_non_null(w->mailbox);
	pthread_barrier_init(&w->held, NULL, 2);
	pthread_barrier_init(&w->release, NULL, 2);
	assert_int_equal(pthread_create(thread, NULL, work_run, w), 0);
	pthread_barrier_wait(&w->held);
}

static void end(struct work *w, pthread_t thread)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(atomic_load(&w->rested), 1);
	pthread_barrier_destroy(&w->held);
	pthread_barrier_destroy(&w->release);
	mailbox_free(w->mailbox);
}

static void test_rests_when_nothing_is_held(void **state)
{
	pthread_t thread;
	struct work w;

	(void)state;
	begin(&w, &thread);
	mailbox_ask_rest(w.mailbox);
	assert_false(mailbox_rests(w.mailbox));
	assert_true(atomic_load(&w.holds));
	pthread_barrier_wait(&w.release);
	wait_done(w.mailbox);
	assert_true(mailbox_rests(w.mailbox));
	assert_false(atomic_load(&w.holds));
	assert_int_equal(atomic_load(&w.rested), 0);
	mailbox_wake(w.mailbox);
	end(&w, thread);
}

static void test_a_stop_wakes(void **state)
{
	pthread_t thread;
	struct work w;

	(void)state;
	begin(&w, &thread);
	mailbox_ask_rest(w.mailbox);
	pthread_barrier_wait(&w.release);
	wait_done(w.mailbox);
	mailbox_stop(w.mailbox);
	end(&w, thread);
}

static void test_who_is_not_asked_goes_on(void **state)
{
	pthread_t thread;
	struct work w;

	(void)state;
	begin(&w, &thread);
	mailbox_ask_rest(w.mailbox);
	mailbox_stop(w.mailbox);
	pthread_barrier_wait(&w.release);
	end(&w, thread);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rests_when_nothing_is_held),
		cmocka_unit_test(test_a_stop_wakes),
		cmocka_unit_test(test_who_is_not_asked_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
