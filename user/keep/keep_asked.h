/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers to who asks for processes that are kept, and for their profiles. Part of the keeper. */
#ifndef MEMLEAKBPF_KEEP_KEEP_ASKED_H
#define MEMLEAKBPF_KEEP_KEEP_ASKED_H

#include "user/model/report.h"
#include "user/look/history.h"
#include "user/keep/keep_entry.h"
#include "user/serve/kept_process.h"

/* Fills in kept->build_id, of a process that has a target now. */
void keep_asked_note_build_id(struct kept *kept);

/* survey_keeper_each(), of these (uthash). */
int keep_asked_each(const struct kept *all, struct history *history,
		    int (*visit)(void *ctx, const struct kept_process *p), void *ctx);

/* survey_keeper_snapshot() of a target. 0 and *out (report_free()), or -errno, logged. */
int keep_asked_snapshot(struct trace *trace, struct target *target, struct report **out);

#endif
