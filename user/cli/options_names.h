/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* -p NAME where a look is taken once: those that are called so now. Private to user/cli. */
#ifndef MEMLEAKBPF_CLI_OPTIONS_NAMES_H
#define MEMLEAKBPF_CLI_OPTIONS_NAMES_H

#include "user/cli/options.h"

/* Adds them to the pids. 0; -ESRCH, logged: nothing is called so; or another -errno, logged. */
int options_find_named(struct option_values *values);

#endif
