// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: records in the kernel's ring of new mappings. They are the kernel's, but paths in them
 * are a target's, and a ring that wraps anywhere is its daily bread. The module is compiled in
 * here, to have a ring without the kernel.
 */
#include "tests/fuzz/fuzz.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "user/target/mapwatch.c"

static bool want(void *ctx, pid_t pid)
{
	(void)ctx;
	return pid >= 0;
}

static void see(void *ctx, const struct mapwatch_record *record)
{
	size_t *longest = ctx;

	if (record->exec)
		return;
	MUST(record->mapping.path);
	if (strlen(record->mapping.path) > *longest)
		*longest = strlen(record->mapping.path);
}

/* The first two bytes say where in the ring the data lies: it may wrap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t longest = 0, page_size = (size_t)sysconf(_SC_PAGESIZE);
	struct mapwatch watch = {.callbacks = {.ctx = &longest, .wanted = want, .record = see},
				 .page_size = page_size};
	struct ring ring = {.fd = -1};
	bool any = false;
	uint64_t tail;
	char *bytes;

	if (size < 2 || size - 2 > RING_BYTES)
		return 0;
	ring.meta = aligned_alloc(page_size, page_size + RING_BYTES);
	if (!ring.meta)
		abort();
	memset(ring.meta, 0, page_size);
	bytes = (char *)ring.meta + page_size;
	memset(bytes, 0xff, RING_BYTES);
	tail = RING_BYTES - ((uint64_t)data[0] | (uint64_t)data[1] << 8) * 8 % RING_BYTES;
	for (size_t i = 2; i < size; i++)
		bytes[(tail + i - 2) % RING_BYTES] = (char)data[i];
	ring.meta->data_tail = tail;
	ring.meta->data_head = tail + size - 2;
	read_ring(&watch, &ring, &any);
	MUST(ring.meta->data_tail == ring.meta->data_head);
	mapwatch_deliver(&watch, UINT64_MAX);
	MUST(watch.count == 0 && longest <= size);
	free(watch.records);
	free(ring.meta);
	return 0;
}
