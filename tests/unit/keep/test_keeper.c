// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who is kept, by a history that the test makes: nobody but the process that a look has seen gets a gate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/freezer_group.h"
#include "tests/unit/test_proc_child.h"
#include "user/base/clock.h"
#include "user/process/proc.h"
#include "user/keep/keep_shares.h"
#include "user/keep/survey_keeper.h"

#define TICKS_MAX 200

static const char filter[] = "comm=^keep-me$";
static const char *const filter_list[] = {filter};

static struct survey_config config = {
	.scope = {.user = (uid_t)-1},
	.gate = true,
	.keep = {.filters = {.items = filter_list, .count = 1},
		 .sample_bytes = 4096,
		 .rate = 1000,
		 .processes = 16,
		 .live = 1024,
		 .live_all = 4096,
		 .stacks = 1024,
		 .memory = UINT64_MAX},
};

struct keeping {
	struct history *history;
	struct survey_scope *scope;
	struct survey_keeper *keeper;
};

static void keeping_begin(struct keeping *k)
{
	k->history = history_new(NS_PER_S, &survey_process_hooks);
	k->scope = survey_scope_new(&config.scope);
	assert_true(k->history && k->scope);
	k->keeper = survey_keeper_new(&config, k->history, k->scope, NULL);
	assert_non_null(k->keeper);
}

static void keeping_end(struct keeping *k)
{
	survey_keeper_free(k->keeper);
	history_free(k->history);
	survey_scope_free(k->scope);
}

/* A look that has seen a process of that number, which had begun at that time. How many are sampled then. */
static uint64_t look(struct keeping *k, pid_t pid, uint64_t start_ticks)
{
	struct process_sample sample = {.pid = pid,
					.ppid = 1,
					.start_ticks = start_ticks,
					.threads = 1,
					.comm = "keep-me",
					.anon = 1 << 20};
	struct process_list list = {.items = &sample, .count = 1};

	assert_int_equal(history_update(k->history, monotonic_ns(), &list), 0);
	assert_int_equal(survey_keeper_tick(k->keeper), 0);
	return survey_keeper_report(k->keeper)->sampled;
}

static bool has_gate(pid_t pid)
{
	char path[64], line[4096];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "memleakbpf-gate") != NULL;
	fclose(maps);
	return found;
}

static int say_reason(void *ctx, const struct kept_process *p)
{
	(void)ctx;
	print_message("process %d: %s\n", (int)p->pid, p->reason ?: "sampled");
	return 0;
}

/* Between a look and its gate a process may end, and its number be another's. */
static void not_another_of_that_number(void **state)
{
	struct keeping k;
	struct child child;
	struct proc_stat stat;
	uint64_t sampled = 0;

	(void)state;
	need_root();
	keeping_begin(&k);
	child = child_start(NULL, NULL);
	assert_int_equal(proc_stat(child.pid, &stat), 0);
	assert_int_equal(look(&k, child.pid, stat.start_ticks - 1), 0);
	assert_false(has_gate(child.pid));
	/* Nor at the next look, as long as that sees the other one. */
	assert_int_equal(look(&k, child.pid, stat.start_ticks - 1), 0);
	assert_false(has_gate(child.pid));
	/* It has been seen itself. */
	for (int i = 0; i < TICKS_MAX && !sampled; i++)
		sampled = look(&k, child.pid, stat.start_ticks);
	if (!sampled)
		survey_keeper_each(k.keeper, say_reason, NULL);
	assert_int_equal(sampled, 1);
	assert_true(has_gate(child.pid));
	child_step(&child);
	keeping_end(&k);
	child_end(&child);
}

/* ---- shares --------------------------------------------------------------------------------- */

#define SOMEBODY 54321

struct some {
	struct process_sample items[8];
	size_t count;
};

static struct child some_begin(struct some *some, uid_t ruid)
{
	struct child child = child_start(NULL, NULL);
	struct proc_stat stat;

	assert_int_equal(proc_stat(child.pid, &stat), 0);
	some->items[some->count++] = (struct process_sample){
		.pid = child.pid,
		.ppid = 1,
		.start_ticks = stat.start_ticks,
		.threads = 1,
		.comm = "keep-me",
		.ruid = ruid,
		/* The survey's order is theirs. */
		.anon = (uint64_t)(100 - some->count) << 20,
	};
	return child;
}

/* A look, and those that follow at once. Whether the process is sampled then; else why not. */
static const char *why_not(struct keeping *k, struct some *some, pid_t pid)
{
	struct process_list list = {.items = some->items, .count = some->count};
	const struct history_process *p;
	const struct survey_process *data;

	assert_int_equal(history_update(k->history, monotonic_ns(), &list), 0);
	do {
		assert_int_equal(survey_keeper_tick(k->keeper), 0);
	} while (survey_keeper_is_hungry(k->keeper));
	p = history_find(k->history, pid);
	assert_non_null(p);
	data = p->user_data;
	assert_true(data && data->kept_named);
	return data->kept.sampled ? NULL : data->kept.reason;
}

static void assert_sampled(struct keeping *k, struct some *some, pid_t pid)
{
	const char *why = why_not(k, some, pid);

	for (int i = 0; i < TICKS_MAX && why; i++)
		why = why_not(k, some, pid);
	if (why)
		fail_msg("%d: %s", (int)pid, why);
}

static void assert_not(struct keeping *k, struct some *some, pid_t pid, const char *reason)
{
	const char *why = why_not(k, some, pid);

	if (!why || !strstr(why, reason))
		fail_msg("%d: %s", (int)pid, why ?: "sampled");
}

/* Whoever has many of a name has not all places: another's process gets one, and the last of theirs goes, for a reason. */
static void places_for_all(void **state)
{
	const uint32_t processes = config.keep.processes;
	struct some some = {.count = 0};
	struct child theirs[3], ours[2];
	struct keeping k;

	(void)state;
	need_root();
	config.keep.processes = 2;
	keeping_begin(&k);
	theirs[0] = some_begin(&some, SOMEBODY);
	assert_sampled(&k, &some, theirs[0].pid);
	theirs[1] = some_begin(&some, SOMEBODY);
	assert_sampled(&k, &some, theirs[1].pid);
	theirs[2] = some_begin(&some, SOMEBODY);
	assert_not(&k, &some, theirs[2].pid, "2 are sampled already (--keep-processes), 2 of them");
	ours[0] = some_begin(&some, 0);
	assert_sampled(&k, &some, ours[0].pid);
	/* For ten seconds it is told whose its place is. */
	assert_not(&k, &some, theirs[1].pid, "--keep-processes");
	assert_false(has_gate(theirs[2].pid));
	assert_sampled(&k, &some, theirs[0].pid);
	/* Now they have as many each. */
	ours[1] = some_begin(&some, 0);
	assert_not(&k, &some, ours[1].pid, "1 of them its own user's, which is that user's share");
	assert_sampled(&k, &some, theirs[0].pid);
	assert_int_equal(survey_keeper_report(k.keeper)->sampled, 2);
	for (size_t i = 0; i < 3; i++)
		child_step(&theirs[i]);
	keeping_end(&k);
	config.keep.processes = processes;
	for (size_t i = 0; i < 3; i++)
		child_end(&theirs[i]);
	for (size_t i = 0; i < 2; i++)
		child_end(&ours[i]);
}

/* Of those that wait each user's one comes first, however many another has before it in the survey's order. */
static void turns_for_all(void **state)
{
	struct kept theirs[3] = {{.owner = share_of_user(SOMEBODY)},
				 {.owner = share_of_user(SOMEBODY)},
				 {.owner = share_of_user(SOMEBODY)}};
	struct kept ours = {.owner = share_of_user(0)};
	struct keep_shares shares = {0};
	struct keep_waiter next;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			keep_shares_add(&shares, &(struct keep_waiter){.kept = &theirs[i]}), 0);
	assert_true(keep_shares_next(&shares, &next));
	assert_ptr_equal(next.kept, &theirs[0]);
	assert_int_equal(keep_shares_add(&shares, &(struct keep_waiter){.kept = &ours}), 0);
	assert_true(keep_shares_next(&shares, &next));
	assert_ptr_equal(next.kept, &ours);
	assert_true(keep_shares_next(&shares, &next));
	assert_ptr_equal(next.kept, &theirs[1]);
	assert_true(keep_shares_next(&shares, &next));
	assert_false(keep_shares_next(&shares, &next));
	keep_shares_clear(&shares);
}

/* ---- frozen --------------------------------------------------------------------------------- */

static int is_told_frozen(void *ctx, const struct kept_process *p)
{
	bool *told = ctx;

	*told |= !p->gated && p->reason &&
		 strstr(p->reason, "it is frozen; thaw it first (control group ");
	return 0;
}

static struct freezer_group group;
static struct child frozen_child;

static int thaw(void **state)
{
	(void)state;
	if (*group.directory)
		freezer_group_thaw(&group);
	if (frozen_child.pid)
		child_end(&frozen_child);
	freezer_group_remove(&group);
	return 0;
}

/* However often it has been looked at in vain, the look after it has been thawed is the one. */
static void the_look_after_the_thaw(void **state)
{
	struct child *child = &frozen_child;
	struct keeping k;
	struct proc_stat stat;

	(void)state;
	need_root();
	if (!freezer_group_make(&group, 2) && !freezer_group_make(&group, 1))
		skip();
	keeping_begin(&k);
	*child = child_start(NULL, NULL);
	assert_int_equal(proc_stat(child->pid, &stat), 0);
	freezer_group_enter(&group, "cgroup.procs", child->pid);
	freezer_group_freeze(&group);
	for (int i = 0; i < 10; i++) {
		bool told = false;

		assert_int_equal(look(&k, child->pid, stat.start_ticks), 0);
		survey_keeper_each(k.keeper, is_told_frozen, &told);
		assert_true(told);
		assert_false(has_gate(child->pid));
	}
	freezer_group_thaw(&group);
	if (!look(&k, child->pid, stat.start_ticks))
		survey_keeper_each(k.keeper, say_reason, NULL);
	assert_true(has_gate(child->pid));
	child_step(child);
	keeping_end(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_another_of_that_number),
		cmocka_unit_test(places_for_all),
		cmocka_unit_test(turns_for_all),
		cmocka_unit_test_teardown(the_look_after_the_thaw, thaw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
