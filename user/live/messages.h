/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard error while the screen is ours: all that we, our children or a library write to it comes
 * out here as lines. If it was a file, the file gets them as well; if it was the terminal, that
 * gets the warnings at the end.
 */
#ifndef MEMLEAKBPF_LIVE_MESSAGES_H
#define MEMLEAKBPF_LIVE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

struct messages;

/* 0 and *out (messages_close), or -errno, logged. */
int messages_open(struct messages **out);

/* Restores standard error, and writes to it what nobody may miss. NULL is fine. */
void messages_close(struct messages *messages);

/* Poll it for reading. */
int messages_fd(const struct messages *messages);

/* Takes the next line, without the tool's name; false: there is none for now. */
bool messages_next(struct messages *messages, char *line, size_t size);

#endif
