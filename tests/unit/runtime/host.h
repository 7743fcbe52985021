/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host for languages that has no trace: frames are kept in a table, and there are no maps. */
#ifndef MEMLEAKBPF_TESTS_RUNTIME_HOST_H
#define MEMLEAKBPF_TESTS_RUNTIME_HOST_H

#include "user/model/frame_table.h"
#include "user/runtime/runtime_ops.h"

struct test_host {
	struct runtimes runtimes;
	struct frame_table *frames;
};

static inline const struct frame *test_host_keep(void *ctx, uint32_t target_id,
						 const struct frame *frame)
{
	struct test_host *host = ctx;
	uint32_t id;

	(void)target_id;
	return frame_table_frame(host->frames, frame, &id) ? NULL
							   : frame_table_frame_at(host->frames, id);
}

static inline struct runtime_object *test_host_object(void *ctx, struct object *object, bool wanted)
{
	(void)ctx;
	(void)object;
	(void)wanted;
	return NULL;
}

static inline void test_host_changed(void *ctx)
{
	(void)ctx;
}

/* False: there is no memory. */
static inline bool test_host_open(struct test_host *host)
{
	host->frames = frame_table_new();
	host->runtimes.host = (struct runtime_host){
		.ctx = host,
		.max_frames = ABI_MAX_FRAMES,
		.pool_rows = -1,
		.object = test_host_object,
		.changed = test_host_changed,
		.keep = test_host_keep,
	};
	for (size_t i = 0; i < RUNTIMES_FOLLOWED; i++)
		host->runtimes.host.rows[i] = -1;
	return host->frames;
}

static inline void test_host_close(struct test_host *host)
{
	frame_table_free(host->frames);
}

#endif
