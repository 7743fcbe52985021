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
#include <stdio.h>
#include <sys/stat.h>

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__)
int main(void)
{
	puts("1..0 # SKIP x86_64 only, and the C library's own malloc");
	return 0;
}
#else
#include "tests/unit/freeze/interposed.h"
#include "tests/unit/guard/gate_of_target.h"
#include "tests/unit/open_descriptors.h"
#include "user/base/clock.h"

#define LOOK_US 200 /* between two looks at what the kernel does not announce */

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

static char group[64];

static bool make_group(void)
{
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		char path[96];

		snprintf(group, sizeof(group), "%s/memleakbpf-lost-%d", roots[i], (int)getpid());
		if (mkdir(group, 0755))
			continue;
		snprintf(path, sizeof(path), "%s/cgroup.freeze", group);
		if (!access(path, W_OK))
			return true;
		rmdir(group);
	}
	return false;
}

static void write_group(const char *name, const char *text)
{
	char path[96];
	int file;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), strlen(text));
	close(file);
}

static bool is_frozen(void)
{
	char path[96], line[64];
	bool frozen = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.events", group);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		frozen |= !strcmp(line, "frozen 1\n");
	fclose(file);
	return frozen;
}

static void freeze_target(void)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)target.pid);
	write_group("cgroup.procs", number);
	write_group("cgroup.freeze", "1");
	while (!is_frozen())
		usleep(LOOK_US);
}

/*
 * Who holds the target, which is frozen, gets no processor either, until its time is over and its timer kills it. Then
 * the target has one again.
 */
static _Noreturn void starve(void)
{
	pid_t holder = 0;
	char state;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!holder) {
		usleep(LOOK_US);
		holder = tracer();
	}
	kill(holder, SIGSTOP);
	do {
		struct proc_stat stat;

		usleep(LOOK_US);
		state = proc_stat(holder, &stat) ? 0 : stat.state;
	} while (state && state != 'Z');
	write_group("cgroup.freeze", "0");
	_exit(0);
}

static void without_a_processor(void **state)
{
	if (!make_group()) {
		print_message("skipped: no control group of version 2 can be made here\n");
		skip();
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		char reason[REASON_MAX] = "";
		int had, err, status;
		pid_t helper;

		start_target(state);
		had = open_descriptors_of(target.pid);
		freeze_target();
		helper = fork();
		if (!helper)
			starve();
		err = kinds[k].comes_and_goes(reason);
		/* Where it has been refused at once nobody was there to be stopped. */
		kill(helper, err ? SIGKILL : 0);
		assert_int_equal(waitpid(helper, &status, 0), helper);
		write_group("cgroup.freeze", "0");
		if (err)
			fail_msg("%s: %s", kinds[k].name, reason);
		assert_int_equal(status, 0);
		assert_int_equal(is_well(&kinds[k], had), 0);
		end_target(state);
	}
	assert_int_equal(rmdir(group), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_each_step),
		cmocka_unit_test(killed_while_it_tidies_up),
		cmocka_unit_test(without_a_processor),
	};

	(void)argc;
	if (!target_test_begins(argv, &nop))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
