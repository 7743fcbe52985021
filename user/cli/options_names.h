/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* -p NAME for a single look: processes that have the name now. Private to user/cli. */
#ifndef MEMLEAKBPF_CLI_OPTIONS_NAMES_H
#define MEMLEAKBPF_CLI_OPTIONS_NAMES_H

#include "user/cli/options.h"

/*
 * Adds the named processes to the pids. 0; -ESRCH, logged: none has the name; or another -errno,
 * logged.
 */
int options_find_named(struct option_values *values);

#endif
