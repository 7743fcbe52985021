/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the screen's thread and the worker share: the last request, the last view. Neither waits for the other. */
#ifndef MEMLEAKBPF_LIVE_MAILBOX_H
#define MEMLEAKBPF_LIVE_MAILBOX_H

#include <stdbool.h>

#include "user/live/view.h"

struct mailbox;

struct mailbox *mailbox_new(void);	    /* NULL when out of memory */
void mailbox_free(struct mailbox *mailbox); /* once the worker has ended; NULL is fine */

/* ---- the screen's side -------------------------------------------------------------------- */

/* What is wanted from now on. */
void mailbox_ask(struct mailbox *mailbox, const struct live_request *request);

/* The worker is to end as soon as what it is at is done. */
void mailbox_stop(struct mailbox *mailbox);

/*
 * Before the whole tool is stopped (Ctrl-Z): the worker is to rest where it holds no process still. mailbox_fd() is
 * readable when it does; until mailbox_wake(), or mailbox_stop(), which wakes it too.
 */
void mailbox_ask_rest(struct mailbox *mailbox);
bool mailbox_rests(struct mailbox *mailbox);
void mailbox_wake(struct mailbox *mailbox);

/* Readable when there is a view, or something else to be seen; mailbox_take() reads it. */
int mailbox_fd(const struct mailbox *mailbox);

/* The latest view that has not been taken yet, which is the caller's from now on, or NULL. */
struct live_view *mailbox_take(struct mailbox *mailbox);

/* What the worker is at, if that takes long; NULL: nothing. A static string. */
const char *mailbox_busy(struct mailbox *mailbox);

/* The worker has ended by itself. */
bool mailbox_ended(struct mailbox *mailbox);

/* ---- the worker's side -------------------------------------------------------------------- */

/* Readable when there is a new request, or it is to stop; mailbox_asked() reads it. */
int mailbox_asked_fd(const struct mailbox *mailbox);
bool mailbox_asked(struct mailbox *mailbox);
void mailbox_request(struct mailbox *mailbox, struct live_request *request);
bool mailbox_stopped(struct mailbox *mailbox);

/* Between two things that it does: rests, if that is asked for. */
void mailbox_rest(struct mailbox *mailbox);

/* Takes the view over. */
void mailbox_publish(struct mailbox *mailbox, struct live_view *view);
void mailbox_set_busy(struct mailbox *mailbox, const char *what);
void mailbox_end(struct mailbox *mailbox);

#endif
