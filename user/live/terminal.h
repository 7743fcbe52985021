/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The terminal: ncurses, and nothing else of the tool includes it. Main thread only. */
#ifndef MEMLEAKBPF_LIVE_TERMINAL_H
#define MEMLEAKBPF_LIVE_TERMINAL_H

#include <stdbool.h>

#include "user/live/canvas.h"
#include "user/live/screen.h"

struct terminal;

/*
 * Is there one on which a screen can be drawn? 0, or -EINVAL (TERM names one that cannot) or -ENOTTY, logged in
 * one line. Sets the locale of characters, for which a static program may need privileges that are dropped later.
 */
int terminal_prepare(void);

/* The whole screen becomes ours, until terminal_close(). 0 and *out, or -errno, logged. */
int terminal_open(struct terminal **out);

/* It is again what it was. NULL is fine. */
void terminal_close(struct terminal *terminal);

/* It has more characters than ASCII. */
bool terminal_utf8(const struct terminal *terminal);

/* To be called at SIGWINCH, and to begin with: how large it is. */
void terminal_size(struct terminal *terminal, unsigned *rows, unsigned *cols);

void terminal_show(struct terminal *terminal, const struct canvas *canvas);

/* The next key that has been typed; false: there is no other. Never waits. */
bool terminal_event(struct terminal *terminal, struct live_event *event);

/* Ctrl-Z: gives the terminal back, stops us, and takes it again when we go on. */
void terminal_suspend(struct terminal *terminal);

/* All of it anew: somebody else has written on it. */
void terminal_redraw(struct terminal *terminal);

#endif
