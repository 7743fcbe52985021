/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One process watched: makes views from a session's reports. All of it in the worker's thread. */
#ifndef MEMLEAKBPF_LIVE_WATCHER_H
#define MEMLEAKBPF_LIVE_WATCHER_H

#include <stdbool.h>

#include "user/live/view.h"
#include "user/session/session.h"

struct watcher;

/* `busy` is called with what is begun when that may take long, and with NULL when it is done. NULL when out of memory. */
struct watcher *watcher_new(const struct show_config *show,
			    void (*busy)(void *ctx, const char *what), void *ctx);
void watcher_free(struct watcher *watcher); /* NULL is fine */

const struct session_viewer *watcher_viewer(struct watcher *watcher);
/* watcher_prepare(): before the session has a target; watcher_begin(): once it has. */
void watcher_prepare(struct watcher *watcher, struct session *session);
void watcher_begin(struct watcher *watcher);

/* Takes a snapshot, unless it is paused. 0 or -errno, logged. */
int watcher_look(struct watcher *watcher);

/* Has the process come or gone since the last view? */
bool watcher_changed(const struct watcher *watcher);

/* Does the request's new orders: marks, verdicts, files. 0 or -ENOMEM. */
int watcher_obey(struct watcher *watcher, const struct live_request *request);

/*
 * Makes a view. Looks names up for a tenth of a second at most: *more says that some are missing,
 * and that it is to be called again. 0 and *out (live_view_free()), or -ENOMEM.
 */
int watcher_view(struct watcher *watcher, const struct live_request *request,
		 struct live_view **out, bool *more);

#endif
