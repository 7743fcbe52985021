/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --ask-runtime: JVMs are asked to write a perf map before a report. A process of its own asks,
 * which was made before the tool gave up its privileges. For each question it makes another
 * process, which becomes the target's user. Private to user/runtime.
 */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_ASKER_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_ASKER_H

#include "user/runtime/runtime_ops.h"

struct runtime_asker;

/* 0, or -errno, logged. To be called while the tool has no descriptors that must not be copied. */
int runtime_asker_new(struct runtime_asker **out);
void runtime_asker_free(struct runtime_asker *asker); /* NULL is fine */

/* Has the target's JVM, if it has one, write a perf map. Failures are logged, once. It takes milliseconds, and at most four seconds. */
void runtime_ask(struct runtime_asker *asker, const struct runtimes *runtimes,
		 struct runtime_target *target);

#endif
