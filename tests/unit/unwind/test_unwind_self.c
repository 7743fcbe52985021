// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The unwinder over this very process: tables of its own objects, its own stack, and libgcc's
 * unwinder as the truth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "tests/unwind/memory.h"

#define TARGET	 7
#define NOINLINE __attribute__((noinline))
#define KEEP(p)	 __asm__ volatile("" : : "r"(p) : "memory")

struct fixture {
	struct unwind_memory memory;
	struct unwind_publisher *publisher;
	struct object_cache *cache;
	struct image *image;
	struct unwind_state state;
};

static struct fixture *fixture; /* for functions that are called back */

static int read_self(void *to, uint32_t size, uint64_t address)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

struct truth {
	uint64_t frames[ABI_MAX_FRAMES + 1]; /* and that of collect_truth() */
	int count;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *arg)
{
	struct truth *truth = arg;

	if (truth->count > ABI_MAX_FRAMES)
		return _URC_END_OF_STACK;
	truth->frames[truth->count++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

/* Not backtrace(), which sanitizers replace. frames[1] is the caller's. */
static NOINLINE void collect_truth(struct truth *truth)
{
	truth->count = 0;
	_Unwind_Backtrace(on_frame, truth);
	/* The end of the stack is reported as a frame without a place. */
	if (truth->count && !truth->frames[truth->count - 1])
		truth->count--;
}

static int set_up(void **state)
{
	struct unwind_backend backend;
	struct truth warm;

	collect_truth(&warm); /* loads libgcc_s, if need be, before the mappings are read */
	fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	fixture->memory.read = read_self;
	fixture->cache = object_cache_new();
	assert_non_null(fixture->cache);
	backend = memory_backend(&fixture->memory);
	assert_int_equal(unwind_publisher_new(&backend, &fixture->publisher), 0);
	assert_int_equal(image_new(getpid(), fixture->cache, &fixture->image), 0);
	assert_int_equal(unwind_publisher_set(fixture->publisher, TARGET, fixture->image), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	unwind_publisher_free(fixture->publisher);
	assert_int_equal(fixture->memory.chunk_count, 0);
	image_free(fixture->image);
	object_cache_free(fixture->cache);
	free(fixture);
	fixture = *state = NULL;
	return 0;
}

/* Walks from here and compares all frames but the first, where the two ask at different places. */
static NOINLINE bool walk_is_true(void)
{
	static __thread struct unwind_state state;
	struct stack_event event;
	struct truth truth;
	ucontext_t here;
	volatile uint64_t hash =
		0; /* getcontext() might return twice, for all the compiler knows */
	int count;

	collect_truth(&truth);
	count = truth.count - 1;
	getcontext(&here);
	memset(&state, 0, sizeof(state));
	state.memory = &fixture->memory;
	state.target_id = TARGET;
	state.max_frames = ABI_MAX_FRAMES;
	/* Twice: the second time from the cache. */
	for (int round = 0; round < 2; round++) {
#if defined(__x86_64__)
		state.regs.pc = (uint64_t)here.uc_mcontext.gregs[REG_RIP];
		state.regs.sp = (uint64_t)here.uc_mcontext.gregs[REG_RSP];
		state.regs.fp = (uint64_t)here.uc_mcontext.gregs[REG_RBP];
#else
		state.regs.pc = here.uc_mcontext.pc;
		state.regs.sp = here.uc_mcontext.sp;
		state.regs.fp = here.uc_mcontext.regs[29];
		state.regs.lr = here.uc_mcontext.regs[30];
#endif
		memory_walk(&state, &event);
		if (event.end !=
			    (count < ABI_MAX_FRAMES ? STACK_END_COMPLETE : STACK_END_TRUNCATED) ||
		    event.frame_count != count)
			return false;
		for (int i = 1; i < count; i++) {
			if (event.frames[i] != truth.frames[i + 1])
				return false;
		}
		if (round && hash != state.hash)
			return false;
		hash = state.hash;
	}
	KEEP(&event);
	return true;
}

static NOINLINE void check(void)
{
	bool same = walk_is_true();

	assert_true(same);
	KEEP(&same);
}

static NOINLINE int nest(int depth)
{
	volatile int local = depth;

	if (depth)
		return nest(depth - 1) + local;
	check();
	return local;
}

static void test_depths(void **unused)
{
	(void)unused;
	for (int i = 0; i < 20; i++)
		nest(i);
	nest(200);
}

static NOINLINE void on_stack(size_t n)
{
	_Alignas(64) char wide[64];
	char *p = alloca(n);

	KEEP(wide);
	memset(p, 1, n);
	KEEP(p);
	check();
	KEEP(p);
}

static void test_alloca(void **unused)
{
	(void)unused;
	on_stack((size_t)getpid() % 100 + 10);
}

static void on_signal(int signal)
{
	(void)signal;
	nest(2);
}

static void test_signal(void **unused)
{
	static char stack[1 << 18];
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)}, before;
	struct sigaction action = {.sa_handler = on_signal}, old;

	(void)unused;
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	raise(SIGUSR1);
	assert_int_equal(sigaltstack(&alternate, &before), 0);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sigaltstack(&before, NULL);
	sigaction(SIGUSR1, &old, NULL);
}

/*
 * The child runs in this very memory, on this very stack; it must not return from here, nor fail an
 * assertion.
 */
static NOINLINE int in_vfork(volatile bool *same)
{
	int status = -1;
	pid_t pid = vfork();

	if (!pid) {
		*same = walk_is_true();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_vfork(void **unused)
{
	volatile bool same = false;

	(void)unused;
	assert_int_equal(in_vfork(&same), 0);
	assert_true(same);
}

/* Optimised, it jumps to nest(), which returns to the caller of this one. */
static NOINLINE int tail(int depth)
{
	return nest(depth);
}

static void test_tail_call(void **unused)
{
	(void)unused;
	assert_int_equal(tail(3), 6);
}

static int compare(const void *a, const void *b)
{
	check();
	return *(const int *)a - *(const int *)b;
}

static void test_callback(void **unused)
{
	int numbers[] = {2, 3, 1};

	(void)unused;
	qsort(numbers, 3, sizeof(numbers[0]), compare);
}

static void *in_thread(void *arg)
{
	nest(3);
	return arg;
}

static void test_thread(void **unused)
{
	pthread_t thread;

	(void)unused;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	pthread_join(thread, NULL);
}

/* A second target shares the tables; when both are gone nothing is left. */
static void test_sharing(void **unused)
{
	struct unwind_publisher_stats before, after;

	(void)unused;
	unwind_publisher_stats(fixture->publisher, &before);
	assert_true(before.objects > 2);
	assert_true(before.rows > 10000);
	assert_true(before.bytes < 6 * before.rows); /* 0.6 MB for 100,000 */
	assert_int_equal(unwind_publisher_set(fixture->publisher, TARGET + 1, fixture->image), 0);
	unwind_publisher_stats(fixture->publisher, &after);
	assert_int_equal(after.objects, before.objects);
	assert_int_equal(after.rows, before.rows);
	assert_true(after.bytes < before.bytes + 65536);
	unwind_publisher_drop(fixture->publisher, TARGET + 1);
	for (int i = 0; i < 3; i++)
		unwind_publisher_reclaim(fixture->publisher);
	unwind_publisher_stats(fixture->publisher, &after);
	assert_int_equal(after.bytes, before.bytes);
	assert_true(fixture->memory.waits > 0);
	nest(3);
}

/* What unwind_forked() does in the kernel, and the parent's end before the child's. */
static void test_fork(void **unused)
{
	struct unwind_target *rows = fixture->memory.targets;
	struct unwind_publisher_stats before, after;

	(void)unused;
	unwind_publisher_stats(fixture->publisher, &before);
	assert_int_equal(unwind_publisher_set(fixture->publisher, 100, fixture->image), 0);
	rows[101] = rows[100];
	rows[101].target_id = 101;
	unwind_publisher_drop(fixture->publisher, 100); /* before the fork is known about */
	unwind_publisher_adopt(fixture->publisher, 101);
	for (int i = 0; i < 3; i++)
		unwind_publisher_reclaim(fixture->publisher);
	unwind_publisher_stats(fixture->publisher, &after);
	assert_int_equal(after.sets, before.sets + 1);
	unwind_publisher_drop(fixture->publisher, 101);
	for (int i = 0; i < 3; i++)
		unwind_publisher_reclaim(fixture->publisher);
	unwind_publisher_stats(fixture->publisher, &after);
	assert_int_equal(after.sets, before.sets);
	assert_int_equal(after.bytes, before.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_depths),	  cmocka_unit_test(test_alloca),
		cmocka_unit_test(test_signal),	  cmocka_unit_test(test_vfork),
		cmocka_unit_test(test_tail_call), cmocka_unit_test(test_callback),
		cmocka_unit_test(test_thread),	  cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
