// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ended targets are cleared from the live map, and others' blocks stay as they are: by the kernel's
 * program, and by user space in slices where that program is not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "tests/unit/trace/asked_child.h"
#include "user/blocks/blocks.h"
#include "user/trace/reclaim.h"
#include "user/trace/skeleton.h"
#include "user/stacks/slots.h"
#include "user/trace/state.h"
#include "user/trace/target.h"

/* More than a slice has, so that there are several. */
#define STAYING 20000
#define ENDING	23000

static void allocate(unsigned char size, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		char *volatile block = malloc(size);

		*block = 1;
	}
}

struct seen {
	struct trace *trace;
	bool ended;
};

static void attached(void *ctx, struct target *target)
{
	(void)ctx;
	(void)target;
}

static void ended(void *ctx, struct target *target)
{
	struct seen *seen = ctx;

	(void)target;
	seen->ended = true;
}

static void wait_for_end(struct trace *trace, struct seen *seen)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};

	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, trace_fd(trace), &event), 0);
	while (!seen->ended) {
		assert_true(epoll_wait(epoll, &event, 1, 30000) > 0);
		assert_int_equal(trace_process(trace), 0);
	}
	close(epoll);
}

struct books {
	size_t blocks, families;
	uint64_t bytes;
};

static struct books books_of(const struct trace *trace, uint32_t target_id)
{
	int map = bpf_map__fd(trace->skel->maps.live);
	int families = bpf_map__fd(trace->skel->maps.families);
	struct live_key key, next;
	struct live_value value;
	struct books books = {0};
	uint32_t family;
	int err = bpf_map_get_next_key(map, NULL, &next);

	for (; !err; err = bpf_map_get_next_key(map, &key, &next)) {
		key = next;
		if (key.target_id != target_id)
			continue;
		assert_int_equal(bpf_map_lookup_elem(map, &key, &value), 0);
		books.blocks++;
		books.bytes += value.size;
		books.families += !bpf_map_lookup_elem(families, &key, &family);
	}
	return books;
}

/* What the filter counts is what is in the map. */
static uint64_t filtered(const struct trace *trace)
{
	int map = bpf_map__fd(trace->skel->maps.live_filter);
	uint64_t sum = 0;
	uint32_t row, count;

	for (row = 0; row < bpf_map__max_entries(trace->skel->maps.live_filter); row++) {
		assert_int_equal(bpf_map_lookup_elem(map, &row, &count), 0);
		sum += count;
	}
	return sum;
}

/* The oldest of the target's blocks is at least as old as what was measured, and the bytes that are older than nothing all. */
static void ages_are_right(struct trace *trace, uint32_t target_id, const struct books *books)
{
	uint64_t bytes = 0, count = 0;
	bool oldest = false;

	assert_int_equal(blocks_find_ages(trace->blocks), 0);
	for (uint32_t slot = 0; slot < slots_end(trace->slots); slot++) {
		if (trace->slots->infos[slot].target_id != target_id)
			continue;
		bytes += trace->slots->ages[slot].older_bytes;
		count += trace->slots->ages[slot].older_count;
		oldest |= trace->slots->ages[slot].oldest_ns;
	}
	assert_true(oldest);
	if (trace->options.sample_bytes)
		return;
	assert_int_equal(bytes, books->bytes);
	assert_int_equal(count, books->blocks);
}

static void clear_one_of_two(bool in_kernel, uint64_t sample_bytes, uint32_t check_frees)
{
	struct trace_options options = {
		.max_size = UINT64_MAX,
		.max_frames = 16,
		.max_live = 1 << 17,
		.max_stacks = 1024,
		.sample_bytes = sample_bytes,
		.check_frees = check_frees,
	};
	struct seen seen = {0};
	const struct trace_callbacks callbacks = {
		.ctx = &seen, .attached = attached, .ended = ended};
	struct books staying, before, after;
	uint32_t staying_id, ending_id;
	struct child stays, ends;

	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(trace_options_choose(&options, ATTACH_AUTO), 0);
	if (!in_kernel) {
		options.attach = ATTACH_SINGLE;
		options.old = options.frame_pointers = true;
		options.task_storage = options.find_vma = options.sleepers = false;
	}
	child_begin(&stays, allocate, STAYING);
	child_begin(&ends, allocate, ENDING);
	assert_int_equal(trace_new(&options, &callbacks, &seen.trace), 0);
	assert_int_equal(bpf_program__fd(seen.trace->skel->progs.live_sweep) >= 0,
			 in_kernel && !options.old);
	assert_int_equal(trace_add_process(seen.trace, stays.pid), 0);
	assert_int_equal(trace_add_process(seen.trace, ends.pid), 0);
	child_ask(&stays, 24);
	child_ask(&ends, 40);
	staying_id = trace_find_target(seen.trace, stays.pid)->id;
	ending_id = trace_find_target(seen.trace, ends.pid)->id;
	staying = books_of(seen.trace, staying_id);
	before = books_of(seen.trace, ending_id);
	if (!sample_bytes) {
		assert_int_equal(staying.blocks, STAYING);
		assert_int_equal(staying.bytes, STAYING * 24);
		assert_int_equal(before.blocks, ENDING);
		assert_int_equal(before.bytes, ENDING * 40);
	} else {
		assert_true(staying.blocks && before.blocks);
		assert_int_equal(filtered(seen.trace), staying.blocks + before.blocks);
	}
	ages_are_right(seen.trace, ending_id, &before);

	child_ask(&ends, 0);
	wait_for_end(seen.trace, &seen);
	reclaim_ended(seen.trace);
	after = books_of(seen.trace, ending_id);
	assert_int_equal(after.blocks, 0);
	after = books_of(seen.trace, staying_id);
	assert_memory_equal(&after, &staying, sizeof(after));
	if (sample_bytes)
		assert_int_equal(filtered(seen.trace), staying.blocks);
	ages_are_right(seen.trace, staying_id, &staying);
	trace_free(seen.trace);
	child_end(&ends);
	child_end(&stays);
}

static void by_the_kernel(void **state)
{
	(void)state;
	clear_one_of_two(true, 0, 0);
}

static void by_the_kernel_sampled(void **state)
{
	(void)state;
	clear_one_of_two(true, 128, 0);
}

static void by_the_kernel_with_families(void **state)
{
	(void)state;
	clear_one_of_two(true, 0, 1000);
}

static void in_slices(void **state)
{
	(void)state;
	clear_one_of_two(false, 0, 0);
}

static void in_slices_sampled(void **state)
{
	(void)state;
	clear_one_of_two(false, 128, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_kernel),
		cmocka_unit_test(by_the_kernel_sampled),
		cmocka_unit_test(by_the_kernel_with_families),
		cmocka_unit_test(in_slices),
		cmocka_unit_test(in_slices_sampled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
