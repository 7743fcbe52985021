/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What goes together with --inspect, of a trace. Internal to user/cli. */
#ifndef MEMLEAKBPF_CLI_OPTIONS_INSPECTING_H
#define MEMLEAKBPF_CLI_OPTIONS_INSPECTING_H

#include "user/cli/options.h"

/* 0, or -EINVAL with one line logged. */
int options_check_inspecting(const struct option_values *values);

#endif
