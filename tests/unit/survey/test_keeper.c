// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Who is kept, by a history that the test makes: nobody but the process that a look has seen gets a gate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "tests/unit/test_proc_child.h"
#include "user/base/clock.h"
#include "user/process/proc.h"
#include "user/survey/survey_keeper.h"

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
	k->history = history_new(survey_process_free);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_another_of_that_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
