// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls that one thread of a running process is made to do: that they are done, and that the
 * process notices nothing else of it.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "tests/unit/freeze/remote_target.h"
#include "tests/unit/freeze/stopped_tool.h"
#include "user/base/util.h"
#include "user/freeze/remote.h"
#include "user/kernel/confine.h"

#define HOLD	 (10 * NS_PER_S)
#define PAGE	 4096
#define SESSIONS 30
#define MARK	 0x1234567890abcdefull
#define PLACE	 0x2000000000ull /* far from all that programs have mapped */

#define CALL(r, number, ...) call(r, number, (const uint64_t[CALL_ARGUMENTS]){__VA_ARGS__})

/* A thread that cannot be used is elsewhere a moment later. */
static struct remote *begin(void)
{
	char why[REASON_MAX] = "";
	struct remote *r = NULL;
	int err = -EBUSY;

	for (int tries = 0; err == -EBUSY && tries < 1000; tries++) {
		err = remote_begin(target, HOLD, &r, why);
		if (err == -EBUSY)
			usleep(1000);
	}
	if (err)
		fail_msg("%s: %s", strerror(-err), why);
	return r;
}

static long call(struct remote *r, long number, const uint64_t arguments[CALL_ARGUMENTS])
{
	char why[REASON_MAX] = "";
	long result;
	int err = remote_call(r, number, arguments, &result, why);

	if (err)
		fail_msg("%s: %s", strerror(-err), why);
	return result;
}

static long make_memfd(struct remote *r)
{
	char why[REASON_MAX] = "";

	assert_int_equal(remote_write(r, "made-remotely", sizeof("made-remotely"), why), 0);
	return CALL(r, SYS_memfd_create, remote_scratch(r), MFD_CLOEXEC);
}

/* What a gate does: a page of code from a file of the process's own, and data beside it. */
struct mapped {
	uint64_t code, data;
};

static void map_all(struct remote *r, uint64_t at, struct mapped *out)
{
	long memfd = make_memfd(r);

	if (memfd < 0)
		fail_msg("memfd_create: %s", strerror((int)-memfd));
	assert_int_equal(CALL(r, SYS_ftruncate, (uint64_t)memfd, 2 * PAGE), 0);
	out->code = (uint64_t)CALL(r, SYS_mmap, at, PAGE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED_NOREPLACE, (uint64_t)memfd, PAGE);
	out->data = (uint64_t)CALL(r, SYS_mmap, at + PAGE, PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1);
	assert_int_equal(out->code, at);
	assert_int_equal(out->data, at + PAGE);
	assert_int_equal(CALL(r, SYS_madvise, out->data, PAGE, MADV_WIPEONFORK), 0);
	assert_int_equal(CALL(r, SYS_close, (uint64_t)memfd), 0);
}

static void unmap(struct remote *r, const struct mapped *m)
{
	assert_int_equal(CALL(r, SYS_munmap, m->code, 2 * PAGE), 0);
}

static void notices_nothing(void)
{
	assert_int_equal(books->bad_registers, 0);
	assert_int_equal(books->bad_vectors, 0);
	assert_int_equal(books->bad_calls, 0);
	assert_int_equal(waitpid(target, NULL, WNOHANG), 0);
	assert_true(nobody_traces());
}

static int clean(void **state)
{
	(void)state;
	if (target)
		target_end();
	return 0;
}

/* ---- they are done ------------------------------------------------------------------------- */

/* Where the process itself may not write. */
static void text_is_written(void **state)
{
	struct stop_piece pieces[] = {
		{.length = STOP_PIECE_MAX, .bytes = "0123456789abcde"},
		/* Nothing is there. */
		{.address = PLACE - PAGE, .length = STOP_PIECE_MAX},
	};
	char seen[STOP_PIECE_MAX], why[REASON_MAX] = "";
	struct iovec to = {seen, sizeof(seen)}, from;
	struct mapped mapped;
	struct remote *r;

	(void)state;
	target_start(in_company);
	assert_true(all_move());
	r = begin();
	map_all(r, PLACE, &mapped);
	pieces[0].address = mapped.code + 3;
	from = (struct iovec){(void *)(mapped.code + 3), sizeof(seen)};
	/* None of them, and the thread is in its hands yet. */
	assert_true(remote_write_text(r, pieces, 2, why) < 0);
	assert_true(why[0]);
	assert_int_equal(process_vm_readv(target, &to, 1, &from, 1, 0), sizeof(seen));
	assert_memory_equal(seen, pieces[0].expected, sizeof(seen));
	assert_int_equal(remote_write_text(r, pieces, 1, why), 0);
	assert_int_equal(process_vm_readv(target, &to, 1, &from, 1, 0), sizeof(seen));
	assert_memory_equal(seen, pieces[0].bytes, sizeof(seen));
	assert_int_equal(remote_write_text(r, pieces, STOP_PIECES_MAX + 1, why), -EINVAL);
	/* That is not what stands there now. */
	assert_int_equal(remote_write_text(r, pieces, 1, why), -ESTALE);
	assert_int_equal(CALL(r, SYS_getpid, 0), target);
	unmap(r, &mapped);
	remote_end(r);
	assert_true(all_move());
	notices_nothing();
}

static void calls_are_made(void **state)
{
	const uint64_t place = PLACE;
	uint64_t mark = MARK, seen = 0;
	struct iovec to = {&seen, sizeof(seen)}, from;
	struct mapped mapped;
	struct remote *r;
	char path[64], why[REASON_MAX] = "";
	int before, fd;
	long memfd;

	(void)state;
	target_start(in_company);
	assert_true(all_move());
	before = open_descriptors();
	r = begin();
	assert_int_equal(CALL(r, SYS_getpid, 0), target);
	assert_int_equal(CALL(r, SYS_close, (uint64_t)-1), -EBADF);
	memfd = make_memfd(r);
	assert_true(memfd > 2);
	assert_int_equal(open_descriptors(), before + 1);
	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)target, memfd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	/* All six arguments: the second page of the file. */
	assert_int_equal(pwrite(fd, &mark, sizeof(mark), PAGE), sizeof(mark));
	assert_int_equal(CALL(r, SYS_mmap, place, PAGE, PROT_READ,
			      MAP_PRIVATE | MAP_FIXED_NOREPLACE, (uint64_t)memfd, PAGE),
			 place);
	assert_int_equal(CALL(r, SYS_mmap, place, PAGE, PROT_READ,
			      MAP_PRIVATE | MAP_FIXED_NOREPLACE, (uint64_t)memfd, PAGE),
			 -EEXIST);
	from = (struct iovec){(void *)(uintptr_t)place, sizeof(seen)};
	assert_int_equal(process_vm_readv(target, &to, 1, &from, 1, 0), sizeof(seen));
	assert_int_equal(seen, MARK);
	assert_int_equal(CALL(r, SYS_munmap, place, PAGE), 0);
	assert_int_equal(CALL(r, SYS_close, (uint64_t)memfd), 0);
	assert_int_equal(open_descriptors(), before);
	close(fd);
	map_all(r, place, &mapped);
	unmap(r, &mapped);
	/* Its name is what was written; one that is not closed is closed at the end. */
	memfd = make_memfd(r);
	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)target, memfd);
	memset(why, 0, sizeof(why));
	assert_true(readlink(path, why, sizeof(why) - 1) > 0);
	assert_non_null(strstr(why, "made-remotely"));
	/* Others run meanwhile. */
	assert_true(moves(&books->turns) && moves(&books->register_turns));
	assert_true(remote_end(r) > 0);
	assert_true(has_closed_to(before));
	assert_true(all_move());
	notices_nothing();
	target_end();
}

/* What another thread may do at any moment: the number of what has been made is another file's, the program's own. */
static void another_file_in_its_place(void **state)
{
	struct remote *r;
	long memfd;
	int before;

	(void)state;
	target_start(in_company);
	assert_true(all_move());
	before = open_descriptors();
	for (int closes = 0; closes < 2; closes++) {
		r = begin();
		memfd = make_memfd(r);
		assert_int_equal(CALL(r, SYS_dup3, (uint64_t)no_events, (uint64_t)memfd, 0), memfd);
		if (closes)
			assert_int_equal(CALL(r, SYS_close, (uint64_t)memfd), -EBADF);
		assert_true(remote_end(r) > 0);
		assert_int_equal(open_descriptors(), before + 1 + closes);
	}
	assert_true(all_move());
	notices_nothing();
	target_end();
}

/* ---- and nothing else ---------------------------------------------------------------------- */

static void goes_unnoticed(void *(*run)(void *), const uint64_t *counter)
{
	uint64_t stood[SESSIONS];

	target_start(run);
	assert_true(!counter || moves(counter));
	for (int i = 0; i < SESSIONS; i++) {
		struct mapped mapped;
		struct remote *r = begin();

		map_all(r, PLACE, &mapped);
		stood[i] = remote_end(r);
		r = begin();
		unmap(r, &mapped);
		remote_end(r);
		assert_true(!counter || moves(counter));
	}
	qsort(stood, SESSIONS, sizeof(*stood), compare_u64);
	print_message(
		"6 calls, begin and end: its thread stood still for %llu us at least, %llu in "
		"the middle\n",
		(unsigned long long)(stood[0] / 1000),
		(unsigned long long)(stood[SESSIONS / 2] / 1000));
	notices_nothing();
	target_end();
}

static void all_kinds(void **state)
{
	(void)state;
	goes_unnoticed(in_company, &books->turns);
}

static void nanosleeping(void **state)
{
	(void)state;
	goes_unnoticed(nanosleeper, &books->waits);
}

static void waiting_for_a_futex(void **state)
{
	(void)state;
	goes_unnoticed(futex_waiter, &books->waits);
	goes_unnoticed(futex_forever, NULL);
}

static void waiting_for_epoll(void **state)
{
	(void)state;
	goes_unnoticed(epoll_waiter, &books->waits);
}

static void waiting_for_a_signal(void **state)
{
	(void)state;
	goes_unnoticed(signal_waiter, &books->waits);
}

static void reading(void **state)
{
	(void)state;
	goes_unnoticed(reader, NULL);
}

static void busy(void **state)
{
	(void)state;
	goes_unnoticed(turn, &books->turns);
}

static void computing(void **state)
{
	(void)state;
	goes_unnoticed(compute, &books->register_turns);
}

/* Signals that come before, during and between the calls arrive when it goes on. */
static void signals_arrive(void **state)
{
	void *(*const runs[])(void *) = {turn, compute};

	(void)state;
	for (size_t k = 0; k < sizeof(runs) / sizeof(*runs); k++) {
		uint64_t *counter = k ? &books->register_turns : &books->turns;

		target_start(runs[k]);
		assert_true(moves(counter));
		for (uint64_t i = 0; i < 100; i++) {
			struct remote *r;

			if (i % 2)
				kill(target, SIGUSR1);
			r = begin();
			assert_int_equal(CALL(r, SYS_getpid, 0), target);
			if (!(i % 2))
				kill(target, SIGUSR1);
			assert_int_equal(CALL(r, SYS_getpid, 0), target);
			if (!(i % 2))
				assert_int_equal(books->signals, i);
			remote_end(r);
			for (int tries = 0; tries < 20000 && books->signals <= i; tries++)
				usleep(100);
			assert_int_equal(books->signals, i + 1);
		}
		notices_nothing();
		target_end();
	}
}

/* SIGSTOP cannot be kept waiting: the calls are made all the same, and it stops after them. */
static void stopped_meanwhile(void **state)
{
	struct remote *r;
	int status;

	(void)state;
	target_start(turn);
	assert_true(moves(&books->turns));
	r = begin();
	assert_int_equal(CALL(r, SYS_getpid, 0), target);
	kill(target, SIGSTOP);
	assert_int_equal(CALL(r, SYS_getpid, 0), target);
	assert_int_equal(CALL(r, SYS_getpid, 0), target);
	remote_end(r);
	assert_int_equal(waitpid(target, &status, WUNTRACED), target);
	assert_true(WIFSTOPPED(status));
	/* The process is; its thread, which has just been let go, stops once more for that. */
	for (int tries = 0; tries < 20000 && tool_state(target) != 'T'; tries++)
		usleep(100);
	assert_int_equal(tool_state(target), 'T');
	kill(target, SIGCONT);
	assert_true(moves(&books->turns));
	notices_nothing();
	target_end();
}

/* ---- filters ------------------------------------------------------------------------------- */

/* As kills_for_memfd(), but a thread that has no filter is there to be used. */
static void *filtered_main(void *arg)
{
	start_thread(turn);
	return kills_for_memfd(arg);
}

/* By a tool that may not suspend a filter: without the capability, or with a filter of its own. */
static int begin_with_less(bool confined, char why[static REASON_MAX])
{
	int report[2], err = 0;
	pid_t tool;

	assert_int_equal(pipe(report), 0);
	tool = fork();
	if (tool == 0) {
		struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
		struct __user_cap_data_struct caps[2];
		struct remote *r = NULL;
		long result = 0;

		syscall(SYS_capget, &header, caps);
		caps[0].effective &= ~(1u << CAP_SYS_ADMIN);
		caps[0].permitted &= ~(1u << CAP_SYS_ADMIN);
		if (confined)
			confine_tool(&(struct confine_needs){.ptrace = true});
		else
			syscall(SYS_capset, &header, caps);
		err = remote_begin(target, HOLD, &r, why);
		if (!err)
			err = remote_call(r, SYS_getpid, (const uint64_t[CALL_ARGUMENTS]){0},
					  &result, why);
		if (!err && result != target)
			err = -EIO;
		remote_end(r);
		if (write(report[1], &err, sizeof(err)) != sizeof(err) ||
		    write(report[1], why, REASON_MAX) != REASON_MAX)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(report[0], &err, sizeof(err)), sizeof(err));
	assert_int_equal(read(report[0], why, REASON_MAX), REASON_MAX);
	waitpid(tool, NULL, 0);
	close(report[0]);
	close(report[1]);
	return err;
}

static void filtered(void *(*run)(void *), const uint64_t *counter)
{
	char why[REASON_MAX] = "";

	goes_unnoticed(run, counter);
	target_start(run);
	assert_true(moves(counter));
	for (int confined = 0; confined < 2; confined++) {
		assert_int_equal(begin_with_less(confined, why), -EPERM);
		assert_non_null(strstr(why, "seccomp"));
		assert_true(moves(counter));
	}
	notices_nothing();
	target_end();
}

static void under_filters(void **state)
{
	char why[REASON_MAX] = "";

	(void)state;
	filtered(strict, &books->turns);
	filtered(kills_for_memfd, &books->waits);
	/* The other thread is used: nothing has to be suspended. */
	target_start(filtered_main);
	assert_true(moves(&books->turns) && moves(&books->waits));
	assert_int_equal(begin_with_less(false, why), 0);
	assert_int_equal(begin_with_less(true, why), 0);
	assert_true(moves(&books->turns) && moves(&books->waits));
	notices_nothing();
	target_end();
}

/* ---- refused, and too late ----------------------------------------------------------------- */

static void refused(int wanted, const char *word)
{
	char why[REASON_MAX] = "";
	struct remote *r = NULL;

	assert_int_equal(remote_begin(target, HOLD, &r, why), wanted);
	assert_null(r);
	if (!strstr(why, word))
		fail_msg("\"%s\" does not say \"%s\"", why, word);
}

static void leaves_no_trace(void **state)
{
	int ready[2], before;
	char word;
	pid_t other;

	(void)state;
	target_start(turn);
	assert_true(moves(&books->turns));
	before = open_descriptors();
	kill(target, SIGSTOP);
	assert_int_equal(waitpid(target, NULL, WUNTRACED), target);
	refused(-EPERM, "stopped");
	assert_int_equal(tool_state(target), 'T');
	kill(target, SIGCONT);
	assert_true(moves(&books->turns));
	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (other == 0) {
		prctl(PR_SET_NAME, "gdb");
		word = ptrace(PTRACE_SEIZE, target, NULL, NULL) ? 'n' : 'y';
		if (write(ready[1], &word, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &word, 1), 1);
	assert_int_equal(word, 'y');
	refused(-EPERM, "(gdb) traces it already");
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	assert_true(moves(&books->turns));
	assert_int_equal(open_descriptors(), before);
	notices_nothing();
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	refused(-ESRCH, "ended");
	target = 0;
}

/* A stack that is not a thread's own: coroutines have such. */
static void *on_a_strange_stack(void *arg)
{
	static char *stack;

	stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp; call *%1" : : "r"(stack + (1 << 20)), "r"(turn), "D"(arg));
#endif
	return arg;
}

static void without_a_stack(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	skip();
#endif
	target_start(on_a_strange_stack);
	assert_true(moves(&books->turns));
	refused(-EBUSY, "stack");
	assert_true(moves(&books->turns));
	notices_nothing();
	target_end();
}

/* Its time is over: the process goes on, and whoever asks is told. */
static void too_late(void **state)
{
	const uint64_t none[CALL_ARGUMENTS] = {0};
	char why[REASON_MAX] = "";
	struct remote *r;
	long result;

	(void)state;
	target_start(turn);
	assert_true(moves(&books->turns));
	/* In which the first call must be done, on a busy machine too. */
	assert_int_equal(remote_begin(target, 3 * NS_PER_S, &r, why), 0);
	assert_int_equal(remote_call(r, SYS_getpid, none, &result, why), 0);
	assert_true(moves(&books->turns));
	assert_int_equal(remote_call(r, SYS_getpid, none, &result, why), -ECANCELED);
	assert_non_null(strstr(why, "as long as it may"));
	assert_int_equal(remote_call(r, SYS_getpid, none, &result, why), -ECANCELED);
	/* The time is counted from when it began to look for a thread, and it stood for less. */
	assert_in_range(remote_end(r), 1, 10 * NS_PER_S);
	notices_nothing();
	target_end();
	/*
	 * A call that does not end: who holds its thread wakes it, and both are before others. Of one that comes to
	 * it after the holder's own end, a moment later, the call begins anew, and nobody is there who could.
	 */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
	target_start(nanosleeper);
	assert_true(moves(&books->waits));
	assert_int_equal(remote_begin(target, NS_PER_S, &r, why), 0);
	assert_int_equal(remote_call(r, SYS_pause, none, &result, why), -ETIMEDOUT);
	assert_true(moves(&books->waits));
	remote_end(r);
	notices_nothing();
	target_end();
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	assert_int_equal(remote_end(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(calls_are_made, clean),
		cmocka_unit_test_teardown(another_file_in_its_place, clean),
		cmocka_unit_test_teardown(text_is_written, clean),
		cmocka_unit_test_teardown(all_kinds, clean),
		cmocka_unit_test_teardown(nanosleeping, clean),
		cmocka_unit_test_teardown(waiting_for_a_futex, clean),
		cmocka_unit_test_teardown(waiting_for_epoll, clean),
		cmocka_unit_test_teardown(waiting_for_a_signal, clean),
		cmocka_unit_test_teardown(reading, clean),
		cmocka_unit_test_teardown(busy, clean),
		cmocka_unit_test_teardown(computing, clean),
		cmocka_unit_test_teardown(signals_arrive, clean),
		cmocka_unit_test_teardown(stopped_meanwhile, clean),
		cmocka_unit_test_teardown(under_filters, clean),
		cmocka_unit_test_teardown(leaves_no_trace, clean),
		cmocka_unit_test_teardown(without_a_stack, clean),
		cmocka_unit_test_teardown(too_late, clean),
	};

	return books_open() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
