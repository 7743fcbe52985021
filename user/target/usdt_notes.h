/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects whose allocator samples by itself and tells: those with USDT probes as OpenTelemetry's
 * contract for memory profiling has them, otel_memory:alloc (block, size, bytes that it stands for)
 * and otel_memory:free (block). What is found is a provider whose "functions" are the probes.
 */
#ifndef MEMLEAKBPF_TARGET_USDT_NOTES_H
#define MEMLEAKBPF_TARGET_USDT_NOTES_H

struct object;
struct provider;

/*
 * Finds the probes in the object's notes. 0 and *out (to be freed with provider_free; its rows have
 * OP_USDT_ALLOC and OP_USDT_FREE, their offsets are the probes' own); -ENOENT when it has not both
 * of them, or has one that cannot be used, which is logged; or -errno, not logged.
 */
int usdt_find(struct object *object, struct provider **out);

#endif
