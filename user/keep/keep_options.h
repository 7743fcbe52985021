/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the processes are traced that `survey --keep` samples all the time. */
#ifndef MEMLEAKBPF_KEEP_KEEP_OPTIONS_H
#define MEMLEAKBPF_KEEP_KEEP_OPTIONS_H

#include "user/look/survey_config.h"
#include "user/trace/trace.h"

/* For trace_options_choose() and trace_new(); what it points to is the config's. */
struct trace_options keep_trace_options(const struct survey_config *config, bool starting);

#endif
