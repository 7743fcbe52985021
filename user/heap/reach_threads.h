/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Roots that threads have beside their stacks' mappings, and threads that have ended. Internal to user/heap/reach*.c. */
#ifndef MEMLEAKBPF_HEAP_REACH_THREADS_H
#define MEMLEAKBPF_HEAP_REACH_THREADS_H

#include "user/heap/reach_follow.h"

/* What is thread-local, of living threads and of ended ones whose stacks the C library keeps for the next. */
void reach_follow_thread_locals(struct reach *r);

/* Stacks that lie in blocks. */
void reach_follow_stacks_in_blocks(struct reach *r);

/*
 * Of a thread that has ended, was not joined, and can still be: something reachable has its pthread_t. Then what
 * is the thread's is reachable as well. To be called once all else has been followed; finds what reach_is_held()
 * says. 0 or -ENOMEM.
 */
int reach_hold_unjoined(struct reach *r);

#endif
