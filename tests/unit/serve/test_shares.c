// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who has to give something up where many want it: places, memory and turns for profiles, and connections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/serve/http_clients.h"
#include "user/serve/profile_queue.h"

#define ROOT	  0
#define SUBUID(i) (100000 + (i))

static struct share_owner most_of(const uid_t *uids, size_t count, uid_t comer)
{
	struct share_owner owners[64], whose = share_of_user(comer);

	for (size_t i = 0; i < count; i++)
		owners[i] = share_of_user(uids[i]);
	shares_sort(owners, count);
	return shares_most(owners, count, &whose);
}

static void who_has_most(void **state)
{
	static const uid_t some[] = {7, 1000, 7, 1001, 1000, 7, 5};
	static const uid_t ranges[] = {SUBUID(1), 7, SUBUID(2), 7, SUBUID(3), SUBUID(2), 7};
	struct share_owner network = {.kind = SHARE_IPV6, .group = 7, .one = 7};
	struct share_owner user = share_of_user(7);

	(void)state;
	assert_int_equal(most_of(some, 0, 3).one, 3);
	assert_int_equal(most_of(some, ARRAY_SIZE(some), 3).one, 7);
	assert_int_equal(most_of(some, ARRAY_SIZE(some), 5).one, 7);
	/* He would have as many as the others: nothing is won. */
	assert_int_equal(most_of(some, ARRAY_SIZE(some), 1000).one, 1000);
	assert_int_equal(most_of(some, ARRAY_SIZE(some), 7).one, 7);
	/* A range of users has one share, and within it whoever has most of that. */
	assert_int_equal(most_of(ranges, ARRAY_SIZE(ranges), 3).one, SUBUID(2));
	assert_int_equal(most_of(ranges, ARRAY_SIZE(ranges), 7).one, 7);
	assert_int_equal(most_of(ranges, ARRAY_SIZE(ranges), SUBUID(4)).one, SUBUID(2));
	assert_int_equal(most_of(ranges, ARRAY_SIZE(ranges), SUBUID(1)).one, SUBUID(1));
	assert_false(share_same_owner(&network, &user));
}

/* ---- profiles ----------------------------------------------------------------------------- */

static const char *told[PROFILE_QUEUE_JOBS_MAX]; /* by the number of who asked */
static int asked[PROFILE_QUEUE_JOBS_MAX];

static void wake(void *ctx)
{
	++*(int *)ctx;
}

static struct profile_job *ask(struct profile_queue *q, uid_t uid, int number)
{
	const struct profile_ask what = {.pid = 1, .seconds = 600};
	const struct share_owner owner = share_of_user(uid);

	asked[number] = number;
	told[number] = NULL;
	return profile_queue_add(q, &what, &owner, &asked[number]);
}

struct asking {
	struct profile_queue *queue;
	struct profile_job *jobs[PROFILE_QUEUE_JOBS_MAX];
};

static void ready(void *ctx, void *owner)
{
	bool *is_ready = ctx;

	is_ready[*(int *)owner] = true;
}

static void collect(struct asking *a)
{
	bool is_ready[PROFILE_QUEUE_JOBS_MAX] = {false};

	profile_queue_collect(a->queue, ready, is_ready);
	for (int i = 0; i < PROFILE_QUEUE_JOBS_MAX; i++) {
		if (is_ready[i])
			told[i] = profile_queue_answer(a->queue, a->jobs[i]).text;
	}
}

/* Whoever has all places gives up half of them and no more, a range of users as one of them. */
static void places(void **state)
{
	struct asking a;
	int woken = 0, n = 0;

	(void)state;
	a.queue = profile_queue_new(60 * NS_PER_S, wake, &woken);
	for (; n < PROFILE_QUEUE_MAX; n++) {
		a.jobs[n] = ask(a.queue, SUBUID(n), n);
		assert_non_null(a.jobs[n]);
	}
	assert_null(ask(a.queue, SUBUID(0), n));
	for (int i = 0; i < PROFILE_QUEUE_MAX / 2; i++, n++) {
		a.jobs[n] = ask(a.queue, ROOT, n);
		assert_non_null(a.jobs[n]);
	}
	assert_null(ask(a.queue, ROOT, n));
	collect(&a);
	for (int i = 0, gone = 0; i < n; i++) {
		gone += told[i] != NULL;
		if (told[i])
			assert_non_null(strstr(told[i], "others have asked"));
		if (i == PROFILE_QUEUE_MAX - 1)
			assert_int_equal(gone, PROFILE_QUEUE_MAX / 2);
		else if (i >= PROFILE_QUEUE_MAX)
			assert_null(told[i]);
	}
	/* One that is released makes room for anybody. */
	profile_queue_release(a.queue, a.jobs[--n]);
	a.jobs[n] = ask(a.queue, SUBUID(0), n);
	assert_non_null(a.jobs[n]);
	profile_queue_free(a.queue);
}

/* Answers that nobody reads hold no places: but as many as there are connections. */
static void unread(void **state)
{
	static const struct profile_answer answer = {.status = 200, .text = "made"};
	struct asking a;
	int woken = 0;

	(void)state;
	a.queue = profile_queue_new(60 * NS_PER_S, wake, &woken);
	for (int n = 0; n < PROFILE_QUEUE_JOBS_MAX; n++) {
		a.jobs[n] = ask(a.queue, 7, n);
		assert_non_null(a.jobs[n]);
		assert_ptr_equal(profile_queue_take(a.queue), a.jobs[n]);
		profile_queue_finish(a.queue, a.jobs[n], &answer);
		collect(&a);
		assert_string_equal(told[n], "made");
	}
	profile_queue_free(a.queue);
}

/* Who asks for one is not behind all those of somebody who asks for many. */
static void turns(void **state)
{
	static const struct profile_answer answer = {.status = 200, .text = "made"};
	struct asking a;
	int woken = 0;

	(void)state;
	a.queue = profile_queue_new(60 * NS_PER_S, wake, &woken);
	for (int n = 0; n < 100; n++)
		a.jobs[n] = ask(a.queue, SUBUID(n), n);
	assert_ptr_equal(profile_queue_take(a.queue), a.jobs[0]);
	profile_queue_finish(a.queue, a.jobs[0], &answer);
	a.jobs[100] = ask(a.queue, ROOT, 100);
	a.jobs[101] = ask(a.queue, ROOT, 101);
	assert_ptr_equal(profile_queue_take(a.queue), a.jobs[100]);
	profile_queue_finish(a.queue, a.jobs[100], &answer);
	assert_ptr_equal(profile_queue_take(a.queue), a.jobs[1]);
	profile_queue_finish(a.queue, a.jobs[1], &answer);
	assert_ptr_equal(profile_queue_take(a.queue), a.jobs[101]);
	profile_queue_finish(a.queue, a.jobs[101], &answer);
	assert_ptr_equal(profile_queue_take(a.queue), a.jobs[2]);
	profile_queue_finish(a.queue, a.jobs[2], &answer);
	profile_queue_free(a.queue);
}

/* 4 MB */
static struct report *large_report(void)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct report *report;

	assert_non_null(s);
	s->stack_count = 100000;
	s->stacks = calloc(s->stack_count, sizeof(*s->stacks));
	assert_non_null(s->stacks);
	report = report_new(s);
	assert_non_null(report);
	return report;
}

static bool put_back(struct asking *a, int number, const struct report *report)
{
	struct profile_base *base = profile_base_new(report);

	assert_non_null(base);
	assert_ptr_equal(profile_queue_take(a->queue), a->jobs[number]);
	if (profile_queue_put_back(a->queue, a->jobs[number], base))
		return true;
	profile_base_free(base);
	profile_queue_finish(a->queue, a->jobs[number],
			     &(struct profile_answer){.status = 503, .text = "no memory"});
	return false;
}

/* Whoever has all memory for requests with seconds= gives up some of it. */
static void memory(void **state)
{
	struct report *report = large_report();
	struct asking a;
	int woken = 0, n = 0;

	(void)state;
	a.queue = profile_queue_new(60 * NS_PER_S, wake, &woken);
	for (;; n++) {
		a.jobs[n] = ask(a.queue, 7, n);
		if (!put_back(&a, n, report))
			break;
	}
	assert_in_range(n, 10, 20);
	assert_int_equal(woken, 1);
	a.jobs[n + 1] = ask(a.queue, ROOT, n + 1);
	assert_true(put_back(&a, n + 1, report));
	assert_int_equal(woken, 2);
	collect(&a);
	assert_string_equal(told[n], "no memory");
	assert_non_null(strstr(told[n - 1], "others have asked"));
	assert_null(told[n - 2]);
	assert_null(told[n + 1]);
	profile_queue_free(a.queue);
	report_free(report);
}

/* ---- connections -------------------------------------------------------------------------- */

/* Two that make as many as they may take none from a third, who has asked before them. */
static void connections(void **state)
{
	struct http_clients clients = {0};
	struct http_client *asking, *all[2 * HTTP_CLIENTS_PER_OWNER];
	struct share_owner owner = share_of_user(ROOT);
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			 0);
	asking = http_clients_add(&clients, ends[0], &owner);
	http_client_asks(asking, true);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		owner = share_of_user((uid_t)(7 + i / HTTP_CLIENTS_PER_OWNER));
		all[i] = http_clients_add(&clients, -1, &owner);
		assert_non_null(all[i]);
		http_client_asks(all[i], true);
	}
	assert_int_equal(clients.count, HTTP_CLIENTS_MAX);
	/* It has not been shut down. */
	assert_int_equal(send(ends[0], "x", 1, MSG_NOSIGNAL), 1);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		http_clients_remove(&clients, all[i]);
	http_clients_remove(&clients, asking);
	assert_int_equal(clients.count, 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_most), cmocka_unit_test(places),
		cmocka_unit_test(unread),	cmocka_unit_test(turns),
		cmocka_unit_test(memory),	cmocka_unit_test(connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
