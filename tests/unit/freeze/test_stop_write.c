// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Code of a process is changed while it stands still: all pieces or none, whoever is killed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "tests/unit/freeze/remote_target.h"
#include "tests/unit/freeze/stopped_tool.h"
#include "tests/unit/rounds.h"
#include "user/base/page.h"
#include "user/base/util.h"
#include "user/freeze/calls.h"
#include "user/freeze/stop.h"

#define ANSWERS	 STOP_PIECES_MAX
#define APART	 16
#define KILLS	 100
#define DEADLINE (10 * NS_PER_S)

/* Functions that return a number, which is changed; and code that a thread never leaves. */
extern const unsigned char answers[], spinning[], spinning_end[];
#if defined(__x86_64__)
#define NUMBER_AT 1
__asm__(".text\n.balign 16\n"
	".globl answers\nanswers:\n.rept 64\n mov $1, %eax\n ret\n .balign 16\n.endr\n"
	".globl spinning\nspinning:\n pause\n jmp spinning\n"
	".globl spinning_end\nspinning_end:\n");
static uint32_t encoded(uint32_t number)
{
	return number;
}
#else
#define NUMBER_AT 0
__asm__(".text\n.balign 16\n"
	".globl answers\nanswers:\n.rept 64\n mov w0, #1\n ret\n .balign 16\n.endr\n"
	".globl spinning\nspinning:\n yield\n b spinning\n"
	".globl spinning_end\nspinning_end:\n");
static uint32_t encoded(uint32_t number)
{
	return 0x52800000u | number << 5;
}
#endif

/* Shared with the target and the tools. */
struct seen {
	uint64_t answers[3]; /* how often each number was returned; [0]: any other */
	uint64_t begun;	     /* how often a tool has begun to write */
	uint64_t written;
	uint64_t turns; /* of the thread that is not the main one */
	bool in_handler, handler_ends, back;
};

static struct seen *seen;

/* Counts a turn when what it was told has been counted. */
static void *ask(void *arg)
{
	uint64_t *turns = arg ? arg : &seen->turns;

	for (uint64_t i = 0;; i++) {
		unsigned (*answer)(void) =
			(unsigned (*)(void))(uintptr_t)(answers + i % ANSWERS * APART);
		unsigned got = answer();

		__atomic_add_fetch(&seen->answers[got > 2 ? 0 : got], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(turns, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

static void *several(void *arg)
{
	start_thread(ask);
	start_thread(nanosleeper);
	start_thread(reader);
	(void)arg;
	return ask(&books->turns);
}

static void *spin(void *arg)
{
	start_thread(ask);
	start_thread(nanosleeper);
	((void (*)(void))(uintptr_t)spinning)();
	return arg;
}

#if defined(__x86_64__)
/* Code that a signal handler goes back to, when it is told to. */
extern const unsigned char trapping[], trapped[], trapped_end[];
__asm__(".text\n.globl trapping\ntrapping:\n int3\n"
	".globl trapped\ntrapped:\n nop\n"
	".globl trapped_end\ntrapped_end:\n ret\n");

static void stay_in_handler(int signal)
{
	(void)signal;
	__atomic_store_n(&seen->in_handler, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&seen->handler_ends, __ATOMIC_ACQUIRE))
		;
}

/* One on an alternate stack interrupts one that is on the thread's own. */
static void be_interrupted_again(int signal)
{
	(void)signal;
	raise(SIGUSR2);
}

static void *trap(void (*handler)(int), bool elsewhere)
{
	static char stack[64 * 1024];
	const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const struct sigaction action = {.sa_handler = handler,
					 .sa_flags = elsewhere ? SA_ONSTACK : 0};
	const struct sigaction second = {.sa_handler = stay_in_handler, .sa_flags = SA_ONSTACK};

	start_thread(ask);
	sigaltstack(&other, NULL);
	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGUSR2, &second, NULL);
	((void (*)(void))(uintptr_t)trapping)();
	__atomic_store_n(&seen->back, true, __ATOMIC_RELEASE);
	return turn(NULL);
}

static void *trap_here(void *arg)
{
	(void)arg;
	return trap(stay_in_handler, false);
}

static void *trap_elsewhere(void *arg)
{
	(void)arg;
	return trap(stay_in_handler, true);
}

static void *trap_twice(void *arg)
{
	(void)arg;
	return trap(be_interrupted_again, false);
}
#endif

static void begin_target(void *(*run)(void *))
{
	memset(seen, 0, sizeof(*seen));
	target_start(run);
	assert_true(moves(&seen->turns));
}

static int clean(void **state)
{
	(void)state;
	if (target)
		target_end();
	return 0;
}

/* The number that the function has in the target. */
static uint32_t number_of(size_t i)
{
	uint32_t value = 0;
	struct iovec to = {&value, sizeof(value)},
		     from = {(void *)(uintptr_t)(answers + i * APART + NUMBER_AT), sizeof(value)};

	assert_int_equal(process_vm_readv(target, &to, 1, &from, 1, 0), sizeof(value));
	return value == encoded(1) ? 1 : value == encoded(2) ? 2 : 0;
}

static struct stop_piece piece_of(size_t i, uint32_t expected, uint32_t wanted)
{
	struct stop_piece piece = {.address =
					   (uint64_t)(uintptr_t)(answers + i * APART) + NUMBER_AT,
				   .length = sizeof(uint32_t)};
	uint32_t before = encoded(expected), after = encoded(wanted);

	/* Behind its first instruction, before its second: nobody may be. */
	piece.from = piece.address + 1;
	piece.to = piece.address + sizeof(uint32_t);
	memcpy(piece.expected, &before, sizeof(before));
	memcpy(piece.bytes, &after, sizeof(after));
	return piece;
}

static void pieces_of_all(struct stop_piece pieces[ANSWERS], uint32_t expected, uint32_t wanted)
{
	for (size_t i = 0; i < ANSWERS; i++)
		pieces[i] = piece_of(i, expected, wanted);
}

static int write_pieces(const struct stop_piece *pieces, size_t count, char why[static REASON_MAX])
{
	struct stop *stop;
	int err = stop_begin(target, DEADLINE, NULL, &stop, why);

	if (err)
		fail_msg("%s: %s", strerror(-err), why);
	err = stop_write(stop, pieces, count, why);
	stop_free(stop);
	return err;
}

static void all_are(uint32_t number)
{
	for (size_t i = 0; i < ANSWERS; i++) {
		if (number_of(i) != number)
			fail_msg("function %zu has %u, not %u", i, number_of(i), number);
	}
}

/* From now on the target's threads get nothing else. */
static void all_answer(uint32_t number)
{
	uint64_t before;

	assert_true(moves(&books->turns) && moves(&seen->turns));
	before = seen->answers[3 - number];
	assert_true(moves(&books->turns) && moves(&seen->turns));
	assert_int_equal(seen->answers[3 - number], before);
	assert_int_equal(seen->answers[0], 0);
	assert_int_equal(books->bad_calls, 0);
	assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
	assert_true(nobody_traces());
}

static void changed_and_back(void **state)
{
	struct stop_piece pieces[ANSWERS];
	char why[REASON_MAX] = "";

	(void)state;
	begin_target(several);
	for (int i = 0; i < 20; i++) {
		uint32_t now = 1 + (uint32_t)i % 2;

		pieces_of_all(pieces, now, 3 - now);
		if (write_pieces(pieces, ANSWERS, why))
			fail_msg("%s", why);
		all_are(3 - now);
		all_answer(3 - now);
	}
	/* It is the process's own: this one's code is as it was. */
	assert_memory_equal(answers + NUMBER_AT, pieces[0].bytes, sizeof(uint32_t));
	target_end();
}

/* Where /proc/PID/mem cannot be had: the child may not open any more files. */
static void by_words(void **state)
{
	struct stop_piece pieces[ANSWERS];
	struct rlimit before, none;
	char why[REASON_MAX] = "";
	struct stop *stop;
	pid_t child;

	(void)state;
	begin_target(several);
	pieces_of_all(pieces, 1, 2);
	assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), 0);
	child = tool_child(getpid());
	/* It has answered, so it waits for an order: poll(2) looks at the limit where it begins. */
	while (tool_state(child) != 'S')
		sched_yield();
	assert_int_equal(prlimit(child, RLIMIT_NOFILE, NULL, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	assert_int_equal(prlimit(child, RLIMIT_NOFILE, &none, NULL), 0);
	assert_int_equal(stop_write(stop, pieces, ANSWERS, why), 0);
	/* Nor could it wait for the next order. */
	assert_int_equal(prlimit(child, RLIMIT_NOFILE, &before, NULL), 0);
	all_are(2);
	stop_free(stop);
	all_answer(2);
	target_end();
}

static void refused(void **state)
{
	struct stop_piece pieces[ANSWERS + 1];
	char why[REASON_MAX] = "";

	(void)state;
	begin_target(several);
	pieces_of_all(pieces, 1, 2);
	pieces[ANSWERS - 1] = piece_of(ANSWERS - 1, 2, 1);
	assert_int_equal(write_pieces(pieces, ANSWERS, why), -ESTALE);
	assert_non_null(strstr(why, "is not what it was"));
	all_are(1);
	pieces_of_all(pieces, 1, 2);
	pieces[3].address = page_down(pieces[3].address, page_size()) - 2;
	assert_int_equal(write_pieces(pieces, ANSWERS, why), -EINVAL);
	pieces[3] = piece_of(3, 1, 2);
	pieces[3].length = STOP_PIECE_MAX + 1;
	assert_int_equal(write_pieces(pieces, ANSWERS, why), -EINVAL);
	pieces[3].length = 0;
	assert_int_equal(write_pieces(pieces, ANSWERS, why), -EINVAL);
	pieces[3] = piece_of(3, 1, 2);
	assert_int_equal(write_pieces(pieces, ANSWERS + 1, why), -EINVAL);
	all_are(1);
	all_answer(1);
	target_end();
}

/* The main thread has come to where it stays. */
static bool has_come_to(const unsigned char *from, const unsigned char *to)
{
	for (int tries = 0; tries < 5000; tries++) {
		char why[REASON_MAX];
		struct user_regs_struct regs;
		struct stop *stop;
		uint64_t ip;

		assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), 0);
		assert_int_equal(stop_thread_at(stop, 0)->tid, target);
		memcpy(&regs, stop_thread_at(stop, 0)->words, sizeof(regs));
		ip = call_ip(&regs);
		stop_free(stop);
		if (ip >= (uint64_t)(uintptr_t)from && ip < (uint64_t)(uintptr_t)to)
			return true;
		usleep(1000);
	}
	return false;
}

/* A thread stands where it must not: nothing is written, and it is told which. */
static void thread_in_the_way(void **state)
{
	struct stop_piece pieces[2] = {piece_of(0, 1, 2), piece_of(1, 1, 2)};
	char why[REASON_MAX] = "";

	(void)state;
	begin_target(spin);
	assert_true(has_come_to(spinning, spinning_end));
	for (int i = 0; i < 20; i++) {
		pieces[1].from = (uint64_t)(uintptr_t)spinning;
		pieces[1].to = (uint64_t)(uintptr_t)spinning_end;
		assert_int_equal(write_pieces(pieces, 2, why), -EAGAIN);
		assert_non_null(strstr(why, "stands in the code"));
		all_are(1);
	}
	pieces[1] = piece_of(1, 1, 2);
	assert_int_equal(write_pieces(pieces, 2, why), 0);
	assert_int_equal(number_of(0), 2);
	assert_int_equal(number_of(1), 2);
	assert_int_equal(number_of(2), 1);
	target_end();
}

#if defined(__x86_64__)
static void wait_until(const bool *done)
{
	while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
		assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
		sched_yield();
	}
}

/* A thread is in a signal handler, on whatever stack, and goes back to where it must not stand. */
static void handler_in_the_way(void **state)
{
	void *(*const runs[])(void *) = {trap_here, trap_elsewhere, trap_twice};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct stop_piece piece = piece_of(0, 1, 2);
		char why[REASON_MAX] = "";

		begin_target(runs[i]);
		wait_until(&seen->in_handler);
		piece.from = (uint64_t)(uintptr_t)trapped;
		piece.to = (uint64_t)(uintptr_t)trapped_end;
		assert_int_equal(write_pieces(&piece, 1, why), -EAGAIN);
		assert_non_null(strstr(why, "is in a signal handler"));
		assert_int_equal(number_of(0), 1);
		/* Where nobody comes back to it is written meanwhile, and here afterwards. */
		piece = piece_of(1, 1, 2);
		assert_int_equal(write_pieces(&piece, 1, why), 0);
		__atomic_store_n(&seen->handler_ends, true, __ATOMIC_RELEASE);
		wait_until(&seen->back);
		piece = piece_of(0, 1, 2);
		piece.from = (uint64_t)(uintptr_t)trapped;
		piece.to = (uint64_t)(uintptr_t)trapped_end;
		assert_int_equal(write_pieces(&piece, 1, why), 0);
		target_end();
	}
}

/* One that waits in a system call goes back to the instruction that made it. */
static void call_in_the_way(void **state)
{
	struct stop_piece piece = piece_of(0, 1, 2);
	char why[REASON_MAX] = "";
	struct stop *stop;
	int waiting = 0;

	(void)state;
	begin_target(several);
	assert_true(moves(&books->turns) && moves(&books->waits));
	assert_int_equal(stop_begin(target, DEADLINE, NULL, &stop, why), 0);
	for (size_t i = 0; i < stop_thread_count(stop); i++) {
		struct user_regs_struct regs;

		memcpy(&regs, stop_thread_at(stop, i)->words, sizeof(regs));
		if (!call_is_in_kernel(&regs))
			continue;
		waiting++;
		piece.from = call_ip(&regs) - 2;
		piece.to = piece.from + 1;
		assert_int_equal(stop_write(stop, &piece, 1, why), -EAGAIN);
	}
	assert_true(waiting > 0);
	assert_int_equal(number_of(0), 1);
	stop_free(stop);
	target_end();
}
#endif

/* The last piece lies in a mapping that is shared, of which there can be no copy. */
static void put_back(void **state)
{
	struct stop_piece pieces[ANSWERS];
	char why[REASON_MAX] = "", path[] = "/tmp/stop-write-XXXXXX";
	uint32_t value = encoded(1);
	int fd = mkstemp(path), readonly;
	unsigned char *shared;
	int err;

	(void)state;
	assert_true(fd >= 0);
	readonly = open(path, O_RDONLY);
	unlink(path);
	assert_int_equal(pwrite(fd, &value, sizeof(value), NUMBER_AT), sizeof(value));
	shared = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, readonly, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	begin_target(several);
	pieces_of_all(pieces, 1, 2);
	pieces[ANSWERS - 1].address = (uint64_t)(uintptr_t)shared + NUMBER_AT;
	err = write_pieces(pieces, ANSWERS, why);
	print_message("it says: %s\n", why);
	assert_true(err == -EIO || err == -EFAULT);
	assert_non_null(strstr(why, "cannot be written"));
	all_are(1);
	all_answer(1);
	target_end();
	munmap(shared, page_size());
	close(readonly);
	close(fd);
}

static _Noreturn void run_tool(void)
{
	struct stop_piece pieces[ANSWERS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		char why[REASON_MAX] = "";
		uint32_t now = number_of(0);
		struct stop *stop;

		pieces_of_all(pieces, now, 3 - now);
		if (stop_begin(target, DEADLINE, NULL, &stop, why))
			_exit(1);
		__atomic_add_fetch(&seen->begun, 1, __ATOMIC_RELEASE);
		if (stop_write(stop, pieces, ANSWERS, why))
			_exit(1);
		__atomic_add_fetch(&seen->written, 1, __ATOMIC_RELEASE);
		stop_free(stop);
	}
}

/* At random instants from the order to write on. */
static void killed(void **state)
{
	int halfway = 0, changed = 0;
	unsigned seed = 1;

	(void)state;
	begin_target(several);
	for (int i = 0; rounds_left(i, KILLS, halfway); i++) {
		uint64_t begun = __atomic_load_n(&seen->begun, __ATOMIC_ACQUIRE), written, from;
		uint64_t wait_ns = (uint64_t)rand_r(&seed) % 300000;
		uint32_t before;
		int status;
		pid_t tool = fork();

		if (tool == 0)
			run_tool();
		while (__atomic_load_n(&seen->begun, __ATOMIC_ACQUIRE) == begun)
			;
		before = number_of(ANSWERS - 1);
		written = seen->written;
		for (from = monotonic_ns(); monotonic_ns() - from < wait_ns;)
			;
		kill(tool, SIGKILL);
		assert_int_equal(waitpid(tool, &status, 0), tool);
		assert_true(WIFSIGNALED(status));
		assert_true(nobody_traces());
		all_are(number_of(0));
		halfway += seen->written == written;
		changed += seen->written == written && number_of(0) != before;
		assert_true(moves(&books->turns));
		assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
	}
	print_message("killed %d times before it knew that all was written; it was, %d times\n",
		      halfway, changed);
	assert_true(halfway > 0);
	all_answer(number_of(0));
	target_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(changed_and_back, clean),
		cmocka_unit_test_teardown(by_words, clean),
		cmocka_unit_test_teardown(refused, clean),
		cmocka_unit_test_teardown(thread_in_the_way, clean),
#if defined(__x86_64__)
		cmocka_unit_test_teardown(call_in_the_way, clean),
		cmocka_unit_test_teardown(handler_in_the_way, clean),
#endif
		cmocka_unit_test_teardown(put_back, clean),
		cmocka_unit_test_teardown(killed, clean),
	};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen != MAP_FAILED && books_open() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
