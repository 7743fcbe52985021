/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard error while the screen is ours: what is written to it, by us, our children or a library, comes out here as
 * lines. Where it was a file, it gets them as well; where it was the terminal, it gets the warnings at the end.
 */
#ifndef MEMLEAKBPF_LIVE_MESSAGES_H
#define MEMLEAKBPF_LIVE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

struct messages;

/* 0 and *out (messages_close), or -errno, logged. */
int messages_open(struct messages **out);

/* Standard error is again what it was, and what nobody may miss is written to it. NULL is fine. */
void messages_close(struct messages *messages);

/* To be polled for reading. */
int messages_fd(const struct messages *messages);

/* The next line, without the tool's name, or false: there is no other for now. */
bool messages_next(struct messages *messages, char *line, size_t size);

#endif
