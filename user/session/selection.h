/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes chosen by what they are and not by number: all that match, now and later. */
#ifndef MEMLEAKBPF_SESSION_SELECTION_H
#define MEMLEAKBPF_SESSION_SELECTION_H

#include "user/session/session_config.h"

struct selection;

/* The config must outlive it. NULL when out of memory. */
struct selection *selection_new(const struct select_config *config);
void selection_free(struct selection *selection); /* NULL is fine */

/* Is anything selected? */
bool selection_wanted(const struct select_config *config);

/* Writes the selection as given, for messages: "-p nginx --unit web". Returns buf. */
#define SELECTION_TEXT_MAX 256
char *selection_text(char buf[static SELECTION_TEXT_MAX], const struct select_config *config);

/*
 * Looks at all processes, and calls add() for each new match. add() handles its errors itself.
 * `found` (may be NULL) counts them. 0 or -errno, logged.
 */
int selection_scan(struct selection *selection, int (*add)(void *ctx, pid_t pid), void *ctx,
		   size_t *found);

#endif
