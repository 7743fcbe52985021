// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What probes cost is counted of all that a target comes to: of guards' as well, and of what stands in for them before 5.15. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "tests/unit/trace/asked_child.h"
#include "user/base/util.h"
#include "user/model/guard_state.h"
#include "user/trace/cost.h"
#include "user/trace/trace.h"

#define BLOCKS 1000

static void allocate(unsigned char byte, size_t blocks)
{
	(void)byte;
	for (size_t i = 0; i < blocks; i++) {
		void *volatile block = malloc(40);

		free(block);
	}
}

static void nothing(void *ctx, struct target *target)
{
	(void)ctx;
	(void)target;
}

static struct trace_options usual_options(void)
{
	struct trace_options options = {
		.max_size = UINT64_MAX,
		.max_frames = 16,
		.max_live = 65536,
		.max_stacks = 1024,
	};

	assert_int_equal(trace_options_choose(&options, ATTACH_AUTO), 0);
	return options;
}

/* What it takes that the child allocates once. NULL: this kernel cannot do that. */
static struct trace *traced(const struct trace_options *options, const struct child *child,
			    struct trace_cost *cost)
{
	const struct trace_callbacks callbacks = {.attached = nothing, .ended = nothing};
	struct trace_cost before = {0};
	struct trace *trace = NULL;
	int err = trace_new(options, &callbacks, &trace);

	if (err == -EOPNOTSUPP)
		return NULL;
	assert_int_equal(err, 0);
	assert_int_equal(trace_add_process(trace, child->pid), 0);
	assert_int_equal(trace_cost_start(trace), 0);
	assert_int_equal(trace_cost_read(trace, &before), 0);
	child_ask(child, 1);
	assert_int_equal(trace_cost_read(trace, cost), 0);
	cost->hits -= before.hits;
	cost->ns -= before.ns;
	cost->run_ns -= before.run_ns;
	return trace;
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("needs root\n");
	skip();
}

/* malloc, its return, and free have a probe each; each block is told of when it begins and ends. */
static void test_guards_count(void **state)
{
	struct trace_options options;
	struct guard_figures guards;
	struct trace_cost cost = {0};
	struct trace *trace;
	struct child child;

	(void)state;
	need_root();
	options = usual_options();
	options.guard.period = 1;
	options.guard.places = 64;
	child_begin(&child, allocate, BLOCKS);
	trace = traced(&options, &child, &cost);
	if (!trace) {
		child_end(&child);
		print_message("no guards on this kernel or machine\n");
		skip();
	}
	trace_read_guards(trace, trace_find_target(trace, child.pid), &guards);
	assert_true(guards.state.on);
	assert_true(guards.state.guarded >= BLOCKS);
	assert_true(cost.hits >= 5 * BLOCKS);
	assert_true(cost.ns > cost.run_ns);
	trace_free(trace);
	child_end(&child);
}

static void test_old_programs_count(void **state)
{
	struct trace_options options;
	struct trace_cost cost = {0};
	struct trace *trace;
	struct child child;

	(void)state;
	need_root();
	options = usual_options();
	options.attach = ATTACH_SINGLE;
	options.old = options.frame_pointers = true;
	options.task_storage = options.find_vma = options.sleepers = false;
	child_begin(&child, allocate, BLOCKS);
	trace = traced(&options, &child, &cost);
	assert_non_null(trace);
	assert_true(cost.hits >= 3 * BLOCKS);
	assert_true(cost.ns > cost.run_ns);
	trace_free(trace);
	child_end(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guards_count),
		cmocka_unit_test(test_old_programs_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
