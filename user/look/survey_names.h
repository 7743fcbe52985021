/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of containers that no file on this machine tells, from a container runtime's socket, when
 * that has been asked for.
 */
#ifndef MEMLEAKBPF_LOOK_SURVEY_NAMES_H
#define MEMLEAKBPF_LOOK_SURVEY_NAMES_H

#include "user/look/history.h"

struct survey_names;

/* `socket` is the caller's, and must outlive the names. NULL: no memory. */
struct survey_names *survey_names_new(const char *socket);
void survey_names_free(struct survey_names *names); /* NULL is fine */

/*
 * To be called after each look. Names the containers that are new. The runtime, where there is one,
 * is asked every ten seconds at most, and has a second to answer. After a failure it is left alone
 * for a minute. The first failure in a row is logged.
 */
void survey_names_tick(struct survey_names *names, struct history *history);

#endif
