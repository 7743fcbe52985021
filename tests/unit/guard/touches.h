/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This thread's page faults, by the event by which the tool sees them in a target. */
#ifndef MEMLEAKBPF_TESTS_UNIT_GUARD_TOUCHES_H
#define MEMLEAKBPF_TESTS_UNIT_GUARD_TOUCHES_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOUCHES_DATA (64 << 10)

static struct perf_event_mmap_page *touches;

/* What is asked for of each event: attr.sample_type. */
struct touch {
	struct perf_event_header header;
	uint64_t ip, address;
};

static inline int touches_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -1;
	touches = mmap(NULL, 4096 + TOUCHES_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return touches == MAP_FAILED ? -1 : 0;
}

/* The next one that has not been looked at. False: there is none. */
static inline bool touches_next(struct touch *touch)
{
	uint64_t head = __atomic_load_n(&touches->data_head, __ATOMIC_ACQUIRE);
	const uint8_t *data = (const uint8_t *)touches + 4096;

	if (touches->data_tail >= head)
		return false;
	for (size_t i = 0; i < sizeof(*touch); i++)
		((uint8_t *)touch)[i] = data[(touches->data_tail + i) % TOUCHES_DATA];
	touches->data_tail += touch->header.size;
	/* Ours are all of one size; others say that some were lost. */
	assert_int_equal(touch->header.type, PERF_RECORD_SAMPLE);
	return true;
}

/*
 * How many there were since last time at addresses in [from, from + size), other than by the code in
 * [stub, stub + stub_size); *last is the last one's address.
 */
static inline unsigned touches_in(uint64_t from, uint64_t size, uint64_t stub, uint64_t stub_size,
				  uint64_t *last)
{
	unsigned count = 0;
	struct touch touch;

	while (touches_next(&touch)) {
		if (touch.address - from >= size || touch.ip - stub < stub_size)
			continue;
		*last = touch.address;
		count++;
	}
	return count;
}

/* How many there were since last time by the instruction at `ip`; *last as above. */
static inline unsigned touches_by(uint64_t ip, uint64_t *last)
{
	unsigned count = 0;
	struct touch touch;

	while (touches_next(&touch)) {
		if (touch.ip != ip)
			continue;
		*last = touch.address;
		count++;
	}
	return count;
}

#endif
