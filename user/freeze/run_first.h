/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_FREEZE_RUN_FIRST_H
#define MEMLEAKBPF_FREEZE_RUN_FIRST_H

#include <stdbool.h>

/*
 * Puts the calling thread before all ordinary ones (SCHED_FIFO), or back. For what is done while a
 * process stands still: on a busy machine the pause would otherwise be as long as others let it be.
 * Where it is not permitted nothing happens.
 */
void run_first(bool first);

#endif
