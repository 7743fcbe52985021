/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes a survey is about. */
#ifndef MEMLEAKBPF_LOOK_SURVEY_SCOPE_H
#define MEMLEAKBPF_LOOK_SURVEY_SCOPE_H

#include "user/look/survey_config.h"
#include "user/look/survey_process.h"

struct survey_scope;

/*
 * Which processes are wanted, by the config, which must outlive it; never ourselves. NULL when out
 * of memory.
 */
struct survey_scope *survey_scope_new(const struct survey_scope_config *config);
void survey_scope_free(struct survey_scope *scope); /* NULL is fine */
/* Its options as they were given, for messages: "--user 33 --comm ^php"; "" where all are wanted. */
#define SURVEY_SCOPE_TEXT_MAX 256
char *survey_scope_text(char buf[static SURVEY_SCOPE_TEXT_MAX],
			const struct survey_scope_config *config);
bool survey_scope_has(const struct survey_scope *scope, const struct history_process *process,
		      const struct survey_process *data);

#endif
