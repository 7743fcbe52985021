/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Serves the last published text at /metrics, by libmicrohttpd in a thread of its own: whoever
 * scrapes, and however slowly, the publisher never waits for it.
 */
#ifndef MEMLEAKBPF_SURVEY_METRICS_SERVER_H
#define MEMLEAKBPF_SURVEY_METRICS_SERVER_H

#include <stddef.h>
#include <sys/socket.h>

#include "user/export/survey_metrics.h"

struct metrics_server;

/*
 * Listens, and answers who asks for a numeric address, localhost, this machine's name, or `name`,
 * which outlives the server (NULL: none). 0 and *out; -errno, logged. Until the first text is
 * published, scrapes are answered with 503.
 */
int metrics_server_new(const struct sockaddr_storage *address, const char *name,
		       struct metrics_server **out);
void metrics_server_free(struct metrics_server *server); /* NULL is fine */

/*
 * Replaces the text of one syntax. It is malloc'ed and becomes the server's, also after an error:
 * -ENOMEM, and what was there before stays.
 */
int metrics_server_publish(struct metrics_server *server, enum metrics_syntax syntax, char *text,
			   size_t size);

#endif
