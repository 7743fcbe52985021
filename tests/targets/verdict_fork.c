// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A process and its forked child: each has its own verdicts. After "fork" the child answers, with a
 * truth of its own, until it is told to quit; the parent waits for it meanwhile.
 */
#include <sys/wait.h>

#include "verdict.h"

#define N    64
#define SIZE 120

VERDICT_SITE(parent_lost)
VERDICT_SITE(parent_held)
VERDICT_SITE(parent_dropped_in_child)
VERDICT_SITE(child_lost)
VERDICT_SITE(child_held)
VERDICT_SITE(child_held_by_inherited)

ROOT void **held, **dropped, *child_global[N];

SITE static void *fill(void **table, verdict_alloc alloc)
{
	for (int i = 0; i < N; i++)
		table[i] = alloc(SIZE);
	return table;
}

static void before(void)
{
	for (int i = 0; i < N; i++)
		parent_lost(SIZE);
	fill(held, parent_held);
	fill(dropped, parent_dropped_in_child);
	EXPECT(parent_lost, DEFINITE, N, SIZE);
	EXPECT(parent_held, REACHABLE, N, SIZE);
	EXPECT(parent_dropped_in_child, REACHABLE, N, SIZE);
}

/* What the child loses stays held in the parent. The child's own books begin empty. */
SITE static void child_changes(void)
{
	memset(dropped, 0, N * sizeof(*dropped));
	for (int i = 0; i < N; i++)
		child_lost(SIZE);
	fill(child_global, child_held);
	fill(held, child_held_by_inherited);
	EXPECT(child_lost, DEFINITE, N, SIZE);
	EXPECT(child_held, REACHABLE, N, SIZE);
	EXPECT(child_held_by_inherited, REACHABLE, N, SIZE);
}

static void divide(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		truth_die("fork");
	if (child == 0) {
		memset(verdict_sites, 0, sizeof(verdict_sites));
		verdict_site_count = 0;
		return;
	}
	if (waitpid(child, &status, 0) != child || status)
		truth_die("the child failed");
}

static const struct verdict_case cases[] = {
	{"before", before, 0},
	{"fork", divide, 1},
	{"child", child_changes, 1},
	{NULL, NULL, 0},
};

int main(void)
{
	held = calloc(N, sizeof(*held));
	dropped = calloc(N, sizeof(*dropped));
	if (!held || !dropped)
		truth_die("calloc");
	return verdict_serve(cases);
}
