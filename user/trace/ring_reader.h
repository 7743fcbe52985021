/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread of its own takes records out of a BPF ring buffer as they come. Thousands come while the
 * main thread makes the tables of objects that it has just opened, and would not fit into the
 * buffer. Part of user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_RING_READER_H
#define MEMLEAKBPF_TRACE_RING_READER_H

#include <stddef.h>

struct ring_reader;

/* How much of a record of that size has to be kept, in bytes; 0: nothing, it is not whole. */
typedef size_t ring_record_fn(const void *data, size_t size);

/* From the ring buffer of that descriptor. 0 or -errno, logged. */
int ring_reader_new(int map_fd, ring_record_fn *kept, struct ring_reader **out);
/* Ends the thread. NULL is fine. */
void ring_reader_free(struct ring_reader *reader);

/* Readable when there are some. */
int ring_reader_fd(const struct ring_reader *reader);

/*
 * Calls fn with each record that the kernel has sent before this call, in their order, in the thread that calls.
 * `record`, of which `size` bytes are there, is fn's to free(). How many these were; -ENOMEM when some had to be left
 * out, not logged.
 */
int ring_reader_take(struct ring_reader *reader, void (*fn)(void *ctx, void *record, size_t size),
		     void *ctx);

#endif
