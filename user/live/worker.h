/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that owns the session of one process. It takes snapshots, ranks, names, judges and
 * writes files, however long that takes, and puts views into the mailbox.
 */
#ifndef MEMLEAKBPF_LIVE_WORKER_H
#define MEMLEAKBPF_LIVE_WORKER_H

#include "user/live/mailbox.h"
#include "user/session/session.h"

struct worker;

/*
 * Makes a worker with a viewer for a session's config. All must outlive it. NULL when out of
 * memory.
 */
struct worker *worker_new(const struct watch_config *config, struct mailbox *mailbox);
const struct session_viewer *worker_viewer(struct worker *worker);

/*
 * Takes the session that has the viewer, before it has a target. The worker frees the session, in
 * any case.
 */
void worker_prepare(struct worker *worker, struct session *session);

/* Starts the thread: from now on the session is the thread's alone. 0 or -errno, logged. */
int worker_start(struct worker *worker);

/*
 * Waits for the thread's end, which mailbox_stop() asks for, and frees all. 0, or the -errno that
 * ended the thread or the session, logged. NULL is fine.
 */
int worker_free(struct worker *worker);

#endif
