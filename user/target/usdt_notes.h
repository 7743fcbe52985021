/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects whose allocator samples by itself and tells. They have the USDT probes of OpenTelemetry's
 * contract for memory profiling:
 *
 * - otel_memory:alloc (block, size, bytes that the block stands for)
 * - otel_memory:free (block)
 *
 * Such an object is found as a provider whose "functions" are the probes.
 */
#ifndef MEMLEAKBPF_TARGET_USDT_NOTES_H
#define MEMLEAKBPF_TARGET_USDT_NOTES_H

struct object;
struct provider;

/*
 * Finds the probes in the object's notes. 0 and *out, to be freed with provider_free(). Its rows
 * have OP_USDT_ALLOC and OP_USDT_FREE, and their offsets are those of the probes. -ENOENT when one
 * of the two is missing, or cannot be used, which is logged. Or -errno, not logged.
 */
int usdt_find(struct object *object, struct provider **out);

#endif
