// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Places of this very process: the frame that an address of the stack lies in, and the block that a
 * thread-local variable lies in.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unwind/memory.h"
#include "user/freeze/tls.h"
#include "user/unwind/finish.h"

#define NOINLINE __attribute__((noinline))
#define KEEP(p)	 __asm__ volatile("" : : "r"(p) : "memory")

struct fixture {
	struct unwind_memory memory;
	struct unwind_publisher *publisher;
	struct object_cache *cache;
	struct image *image;
};

static struct fixture *fixture; /* for functions deep down */
static __thread uint64_t own_variable[3];

static int set_up(void **state)
{
	struct unwind_backend backend;

	fixture = calloc(1, sizeof(*fixture));
	assert_non_null(fixture);
	fixture->cache = object_cache_new();
	assert_non_null(fixture->cache);
	backend = memory_backend(&fixture->memory);
	assert_int_equal(unwind_publisher_new(&backend, &fixture->publisher), 0);
	assert_int_equal(image_new(getpid(), fixture->cache, &fixture->image), 0);
	assert_int_equal(
		unwind_publisher_set(fixture->publisher, UNWIND_OWN_TARGET, fixture->image), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	unwind_publisher_free(fixture->publisher);
	image_free(fixture->image);
	object_cache_free(fixture->cache);
	free(fixture);
	fixture = *state = NULL;
	return 0;
}

/* ---- frames ------------------------------------------------------------------------------- */

static int read_self(void *ctx, void *to, uint32_t size, uint64_t address)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	(void)ctx;
	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

static int read_nothing(void *ctx, void *to, uint32_t size, uint64_t address)
{
	(void)ctx, (void)to, (void)size, (void)address;
	return -EFAULT;
}

static NOINLINE int find(const volatile void *place, unwind_read_fn read, struct unwind_frame *out)
{
	struct unwind_regs regs;
	ucontext_t here;

	getcontext(&here);
#if defined(__x86_64__)
	regs = (struct unwind_regs){.pc = (uint64_t)here.uc_mcontext.gregs[REG_RIP],
				    .sp = (uint64_t)here.uc_mcontext.gregs[REG_RSP],
				    .fp = (uint64_t)here.uc_mcontext.gregs[REG_RBP]};
#else
	regs = (struct unwind_regs){.pc = here.uc_mcontext.pc,
				    .sp = here.uc_mcontext.sp,
				    .fp = here.uc_mcontext.regs[29],
				    .lr = here.uc_mcontext.regs[30]};
#endif
	return unwind_find_frame(fixture->publisher, &regs, read, NULL, (uintptr_t)place, out);
}

/* What a function has in its frame: where it is known to be, and where it has got to. */
struct truth {
	const volatile void *place;
	uint64_t pc;
};

static NOINLINE void check(const struct truth *truth, size_t count)
{
	volatile uint64_t mine = 1;
	struct unwind_frame frame;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(find(truth[i].place, read_self, &frame), 0);
		assert_int_equal(frame.pc, truth[i].pc);
		assert_true(frame.is_return_address);
	}
	assert_int_equal(find(&mine, read_self, &frame), 0);
	/* Below the stack pointer, in no stack, and where nothing can be read. */
	assert_int_equal(find((void *)((uintptr_t)&mine - 32768), read_self, &frame), -ENOENT);
	assert_int_equal(find(NULL, read_self, &frame), -ENOENT);
	assert_int_equal(find(truth[count - 1].place, read_nothing, &frame), -ENOENT);
	KEEP(&mine);
}

static NOINLINE void inner(struct truth *truth)
{
	volatile uint64_t mine = 1;

	truth[1].pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	check(truth, 2);
	KEEP(&mine);
}

static NOINLINE void middle(struct truth *truth)
{
	volatile uint64_t mine = 2;

	truth[0].pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	truth[1].place = &mine;
	inner(truth);
	KEEP(&mine);
}

static void frames(void **state)
{
	struct truth truth[2];
	volatile uint64_t mine = 3;

	(void)state;
	truth[0].place = &mine;
	middle(truth);
	KEEP(&mine);
}

static NOINLINE void from_below(int depth, volatile uint64_t *place, uint64_t pc)
{
	volatile uint64_t mine[8] = {0};
	struct unwind_frame frame;

	if (depth) {
		from_below(depth - 1, place, pc);
	} else {
		assert_int_equal(find(place, read_self, &frame), 0);
		assert_int_equal(frame.pc, pc);
	}
	KEEP(mine);
}

static NOINLINE void start_from_below(volatile uint64_t *place)
{
	from_below(10 * ABI_MAX_FRAMES, place, (uint64_t)(uintptr_t)__builtin_return_address(0));
	KEEP(place);
}

/* Further up than the kernel's walks go. */
static void deep(void **state)
{
	volatile uint64_t mine = 3;

	(void)state;
	start_from_below(&mine);
	KEEP(&mine);
}

/* A thread's own data lies above its first frame. */
static void *in_thread(void *arg)
{
	struct unwind_frame frame;

	*(int *)arg = find(own_variable, read_self, &frame);
	return NULL;
}

static void above_all_frames(void **state)
{
	pthread_t thread;
	int err = 0;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, &err), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(err, -ERANGE);
}

/* ---- thread-local blocks ------------------------------------------------------------------ */

static const struct image_range *range_of(const void *code)
{
	for (size_t i = 0; i < image_range_count(fixture->image); i++) {
		const struct image_range *range = image_range_at(fixture->image, i);

		if ((uintptr_t)code >= range->start && (uintptr_t)code < range->end)
			return range;
	}
	return NULL;
}

static void blocks(void **state)
{
	uint64_t tp = (uint64_t)(uintptr_t)__builtin_thread_pointer(), block, vaddr;
	const struct image_range *range = range_of(blocks), *libc = range_of(getpid);
	struct tls_layout layout;

	(void)state;
	assert_non_null(range);
	assert_int_equal(tls_layout_read(range->object, &layout), 0);
	block = tls_block_of_program(&layout, tp);
	assert_in_range((uintptr_t)own_variable, block, block + layout.size - sizeof(own_variable));
	if (!libc || libc->object == range->object)
		return; /* linked statically, or through a stub of the program's */
	assert_int_equal(tls_layout_read(libc->object, &layout), 0);
	assert_true(layout.distance.known);
	assert_int_equal(object_offset_to_vaddr(libc->object, libc->offset, &vaddr), 0);
	block = tp - layout.distance.addend +
		*(const uint64_t *)(uintptr_t)(libc->start - vaddr + layout.distance.vaddr);
	assert_in_range((uintptr_t)&errno, block, block + layout.size - sizeof(errno));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),
		cmocka_unit_test(deep),
		cmocka_unit_test(above_all_frames),
		cmocka_unit_test(blocks),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
