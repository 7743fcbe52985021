// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/dead_memory.h"

#include <errno.h>
#include <string.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/heap/walker.h"

/*
 * glibc's struct pthread is about that large on x86_64 (0x900 in 2.36) and ends where the thread's
 * stack memory ends.
 */
#define THREAD_BLOCK_MAX 4096

static bool dead_is_stack_like(const struct mapping *m)
{
	return m && m->write && !m->exec && !m->shared &&
	       (!m->ino || !strncmp(m->path, "[stack", 6));
}

/* Does a guard (memory without any right) lie directly below it? */
static bool dead_has_guard(const struct heap_image *image, const struct mapping *m)
{
	const struct mapping *below = maps_find(image->memory->maps, m->start - 1);

	return below && !below->read && !below->write && !below->exec;
}

/*
 * Where the memory below a thread's stack pointer begins to be its own for certain: at the guard;
 * without one (glibc from 2.41 on has none that is a mapping) behind the control block of the
 * thread below in the same mapping.
 */
static uint64_t dead_stack_bottom(const struct heap_image *image, const struct mapping *m,
				  const struct memory_thread *thread)
{
	const uint64_t page = page_size(); /* the thread's control block ends within one */
	uint64_t bottom = dead_has_guard(image, m) || !strcmp(m->path, "[stack]") ? m->start : 0;

	for (size_t i = 0; i < image->memory->thread_count; i++) {
		const struct memory_thread *other = &image->memory->threads[i];
		uint64_t highest = other->sp > other->tls ? other->sp : other->tls;

		/* Another thread's stack between: nothing is certain below that. */
		if (other == thread || other->sp >= thread->sp || other->sp < m->start)
			continue;
		if (highest >= thread->sp || highest < m->start)
			return 0;
		highest = page_down(highest + page, page);
		bottom = highest > bottom ? highest : bottom;
	}
	return bottom;
}

/*
 * The thread's control block must be in the mapping, above: what else lies there (a stack made by
 * the program) may be in use.
 */
static int dead_below_sp(struct heap_image *image, const struct memory_thread *thread)
{
	const struct mapping *m = maps_find(image->memory->maps, thread->sp);
	uint64_t bottom, top = (thread->sp - STACK_RED_ZONE) & ~7ull;

	if (!dead_is_stack_like(m))
		return 0;
	if (strcmp(m->path, "[stack]") != 0 && (thread->tls <= thread->sp || thread->tls >= m->end))
		return 0;
	bottom = dead_stack_bottom(image, m, thread);
	return bottom && bottom < top ? heap_image_add_dead(image, bottom, top) : 0;
}

static bool dead_is_threads_block(const struct heap_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->memory->thread_count; i++) {
		if (image->memory->threads[i].tls == address)
			return true;
	}
	return false;
}

/*
 * The control block of a thread that is no more: on x86_64 its first and its third word are its own
 * address (tcbhead_t of glibc: tcb, dtv, self), and no living thread's thread pointer is that.
 * glibc keeps the stacks of ended threads, with the block, for the next ones.
 */
static bool dead_holds_ended_thread(const struct heap_image *image, const struct mapping *m,
				    uint64_t *block)
{
	uint64_t first =
		m->end - m->start > THREAD_BLOCK_MAX ? m->end - THREAD_BLOCK_MAX : m->start;

	for (uint64_t at = first; at + 24 <= m->end; at += 64) {
		uint64_t tcb, self;

		if (memory_image_word(image->memory, at, &tcb) && tcb == at &&
		    memory_image_word(image->memory, at + 16, &self) && self == at) {
			*block = at;
			return !dead_is_threads_block(image, at);
		}
	}
	return false;
}

static bool dead_has_thread(const struct heap_image *image, const struct mapping *m)
{
	for (size_t i = 0; i < image->memory->thread_count; i++) {
		const struct memory_thread *t = &image->memory->threads[i];

		if ((t->sp >= m->start && t->sp < m->end) ||
		    (t->tls >= m->start && t->tls < m->end))
			return true;
	}
	return false;
}

/*
 * glibc's struct pthread (x86_64, 2.26 to 2.41, nptl/descr.h): the kernel clears `tid` when the thread has ended;
 * of `cancelhandling` one bit says that it is ending, and another that its block has been given back, as
 * pthread_join() does, and the end of a detached one.
 */
#define PTHREAD_TID	   720
#define PTHREAD_CANCELLING 776
#define PTHREAD_EXITING	   0x10u
#define PTHREAD_TERMINATED 0x20u

static bool dead_is_unjoined(const struct heap_image *image, uint64_t block)
{
	uint64_t tid, state;

	return memory_image_word(image->memory, block + PTHREAD_TID, &tid) && !(uint32_t)tid &&
	       memory_image_word(image->memory, block + PTHREAD_CANCELLING, &state) &&
	       (state & (PTHREAD_EXITING | PTHREAD_TERMINATED)) == PTHREAD_EXITING;
}

static uint64_t dead_resident(const struct heap_image *image, const struct mapping *m)
{
	uint64_t at = m->start, bytes = 0;
	struct memory_run run;

	while (memory_image_next_run(image->memory, &at, m->end, &run))
		bytes += 8 * run.count;
	return bytes;
}

static int dead_add_ended(struct heap_image *image, const struct mapping *m, uint64_t block)
{
	if (!RESERVE_ITEM(image->ended, image->ended_count, image->ended_room, 16))
		return -ENOMEM;
	image->ended[image->ended_count++] = (struct heap_ended){
		.block = block,
		.bytes = m->end - m->start,
		.resident = dead_resident(image, m),
		.unjoined = dead_is_unjoined(image, block),
	};
	return heap_image_add_dead(image, m->start, m->end);
}

static int dead_ended_stacks(struct heap_image *image)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(image->memory->maps); i++) {
		const struct mapping *m = maps_at(image->memory->maps, i);
		uint64_t block;

		if (dead_is_stack_like(m) && !*m->path && dead_has_guard(image, m) &&
		    !dead_has_thread(image, m) && dead_holds_ended_thread(image, m, &block))
			err = dead_add_ended(image, m, block);
	}
	return err;
}

/*
 * Each finds its own allocator, and does nothing where there is none. One that makes its blocks of
 * memory of another's stands before that.
 */
static int (*const dead_walkers[])(struct heap_image *image) = {
	cpython_heap_mark,  glibc_heap_mark,	jemalloc_heap_mark, musl_heap_mark,
	mimalloc_heap_mark, tcmalloc_heap_mark, unknown_heaps_mark,
};

int dead_memory_find(struct heap_image *image)
{
	int err = 0;

	if (!image->memory->maps)
		return 0;
	for (size_t i = 0; !err && i < image->memory->thread_count; i++)
		err = dead_below_sp(image, &image->memory->threads[i]);
	if (!err)
		err = dead_ended_stacks(image);
	for (size_t i = 0; !err && i < ARRAY_SIZE(dead_walkers); i++)
		err = dead_walkers[i](image);
	if (!err)
		heap_image_finish(image);
	return err;
}
