/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the screen's thread and the worker: the last request, the last view. Neither waits for
 * the other.
 */
#ifndef MEMLEAKBPF_LIVE_MAILBOX_H
#define MEMLEAKBPF_LIVE_MAILBOX_H

#include <stdbool.h>

#include "user/live/view.h"

struct mailbox;

struct mailbox *mailbox_new(void);	    /* NULL when out of memory */
void mailbox_free(struct mailbox *mailbox); /* once the worker has ended; NULL is fine */

/* ---- the screen's side -------------------------------------------------------------------- */

/* Sets the request from now on. */
void mailbox_ask(struct mailbox *mailbox, const struct live_request *request);

/* The worker is to end as soon as its present work is done. */
void mailbox_stop(struct mailbox *mailbox);

/*
 * Before the whole tool is stopped (Ctrl-Z): the worker is to rest where it holds no process still.
 * mailbox_fd() is readable when it rests. It rests until mailbox_wake(), or mailbox_stop(), which
 * wakes it too.
 */
void mailbox_ask_rest(struct mailbox *mailbox);
bool mailbox_rests(struct mailbox *mailbox);
void mailbox_wake(struct mailbox *mailbox);

/* Readable when there is a view or other news; mailbox_take() reads it. */
int mailbox_fd(const struct mailbox *mailbox);

/* The latest view, unless it was taken already; it is the caller's from now on. NULL: none. */
struct live_view *mailbox_take(struct mailbox *mailbox);

/* The worker's present work, if that takes long; NULL: none. A static string. */
const char *mailbox_busy(struct mailbox *mailbox);

/* Has the worker ended by itself? */
bool mailbox_ended(struct mailbox *mailbox);

/* ---- the worker's side -------------------------------------------------------------------- */

/* Readable when there is a new request, or the worker is to stop; mailbox_asked() reads it. */
int mailbox_asked_fd(const struct mailbox *mailbox);
bool mailbox_asked(struct mailbox *mailbox);
void mailbox_request(struct mailbox *mailbox, struct live_request *request);
bool mailbox_stopped(struct mailbox *mailbox);

/* Call it between two pieces of work: rests, if the screen asks for that. */
void mailbox_rest(struct mailbox *mailbox);

/* Takes the view over. */
void mailbox_publish(struct mailbox *mailbox, struct live_view *view);
void mailbox_set_busy(struct mailbox *mailbox, const char *what);
void mailbox_end(struct mailbox *mailbox);

#endif
