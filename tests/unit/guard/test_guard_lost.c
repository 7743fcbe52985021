// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who makes the calls by which guards and a gate come is lost amid them, as on a machine where it, or the thread that it
 * holds, gets no processor in time: they come all the same, by another try, and nothing of the first one is left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/freeze/interposed.h"
#include "tests/unit/freezer_group.h"
#include "tests/unit/guard/gate_of_target.h"
#include "tests/unit/open_descriptors.h"
#include "user/base/clock.h"

struct kind {
	const char *name;
	int (*comes_and_goes)(char reason[static REASON_MAX]);
	size_t mappings; /* that stay, of files */
	/* Bytes of the one that is of none: as it stays, and before it has been divided. */
	uint64_t data, whole;
	int stride; /* of the steps that are tried: an odd number has both sides' words among them */
};

static int gate_comes_and_goes(char reason[static REASON_MAX])
{
	struct gate *gate = NULL;
	int err = try_gate(1000, &gate, reason);

	return err ?: gate_close(gate, false, reason);
}

static int guards_come_and_go(char reason[static REASON_MAX])
{
	const struct guard_request request = request_of(1000000);
	struct guard *guard = NULL;
	int err = guard_open(&request, &guard, reason);

	err = err ?: guard_start(guard, reason);
	return err ?: guard_close(guard, false, reason);
}

static const struct kind kinds[] = {
	{"gate", gate_comes_and_goes, 1, GATE_SIZE - GATE_HEADER, 0, 1},
	{"guards", guards_come_and_go, 3, GUARD_POOL - GUARD_CODE_SIZE,
	 GUARD_SIZE - GUARD_CODE_SIZE, 3},
};

/* Who traces one of the target's threads; 0: nobody. */
static pid_t tracer(void)
{
	char path[300];
	struct dirent *entry;
	long pid = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)target.pid);
	dir = opendir(path);
	while (dir && pid <= 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			pid = proc_status_number((pid_t)strtol(entry->d_name, NULL, 10),
						 "TracerPid", 0);
	}
	if (dir)
		closedir(dir);
	return (pid_t)pid;
}

/* Of that size and of no file. */
static size_t anonymous(uint64_t size)
{
	struct maps *maps;
	size_t count = 0;

	assert_int_equal(maps_read(target.pid, &maps), 0);
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		/* Arenas of the C library's, which grow, begin there. */
		count += !m->ino && m->write && m->end - m->start == size && m->start % (64 << 20);
	}
	maps_free(maps);
	return count;
}

/* It works on, its code is its file's, and but for what stays after any end it is as it was. How much more is mapped? */
static size_t is_well(const struct kind *kind, int had)
{
	assert_int_equal(ask("w"), 0);
	assert_int_equal(ask("c"), 0);
	assert_int_equal(tracer(), 0);
	assert_int_equal(open_descriptors_of(target.pid), had);
	assert_int_equal(mappings(), kind->mappings);
	assert_text();
	return anonymous(kind->data) + anonymous(kind->whole) - 1;
}

/* ---- killed at each step ------------------------------------------------------------------- */

struct step {
	const struct kind *kind;
	int at, seen; /* before which of the words between the tool and who holds the target, from 0 */
	pid_t holder; /* the one that came first: where threads are many, another one holds the rest meanwhile */
	int channel; /* by which the tool has a word with it; -1: it has had none */
	bool killed;
	int again; /* the next one before which of the words after that, from 0; -1: it is left alone */
};

static int step_tool(void *ctx)
{
	const struct step *step = ctx;
	char reason[REASON_MAX] = "";
	int err = step->kind->comes_and_goes(reason);

	if (err)
		fprintf(stderr, "%s, word %d: %s\n", step->kind->name, step->at, reason);
	return err != 0;
}

/*
 * Of those between the tool and this holder? Where as many threads run as there are processors another one has a word with
 * the tool as well: with it each call would be at another place from run to run.
 */
static bool step_is_holders(struct step *step, pid_t process, const struct seccomp_data *call)
{
	struct proc_stat stat;

	if (!step->holder || process == step->holder)
		return true;
	if (proc_stat(step->holder, &stat) || process != stat.ppid)
		return false;
	/* Its first word is to the one that came first. */
	if (step->channel < 0)
		step->channel = (int)call->args[0];
	return (int)call->args[0] == step->channel;
}

static void step_kills(void *ctx, pid_t process, const struct seccomp_data *call)
{
	struct step *step = ctx;
	struct proc_stat stat;

	if (!step->holder || proc_stat(step->holder, &stat) || stat.state == 'Z') {
		step->holder = tracer();
		step->channel = -1;
	}
	if (!step_is_holders(step, process, call))
		return;
	if (step->killed && step->holder && step->again-- == 0)
		kill(step->holder, SIGKILL);
	if (step->seen++ < step->at || step->killed || !step->holder)
		return;
	step->killed = true;
	kill(step->holder, SIGKILL);
}

/* How much is left over once it has been killed there, if it was. */
static size_t killed_at(struct step *step)
{
	const struct interposed it = {.calls = {SYS_sendto, SYS_sendto},
				      .run = step_tool,
				      .before = step_kills,
				      .ctx = step};
	void *state = NULL;
	size_t more;
	int had;

	step->seen = 0;
	step->holder = 0;
	step->killed = false;
	start_target(&state);
	had = open_descriptors_of(target.pid);
	assert_int_equal(interposed_run(&it), 0);
	more = is_well(step->kind, had);
	end_target(&state);
	return more;
}

#define BUSY_TRIES 5

static void killed_at_each_step(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct step step = {.kind = &kinds[k], .again = -1};
		size_t more = 0;

		do {
			int tries = 0;

			/* Or a busy machine has had the next try lost as well, amid the call of which nobody knows. */
			while (killed_at(&step) && ++tries < BUSY_TRIES)
				;
			more += tries == BUSY_TRIES;
			step.at += step.kind->stride;
		} while (step.killed);
		print_message(
			"%s: killed before one of %d words, each %d.; mappings left over: %zu\n",
			step.kind->name, step.at - step.kind->stride, step.kind->stride, more);
		/* Enough of them for each call; what one has mapped that could not say so is known to nobody. */
		assert_true(step.at > 15);
		assert_true(more <= 1);
	}
}

/* A word amid the calls that make all pages what they are: each is mapped. */
#define ALL_MAPPED 31
/* Words of the next try until it has unmapped them: that its thread stands still, and three calls. */
#define UNMAPS	   7

/* Who takes away what the first try has left is killed as well: the one after it does. */
static void killed_while_it_tidies_up(void **state)
{
	struct step step = {.kind = &kinds[1], .at = ALL_MAPPED};

	(void)state;
	for (int again = 0; again < UNMAPS; again++) {
		step.again = again;
		assert_int_equal(killed_at(&step), 0);
		assert_true(step.killed && step.again < 0);
	}
}

/* ---- no processor -------------------------------------------------------------------------- */

static struct freezer_group group;

static int thaw(void **state)
{
	(void)state;
	freezer_group_remove(&group);
	return 0;
}

struct starving {
	const struct kind *kind;
	int at, seen; /* before which of the tool's words to who holds the target, from 0 */
	pid_t helper;
};

static int starving_tool(void *ctx)
{
	const struct starving *starving = ctx;
	char reason[REASON_MAX] = "";
	int err = starving->kind->comes_and_goes(reason);

	if (err)
		fprintf(stderr, "%s, word %d: %s\n", starving->kind->name, starving->at, reason);
	return err != 0;
}

/* Until its time is over and its timer has killed it. Then the target has a processor again. */
static _Noreturn void thaw_when_killed(pid_t holder)
{
	struct pollfd one = {.fd = (int)syscall(SYS_pidfd_open, holder, 0), .events = POLLIN};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The tool tries again for a second or so from then on. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	while (one.fd >= 0 && poll(&one, 1, -1) < 0)
		;
	_exit(!freezer_group_thaw(&group));
}

static void starve(void *ctx, pid_t process, const struct seccomp_data *call)
{
	struct starving *starving = ctx;
	pid_t holder = tracer();

	(void)call;
	/* What it says itself is of what has been done, and might be lost. */
	if (!holder || process == holder || starving->helper || starving->seen++ < starving->at)
		return;
	kill(holder, SIGSTOP);
	/* Whose thread stands still by then. */
	freezer_group_freeze(&group);
	starving->helper = fork();
	if (!starving->helper)
		thaw_when_killed(holder);
}

/* Amid the calls neither the thread that is to make them, which is frozen, gets one, nor who holds it. */
static void without_a_processor(void **state)
{
	static const int words[] = {0, 2, 5};

	if (!freezer_group_make(&group, 2))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(kinds) * ARRAY_SIZE(words); i++) {
		struct starving starving = {.kind = &kinds[i / ARRAY_SIZE(words)],
					    .at = words[i % ARRAY_SIZE(words)]};
		const struct interposed it = {.calls = {SYS_sendto, SYS_sendto},
					      .run = starving_tool,
					      .before = starve,
					      .ctx = &starving};
		int had, status;

		start_target(state);
		had = open_descriptors_of(target.pid);
		freezer_group_enter(&group, "cgroup.procs", target.pid);
		assert_int_equal(interposed_run(&it), 0);
		assert_true(starving.helper > 0);
		assert_int_equal(waitpid(starving.helper, &status, 0), starving.helper);
		assert_int_equal(status, 0);
		assert_int_equal(is_well(starving.kind, had), 0);
		end_target(state);
	}
}

/* ---- frozen from the beginning -------------------------------------------------------------- */

/* Nothing is tried, and nothing is left of it; thawed it can have them. */
static void frozen(void **state)
{
	bool any = false;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(kinds); i++) {
		const struct kind *kind = &kinds[i / 2];
		char reason[REASON_MAX] = "";
		int had;

		if (!freezer_group_make(&group, 1 + i % 2))
			continue;
		any = true;
		start_target(state);
		had = open_descriptors_of(target.pid);
		freezer_group_enter(&group, "cgroup.procs", target.pid);
		freezer_group_freeze(&group);
		assert_int_equal(kind->comes_and_goes(reason), -EPERM);
		freezer_group_is_told(&group, reason);
		assert_int_equal(mappings(), 0);
		assert_int_equal(open_descriptors_of(target.pid), had);
		assert_int_equal(tracer(), 0);
		freezer_group_thaw(&group);
		if (kind->comes_and_goes(reason))
			fail_msg("%s: %s", kind->name, reason);
		assert_int_equal(is_well(kind, had), 0);
		end_target(state);
		freezer_group_remove(&group);
	}
	if (!any)
		skip();
}

/* Thaws the target when somebody has tried to stop it, and has given up. */
static _Noreturn void thaw_when_tried(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	while (!tracer())
		usleep(FREEZER_LOOK_US);
	while (tracer())
		usleep(FREEZER_LOOK_US);
	_exit(!freezer_group_thaw(&group));
}

/* Where nothing can be stopped: what has jumps is waited for, for a while. */
static void frozen_when_it_goes(void **state)
{
	struct gate *gate;
	int status;
	pid_t helper;

	if (!freezer_group_make(&group, 1))
		skip();
	start_target(state);
	freezer_group_enter(&group, "cgroup.procs", target.pid);
	gate = start_gate(1000);
	assert_true(has_jumps());
	freezer_group_freeze(&group);
	helper = fork();
	if (!helper)
		thaw_when_tried();
	close_gate(gate);
	assert_int_equal(waitpid(helper, &status, 0), helper);
	assert_int_equal(status, 0);
	assert_int_equal(ask("w"), 0);
	assert_text();
	end_target(state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_each_step),
		cmocka_unit_test(killed_while_it_tidies_up),
		cmocka_unit_test_teardown(without_a_processor, thaw),
		cmocka_unit_test_teardown(frozen, thaw),
		cmocka_unit_test_teardown(frozen_when_it_goes, thaw),
	};

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
