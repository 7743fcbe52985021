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
 * After each look: names the containers that are new. The runtime is asked where there is one, every
 * ten seconds at most, waited for for a second, and after it has failed left alone for a minute; the
 * first failure in a row is logged.
 */
void survey_names_tick(struct survey_names *names, struct history *history);

#endif
