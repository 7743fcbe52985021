// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads that are left asleep while a process is stopped: that their registers are those that
 * ptrace shows, that they do not notice, and that it is noticed when one of them wakes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "tests/targets/waits.h"
#include "user/base/util.h"
#include "user/capture/sleepers.h"
#include "user/freeze/stop.h"

#define STOPS	 20
#define DEADLINE 10000000000ull /* ns */
#define MARK	 0x1234567890abcd00ull

static struct sleepers *sleepers;
static const struct stop_sleepers *left; /* NULL: this kernel cannot */
static pid_t target;

/* ---- the target ---------------------------------------------------------------------------- */

static long wait_read(void)
{
	char c;

	return read(silent_socket(), &c, 1);
}

static long wait_accept(void)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	struct timeval time = {.tv_sec = 3600};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	/* The kernel makes up a name. */
	if (bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family)) || listen(fd, 1) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
		_exit(1);
	return accept(fd, NULL, NULL);
}

/*
 * Of asynchronous operations that were never begun; where the kernel has no such thing, another
 * wait.
 */
static long wait_aio(void)
{
	unsigned long context = 0;
	char completed[32];

	if (syscall(SYS_io_setup, 1, &context))
		return wait_epoll();
	return syscall(SYS_io_getevents, context, 1L, 1L, completed, NULL);
}

static long wait_uring(void)
{
	char parameters[256] = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 4, parameters);

	if (fd < 0)
		return wait_epoll();
	return syscall(SYS_io_uring_enter, fd, 0, 1, 1 /* IORING_ENTER_GETEVENTS */, NULL, 0);
}

/*
 * By an instruction of its own, with all registers full: what a compiler could keep in them across
 * a call that it knows.
 */
static long wait_full(void)
{
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	uint64_t marks[8];
	long result;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		marks[i] = MARK + i;
#if defined(__x86_64__)
	register long no_limit __asm__("r10") = -1;
	register long no_mask __asm__("r8") = 0;

	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovdqu 32(%0), %%ymm9" ::"r"(marks) : "xmm9");
	__asm__ volatile("mov 0(%[marks]), %%rbx; mov 0(%[marks]), %%r12; mov 0(%[marks]), %%r13;"
			 "mov 0(%[marks]), %%r14; mov 0(%[marks]), %%r15;"
			 "movdqu 0(%[marks]), %%xmm0; movdqu 16(%[marks]), %%xmm15;"
			 "syscall"
			 : "=a"(result)
			 : "a"(SYS_epoll_pwait), "D"(fd), "S"(&event), "d"(1), "r"(no_limit),
			   "r"(no_mask), [marks] "r"(marks)
			 : "rbx", "rcx", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm15",
			   "memory");
#else
	register long x0 __asm__("x0") = fd;
	register void *x1 __asm__("x1") = &event;
	register long x2 __asm__("x2") = 1;
	register long x3 __asm__("x3") = -1;
	register long x4 __asm__("x4") = 0;
	register long x8 __asm__("x8") = SYS_epoll_pwait;

	__asm__ volatile("ldr x19, [%[marks]]; ldr x28, [%[marks]];"
			 "ldp q0, q31, [%[marks]]; ldp q8, q15, [%[marks], #32];"
			 "svc #0"
			 : "+r"(x0)
			 : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8), [marks] "r"(marks)
			 : "x19", "x28", "v0", "v8", "v15", "v31", "memory");
	result = x0;
#endif
	errno = (int)-result;
	return result;
}

static long wait_signal(void)
{
	return pause();
}

/* Those that a stop cuts short, and in the end one that it does not. */
static const struct wait {
	const char *name;
	long (*run)(void);
	bool cut_short;
} waits[] = {
	{"epoll_wait", wait_epoll, true},
	{"semop", wait_semop, true},
	{"sigtimedwait", wait_sigtimedwait, true},
	{"recv", wait_recv_timeout, true},
	{"read", wait_read, true},
	{"accept", wait_accept, true},
	{"io_getevents", wait_aio, true},
	{"io_uring_enter", wait_uring, true},
	{"epoll_pwait", wait_full, true},
	{"pause", wait_signal, false},
};

#define WAITS (sizeof(waits) / sizeof(*waits))
#define FULL  (WAITS - 2)
#define LEFT  (WAITS - 1) /* how many are left asleep */

static struct shared {
	pid_t tids[WAITS];
	int errors[WAITS]; /* once it has returned; 0: waits */
	uint64_t turns;	   /* of a thread that runs */
	uint64_t wakes;	   /* of one that is woken by `event` */
	pid_t waker;
} * shared;

static int event;

static void *waiter(void *arg)
{
	size_t i = (size_t)((const struct wait *)arg - waits);

	__atomic_store_n(&shared->tids[i], (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	waits[i].run();
	__atomic_store_n(&shared->errors[i], errno, __ATOMIC_RELEASE);
	return NULL;
}

static void *woken(void *arg)
{
	struct epoll_event wanted = {.events = EPOLLIN}, got;
	int fd = epoll_create1(EPOLL_CLOEXEC);
	uint64_t number;

	epoll_ctl(fd, EPOLL_CTL_ADD, event, &wanted);
	__atomic_store_n(&shared->waker, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;) {
		if (epoll_wait(fd, &got, 1, -1) == 1 && read(event, &number, sizeof(number)) > 0)
			__atomic_add_fetch(&shared->wakes, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static _Noreturn void run_target(bool with_waits)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Semaphores outlive their process, but not their namespace. */
	if (unshare(CLONE_NEWIPC))
		_exit(1);
	for (size_t i = 0; with_waits && i < WAITS; i++)
		pthread_create(&thread, NULL, waiter, (void *)&waits[i]);
	if (!with_waits)
		pthread_create(&thread, NULL, woken, NULL);
	for (;;)
		__atomic_add_fetch(&shared->turns, 1, __ATOMIC_RELAXED);
}

/* ---- looking at it ------------------------------------------------------------------------- */

static bool sleeps(const pid_t *tid)
{
	for (int tries = 0; tries < 20000; tries++) {
		pid_t now = __atomic_load_n(tid, __ATOMIC_ACQUIRE);

		if (now && thread_state(target, now) == 'S')
			return true;
		usleep(500);
	}
	return false;
}

static bool moves(const uint64_t *counter)
{
	uint64_t before = __atomic_load_n(counter, __ATOMIC_RELAXED);

	for (int tries = 0; tries < 20000; tries++) {
		if (__atomic_load_n(counter, __ATOMIC_RELAXED) > before)
			return true;
		usleep(500);
	}
	return false;
}

static void start(bool with_waits)
{
	memset(shared, 0, sizeof(*shared));
	target = fork();
	if (target == 0)
		run_target(with_waits);
	assert_true(moves(&shared->turns));
	for (size_t i = 0; with_waits && i < WAITS; i++)
		assert_true(sleeps(&shared->tids[i]));
	if (!with_waits)
		assert_true(sleeps(&shared->waker));
}

static int finish(void **state)
{
	int status;

	(void)state;
	if (target) {
		kill(target, SIGKILL);
		waitpid(target, &status, 0);
	}
	target = 0;
	return 0;
}

static struct stop *stop(const struct stop_sleepers *with)
{
	char why[REASON_MAX] = "";
	struct stop *stopped;
	int err = stop_begin(target, DEADLINE, with, &stopped, why);

	if (err)
		fail_msg("%s: %s", strerror(-err), why);
	return stopped;
}

static const struct stop_thread *thread_of(const struct stop *stopped, pid_t tid)
{
	for (size_t i = 0; i < stop_thread_count(stopped); i++) {
		if (stop_thread_at(stopped, i)->tid == tid)
			return stop_thread_at(stopped, i);
	}
	fail_msg("thread %d is missing", (int)tid);
	return NULL;
}

/* ---- the tests ----------------------------------------------------------------------------- */

static bool possible(void)
{
	if (!left) {
		print_message(
			"skipped: this kernel has no iterator over the threads of a process\n");
		skip();
	}
	return left != NULL;
}

/* The register of the system call's result: until there is one it has something else. */
#if defined(__x86_64__)
#define RESULT 10
#define BASES  23 /* with fs_base and gs_base; the rest are selectors */
#else
#define RESULT 0
#define BASES  34
#endif

static void same_general(const char *name, const struct stop_thread *a, const struct stop_thread *b)
{
	for (size_t i = 0; i < BASES; i++) {
		if (i != RESULT && a->words[i] != b->words[i])
			fail_msg("%s: register %zu is %#llx asleep and %#llx stopped", name, i,
				 (unsigned long long)a->words[i], (unsigned long long)b->words[i]);
	}
	assert_int_equal(a->sp, b->sp);
	assert_int_equal(a->tls, b->tls);
}

static void same_vectors(const char *name, const struct stop_thread *a, const struct stop_thread *b,
			 size_t offset, size_t size)
{
	size_t first = sizeof(struct user_regs_struct) / 8 + offset / 8;

	for (size_t i = first; i < first + size / 8; i++) {
		/* What is not in use may be missing at the end. */
		uint64_t x = i < a->word_count ? a->words[i] : 0;
		uint64_t y = i < b->word_count ? b->words[i] : 0;

		if (x != y)
			fail_msg("%s: vector register word %zu is %#llx asleep and %#llx stopped",
				 name, i - first, (unsigned long long)x, (unsigned long long)y);
	}
}

static int marks_in(const struct stop_thread *t)
{
	int n = 0;

	for (size_t i = 0; i < t->word_count; i++)
		n += t->words[i] >= MARK && t->words[i] < MARK + 8;
	return n;
}

static void registers_are_ptraces(void **state)
{
	struct stop *asleep, *stopped;

	(void)state;
	if (!possible())
		return;
	start(true);
	asleep = stop(left);
	assert_int_equal(stop_asleep_count(asleep), LEFT);
	stop_end(asleep);
	stopped = stop(NULL);
	assert_int_equal(stop_asleep_count(stopped), 0);
	for (size_t i = 0; i < WAITS; i++) {
		const struct stop_thread *a = thread_of(asleep, shared->tids[i]);
		const struct stop_thread *b = thread_of(stopped, shared->tids[i]);

		same_general(waits[i].name, a, b);
#if defined(__x86_64__)
		unsigned size, offset, c, d;

		same_vectors(waits[i].name, a, b, 160, 256);
		if (__builtin_cpu_supports("avx") &&
		    __get_cpuid_count(0xd, 2, &size, &offset, &c, &d))
			same_vectors(waits[i].name, a, b, offset, size);
#else
		same_vectors(waits[i].name, a, b, 0, 512);
#endif
	}
	/* Five or two general ones, and what was put into vectors. */
#if defined(__x86_64__)
	assert_true(marks_in(thread_of(asleep, shared->tids[FULL])) >=
		    9 + (__builtin_cpu_supports("avx") ? 4 : 0));
#else
	assert_true(marks_in(thread_of(asleep, shared->tids[FULL])) >= 10);
#endif
	stop_free(asleep);
	stop_free(stopped);
}

static void waits_go_on(void **state)
{
	(void)state;
	if (!possible())
		return;
	start(true);
	for (int i = 0; i < STOPS; i++) {
		struct stop *stopped = stop(left);
		uint64_t turns = shared->turns;

		assert_int_equal(stop_thread_count(stopped), WAITS + 1);
		assert_int_equal(stop_asleep_count(stopped), LEFT);
		assert_true(stop_undisturbed(stopped));
		assert_int_equal(shared->turns, turns);
		stop_end(stopped);
		assert_true(stop_undisturbed(stopped));
		assert_true(moves(&shared->turns));
		stop_free(stopped);
	}
	for (size_t i = 0; i < WAITS; i++)
		assert_int_equal(shared->errors[i], 0);
	/* And would it be seen if they were stopped? */
	stop_free(stop(NULL));
	for (size_t i = 0; i < WAITS; i++) {
		for (int tries = 0; waits[i].cut_short && !shared->errors[i] && tries < 20000;
		     tries++)
			usleep(500);
		if (shared->errors[i] != (waits[i].cut_short ? EINTR : 0))
			fail_msg("%s: %s", waits[i].name, strerror(shared->errors[i]));
	}
}

/* One that wakes up while the others are stopped, whether it has fallen asleep again or not. */
static void waking_is_noticed(void **state)
{
	const uint64_t one = 1;
	char why[REASON_MAX];

	(void)state;
	if (!possible())
		return;
	start(false);
	for (int i = 0; i < STOPS; i++) {
		struct stop *stopped = stop(left);
		uint64_t wakes = shared->wakes, turns = shared->turns;

		assert_int_equal(stop_asleep_count(stopped), 1);
		assert_true(stop_undisturbed(stopped));
		assert_int_equal(write(event, &one, sizeof(one)), sizeof(one));
		while (__atomic_load_n(&shared->wakes, __ATOMIC_ACQUIRE) == wakes)
			;
		if (i % 2)
			assert_true(sleeps(&shared->waker));
		assert_false(stop_undisturbed(stopped));
		assert_int_equal(stop_sleepers_too(stopped, why), 0);
		assert_int_equal(stop_asleep_count(stopped), 0);
		assert_true(stop_undisturbed(stopped));
		assert_int_equal(thread_state(target, shared->waker), 't');
		assert_true(thread_of(stopped, shared->waker)->word_count > 40);
		assert_int_equal(shared->turns, turns);
		stop_end(stopped);
		assert_true(moves(&shared->turns));
		stop_free(stopped);
		assert_true(sleeps(&shared->waker));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(registers_are_ptraces, finish),
		cmocka_unit_test_teardown(waits_go_on, finish),
		cmocka_unit_test_teardown(waking_is_noticed, finish),
	};
	int failed;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	event = eventfd(0, EFD_CLOEXEC);
	if (shared == MAP_FAILED || event < 0)
		return 1;
	if (!sleepers_new(&sleepers))
		left = sleepers_for_stop(sleepers);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sleepers_free(sleepers);
	return failed;
}
