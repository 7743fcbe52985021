/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `memleakbpf top`: a screen that shows a process's allocations while it runs, or all processes. */
#ifndef MEMLEAKBPF_LIVE_TOP_H
#define MEMLEAKBPF_LIVE_TOP_H

#include "user/session/session_config.h"
#include "user/look/survey_config.h"

/*
 * Watches the one process of the config until the user leaves or a signal asks to stop. The signals
 * that loops read must be blocked (loop_block_signals()). 0, or -errno, logged: -EINVAL when the
 * terminal has no screen.
 */
int live_watch(const struct watch_config *config);

/* The same for a survey. */
int live_survey(const struct survey_config *config);

#endif
