/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_FREEZE_RUN_FIRST_H
#define MEMLEAKBPF_FREEZE_RUN_FIRST_H

#include <stdbool.h>

/*
 * Puts the calling thread before all ordinary ones (SCHED_FIFO), or back, for work during which a
 * process stands still. Otherwise other threads on a busy machine decide how long the pause is.
 * Does nothing where it is not permitted.
 */
void run_first(bool first);

#endif
