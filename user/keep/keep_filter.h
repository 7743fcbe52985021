/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The FILTERs of `survey --keep`: KEY=VALUE, as the options --unit, --container, --cgroup, --comm and --user have them. */
#ifndef MEMLEAKBPF_KEEP_KEEP_FILTER_H
#define MEMLEAKBPF_KEEP_KEEP_FILTER_H

#include "user/look/history.h"
#include "user/look/survey_config.h"
#include "user/look/survey_process.h"

/*
 * A scope with one member set; its strings point into the text, which must outlive it. 0 or -EINVAL: no such key, nothing behind
 * it, no such user, or no regular expression.
 */
int keep_filter_parse(const char *text, struct survey_scope_config *out);

/* All of them. */
struct keep_filters;

/* Their texts must outlive it. NULL when out of memory, or one is none. */
struct keep_filters *keep_filters_new(const struct string_list *texts);
void keep_filters_free(struct keep_filters *filters); /* NULL is fine */

/* Does any of them name the process? */
bool keep_filters_have(const struct keep_filters *filters, const struct history_process *process,
		       const struct survey_process *data);

#endif
