/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that sleep in a system call which a stop would end with EINTR. A BPF iterator looks at
 * them without waking them. For user/freeze/stop.h; private to user/capture.
 */
#ifndef MEMLEAKBPF_CAPTURE_SLEEPERS_H
#define MEMLEAKBPF_CAPTURE_SLEEPERS_H

#include "user/freeze/stop.h"

struct sleepers;

/*
 * Loads the program. 0 and *out, or -errno, not logged: the kernel has no such iterator (before
 * 6.1).
 */
int sleepers_new(struct sleepers **out);
void sleepers_free(struct sleepers *sleepers); /* NULL is fine */

/*
 * What stop_begin() takes; as long-lived as `sleepers`. One stop at a time uses it. NULL for NULL.
 */
const struct stop_sleepers *sleepers_for_stop(const struct sleepers *sleepers);

#endif
