/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The FILTERs of `survey --keep`: KEY=VALUE, as the options --unit, --container, --cgroup, --comm and --user have them. */
#ifndef MEMLEAKBPF_SURVEY_KEEP_FILTER_H
#define MEMLEAKBPF_SURVEY_KEEP_FILTER_H

#include "user/survey/survey.h"

/*
 * A scope with one member set; its strings point into the text, which must outlive it. 0 or -EINVAL: no such key, nothing behind
 * it, no such user, or no regular expression.
 */
int keep_filter_parse(const char *text, struct survey_scope_config *out);

#endif
