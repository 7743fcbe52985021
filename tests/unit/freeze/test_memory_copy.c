// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A process, or its fork, whose memory goes while it is read: some of it is not taken for all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "tests/unit/test_proc_child.h"
#include "user/base/clock.h"
#include "user/freeze/freeze.h"
#include "user/freeze/memory_copy.h"

#define PAGE_BYTES 4096

struct reading {
	struct memory_copy copy;
	struct child child, fork;
	void (*meanwhile)(struct reading *r); /* once some of it has been read */
	bool done;
};

static int wait_or_execute(void *arg, int number)
{
	(void)arg;
	if (number)
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	return number;
}

static bool between(void *ctx)
{
	struct reading *r = ctx;

	if (r->meanwhile && r->copy.used > PAGE_BYTES && !r->done) {
		r->done = true;
		r->meanwhile(r);
	}
	return true;
}

static void begin(struct reading *r, void (*meanwhile)(struct reading *r))
{
	char reason[REASON_MAX] = "";

	*r = (struct reading){.child = child_start(wait_or_execute, NULL)};
	assert_int_equal(memory_copy_reserve(&r->copy, r->child.pid, reason), 0);
	r->copy.between = between;
	r->copy.ctx = r;
	r->meanwhile = meanwhile;
}

static void end(struct reading *r)
{
	memory_copy_release(&r->copy);
	child_end(&r->child);
}

/* Its memory has gone when it can be waited for; who waits for it is child_end(). */
static void end_now(const struct child *child)
{
	siginfo_t info;

	assert_int_equal(kill(child->pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

static void its_end(struct reading *r)
{
	end_now(&r->child);
}

static void the_forks_end(struct reading *r)
{
	end_now(&r->fork);
}

/* Its pipes are closed by that. */
static void its_exec(struct reading *r)
{
	char byte = 0;

	assert_int_equal(write(r->child.to, &byte, 1), 1);
	assert_int_equal(read(r->child.from, &byte, 1), 0);
}

static void refused(struct reading *r, const char *why)
{
	char reason[REASON_MAX] = "";

	assert_int_equal(memory_copy_read(&r->copy, reason), -ESRCH);
	assert_true(r->done);
	assert_non_null(strstr(reason, why));
}

static void all_of_it(void **state)
{
	char reason[REASON_MAX] = "";
	struct reading r;

	(void)state;
	begin(&r, NULL);
	assert_int_equal(memory_copy_read(&r.copy, reason), 0);
	assert_int_equal(r.copy.unread_bytes, 0);
	assert_true(r.copy.used > PAGE_BYTES && r.copy.image->region_count > 1);
	end(&r);
}

static void it_ends(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, its_end);
	refused(&r, "it has ended, or become another program, before all");
	end(&r);
}

static void it_executes(void **state)
{
	struct reading r;

	(void)state;
	begin(&r, its_exec);
	refused(&r, "it has ended, or become another program, before all");
	end(&r);
}

/* Between the look at how much there is and the reading: nothing of the other program would be found. */
static void it_has_executed(void **state)
{
	char reason[REASON_MAX] = "";
	struct reading r;

	(void)state;
	begin(&r, NULL);
	its_exec(&r);
	assert_int_equal(memory_copy_read(&r.copy, reason), -ESRCH);
	assert_non_null(strstr(reason, "become another program"));
	end(&r);
}

static void its_fork_ends(void **state)
{
	char reason[REASON_MAX] = "";
	struct reading r;

	(void)state;
	begin(&r, NULL);
	/* Another one of ours has the same mappings. */
	r.fork = child_start(wait_or_execute, NULL);
	assert_int_equal(memory_copy_read_unforked(&r.copy, r.fork.pid, reason), 0);
	r.meanwhile = the_forks_end;
	assert_int_equal(memory_copy_read_forked(&r.copy, r.fork.pid, reason), -ESRCH);
	assert_true(r.done);
	assert_non_null(strstr(reason, "its copy was killed"));
	child_end(&r.fork);
	end(&r);
}

/* ---- where memory runs out ---------------------------------------------------------------- */

struct forked {
	struct freeze *freeze;
	long fork_score;
};

static long score_of(pid_t pid)
{
	char path[64];
	long score = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld", &score), 1);
	fclose(file);
	return score;
}

static int note_score(void *ctx, char reason[static REASON_MAX])
{
	struct forked *f = ctx;

	(void)reason;
	f->fork_score = score_of(freeze_account(f->freeze)->fork);
	return 0;
}

/* The kernel ends the copy first, and the process as readily as before. */
static void its_fork_goes_first(void **state)
{
	struct child child = child_start(wait_or_execute, NULL);
	struct forked f = {0};
	const struct freeze_hooks hooks = {.ctx = &f, .reading = note_score};
	struct freeze_forks forks = {0};
	char reason[REASON_MAX] = "";
	long before = score_of(child.pid);

	(void)state;
	assert_int_equal(freeze_new(child.pid, &f.freeze, reason), 0);
	if (freeze_by_fork(f.freeze, &forks, reason))
		fail_msg("no fork: %s", reason);
	if (freeze_run(f.freeze, 60 * NS_PER_S, NULL, &hooks, reason))
		fail_msg("%s", reason);
	assert_true(freeze_account(f.freeze)->fork);
	assert_int_equal(f.fork_score, 1000);
	assert_int_equal(score_of(child.pid), before);
	freeze_free(f.freeze);
	child_end(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it),	 cmocka_unit_test(it_ends),
		cmocka_unit_test(it_executes),	 cmocka_unit_test(it_has_executed),
		cmocka_unit_test(its_fork_ends), cmocka_unit_test(its_fork_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
