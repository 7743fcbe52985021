// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two processes in one memory: a child by clone(CLONE_VM), without CLONE_THREAD, that lives on. It
 * does as it is told through memory, one thing at a time.
 *	share	the child is made
 *	go	the parent allocates, keeps half, and the child frees 200 of its blocks and allocates 100
 *	hold	the child has 50 blocks that only its stack knows, until it is told something else
 *	stop	the child ends
 *	outlive	the child will not end with its parent
 *	brief	20 other children, one after the other, allocate 100 blocks each in the common memory, and end at once
 * Usage: sharer [first]; first: there is a child before it is ready.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "truth.h"

#define BLOCKS	   1000
#define FREED	   200
#define ALLOCATED  100
#define HELD	   50
#define STACK_SIZE (256 << 10)

enum order { NONE, FREE_SOME, ALLOCATE_SOME, HOLD, OUTLIVE, END };

static char extra[64];
static void *volatile from_parent[BLOCKS];
static void *volatile from_child[ALLOCATED];
static void *volatile from_brief;
static int order;
static pid_t child;

SITE static void in_parent(void)
{
	for (int i = 0; i < BLOCKS; i++)
		from_parent[i] = truth_count(THIS_SITE(), malloc(64), 64);
}

SITE static void in_child(void)
{
	for (int i = 0; i < ALLOCATED; i++)
		from_child[i] = truth_count(THIS_SITE(), malloc(96), 96);
}

SITE static void held_by_child(void)
{
	void *volatile held[HELD];

	for (int i = 0; i < HELD; i++)
		held[i] = truth_count(THIS_SITE(), malloc(72), 72);
	__atomic_store_n(&order, NONE, __ATOMIC_RELEASE);
	while (__atomic_load_n(&order, __ATOMIC_ACQUIRE) == NONE)
		usleep(1000);
	for (int i = 0; i < HELD; i++) {
		free(held[i]);
		truth_uncount(truth_site("held_by_child"), 72);
	}
}

static void free_some(void)
{
	for (int i = 0; i < FREED; i++) {
		free(from_parent[i]);
		from_parent[i] = NULL;
		truth_uncount(truth_site("in_parent"), 64);
	}
}

/* Of the C library only what needs no thread of its own: it has its parent's. */
static int child_main(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		switch (__atomic_load_n(&order, __ATOMIC_ACQUIRE)) {
		case FREE_SOME:
			free_some();
			break;
		case ALLOCATE_SOME:
			in_child();
			break;
		case HOLD:
			held_by_child();
			continue;
		case OUTLIVE:
			prctl(PR_SET_PDEATHSIG, 0);
			break;
		case END:
			__atomic_store_n(&order, NONE, __ATOMIC_RELEASE);
			_exit(0);
		default:
			usleep(1000);
			continue;
		}
		__atomic_store_n(&order, NONE, __ATOMIC_RELEASE);
	}
}

static void tell_child(enum order what)
{
	__atomic_store_n(&order, what, __ATOMIC_RELEASE);
	while (__atomic_load_n(&order, __ATOMIC_ACQUIRE) != NONE)
		usleep(1000);
}

static void share(void)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		truth_die("mmap");
	child = clone(child_main, stack + STACK_SIZE, CLONE_VM | SIGCHLD, NULL);
	if (child < 0)
		truth_die("clone");
}

#define BRIEF_CHILDREN 20

/* Ends by the system call: exit handlers are the parent's. */
static int brief_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < ALLOCATED; i++)
		from_brief = malloc(50);
	_exit(0);
}

static void brief_children(void)
{
	char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		truth_die("mmap");
	for (int i = 0; i < BRIEF_CHILDREN; i++) {
		pid_t pid = clone(brief_main, stack + STACK_SIZE, CLONE_VM | SIGCHLD, NULL);

		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			truth_die("clone");
	}
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "share")) {
		share();
	} else if (!strcmp(command, "go")) {
		in_parent();
		tell_child(FREE_SOME);
		tell_child(ALLOCATE_SOME);
	} else if (!strcmp(command, "hold")) {
		tell_child(HOLD);
	} else if (!strcmp(command, "outlive")) {
		tell_child(OUTLIVE);
	} else if (!strcmp(command, "brief")) {
		brief_children();
	} else if (!strcmp(command, "stop")) {
		tell_child(END);
		if (waitpid(child, NULL, 0) != child)
			truth_die("waitpid");
	} else {
		return NULL;
	}
	snprintf(extra, sizeof(extra), ",\"child\":%d", (int)child);
	return extra;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		share();
	return truth_serve(obey);
}
