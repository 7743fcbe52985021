// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A ring buffer of the kernel's, written by a program that is run as often as the test likes. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/trace/ring_reader.h"

#define RING_BYTES  4096
#define RECORD	    64
#define KEPT	    24
#define TOO_MANY    (8 * RING_BYTES / RECORD) /* with a header each, even more */
#define PATIENCE_NS (20 * NS_PER_S)

struct written {
	struct ring_reader *reader;
	int map_fd, program_fd;
	unsigned taken;
};

/* As much of a record as its first word says. */
static size_t kept(const void *data, size_t size)
{
	uint64_t first;

	assert_int_equal(size, RECORD);
	memcpy(&first, data, sizeof(first));
	return first;
}

/* return bpf_ringbuf_output(map, {size, 1, 1, …}, RECORD, 0) */
static int writes(int map_fd, uint32_t size)
{
	struct bpf_insn program[40];
	size_t n = 0;

	for (int at = 0; at < RECORD; at += 8)
		program[n++] = (struct bpf_insn){.code = BPF_ST | BPF_MEM | BPF_DW,
						 .dst_reg = BPF_REG_10,
						 .off = (int16_t)(at - RECORD),
						 .imm = at ? 1 : (int32_t)size};
	program[n++] = (struct bpf_insn){.code = BPF_LD | BPF_DW | BPF_IMM,
					 .dst_reg = BPF_REG_1,
					 .src_reg = BPF_PSEUDO_MAP_FD,
					 .imm = map_fd};
	program[n++] = (struct bpf_insn){0};
	program[n++] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10};
	program[n++] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -RECORD};
	program[n++] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3, .imm = RECORD};
	program[n++] = (struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_4};
	program[n++] =
		(struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output};
	program[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "writes", "GPL", program, n, NULL);
}

static void write_with(struct written *w, uint32_t size)
{
	w->map_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING_BYTES, NULL);
	assert_true(w->map_fd >= 0);
	w->program_fd = writes(w->map_fd, size);
	assert_true(w->program_fd >= 0);
	assert_int_equal(ring_reader_new(w->map_fd, kept, &w->reader), 0);
}

static void written_end(struct written *w)
{
	ring_reader_free(w->reader);
	close(w->program_fd);
	close(w->map_fd);
}

/* False: there was no room. */
static bool write_one(const struct written *w)
{
	uint8_t packet[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = sizeof(packet));

	assert_int_equal(bpf_prog_test_run_opts(w->program_fd, &run), 0);
	return !run.retval;
}

static void on_record(void *ctx, void *record, size_t size)
{
	const uint64_t expected[] = {KEPT, 1, 1};
	struct written *w = ctx;

	assert_int_equal(size, KEPT);
	assert_memory_equal(record, expected, KEPT);
	free(record);
	w->taken++;
}

/* Nobody takes anything, and yet there is room for much more than the ring holds. */
static void they_do_not_wait_for_us(void **state)
{
	uint64_t deadline = monotonic_ns() + PATIENCE_NS;
	struct written w = {0};

	(void)state;
	write_with(&w, KEPT);
	for (unsigned i = 0; i < TOO_MANY; i++) {
		while (!write_one(&w))
			assert_true(monotonic_ns() < deadline);
	}
	assert_int_equal(ring_reader_take(w.reader, on_record, &w), TOO_MANY);
	assert_int_equal(w.taken, TOO_MANY);
	assert_int_equal(ring_reader_take(w.reader, on_record, &w), 0);
	written_end(&w);
}

/* What was written before the call is taken by it, whether its thread has run or not; and it tells that something is there. */
static void none_is_late(void **state)
{
	struct written w = {0};
	struct pollfd ready;

	(void)state;
	write_with(&w, KEPT);
	ready = (struct pollfd){.fd = ring_reader_fd(w.reader), .events = POLLIN};
	for (unsigned i = 1; i <= 1000; i++) {
		assert_true(write_one(&w));
		assert_int_equal(ring_reader_take(w.reader, on_record, &w), 1);
		assert_int_equal(w.taken, i);
	}
	assert_true(write_one(&w));
	assert_int_equal(poll(&ready, 1, PATIENCE_NS / NS_PER_MS), 1);
	assert_int_equal(ring_reader_take(w.reader, on_record, &w), 1);
	written_end(&w);
}

static void broken_ones_are_left_out(void **state)
{
	struct written w = {0};

	(void)state;
	write_with(&w, 0);
	assert_true(write_one(&w));
	assert_int_equal(ring_reader_take(w.reader, on_record, &w), 0);
	written_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_do_not_wait_for_us),
		cmocka_unit_test(none_is_late),
		cmocka_unit_test(broken_ones_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
