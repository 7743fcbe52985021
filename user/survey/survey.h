/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `memleakbpf survey`: which process of this machine leaks, and where. */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_H
#define MEMLEAKBPF_SURVEY_SURVEY_H

#include "user/look/survey_config.h"

/*
 * Surveys the machine until the count is reached or a signal asks to stop, and prints a last report.
 * loop_block_signals() has been called; privileges are dropped on the way. 0 or -errno, logged: -ESRCH
 * when no process ever matched the scope; that the reader of a table has had enough is no error.
 */
int survey_run(const struct survey_config *config);

#endif
