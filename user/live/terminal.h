/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The terminal, by ncurses; only this file includes that. Main thread only. */
#ifndef MEMLEAKBPF_LIVE_TERMINAL_H
#define MEMLEAKBPF_LIVE_TERMINAL_H

#include <stdbool.h>

#include "user/live/canvas.h"
#include "user/live/screen.h"

struct terminal;

/*
 * Is there a terminal for a screen? 0; or -EINVAL (TERM names one that has no screen) or -ENOTTY,
 * logged in one line. Sets the locale of characters; a static program may need privileges for that
 * which are dropped later.
 */
int terminal_prepare(void);

/* Takes the whole screen until terminal_close(). 0 and *out, or -errno, logged. */
int terminal_open(struct terminal **out);

/* Restores the terminal. NULL is fine. */
void terminal_close(struct terminal *terminal);

/* Has it more characters than ASCII? */
bool terminal_utf8(const struct terminal *terminal);

/* Its size. Call it at the start, and at SIGWINCH. */
void terminal_size(struct terminal *terminal, unsigned *rows, unsigned *cols);

void terminal_show(struct terminal *terminal, const struct canvas *canvas);

/* Takes the next key that was typed; false: there is none. Never waits. */
bool terminal_event(struct terminal *terminal, struct live_event *event);

/* Ctrl-Z: gives the terminal back, stops us, and takes it again when we go on. */
void terminal_suspend(struct terminal *terminal);

/* Draws everything anew: somebody else has written on the terminal. */
void terminal_redraw(struct terminal *terminal);

#endif
