/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last published text at /metrics: whoever scrapes, and however slowly, the publisher never
 * waits for it.
 */
#ifndef MEMLEAKBPF_SERVE_METRICS_SERVER_H
#define MEMLEAKBPF_SERVE_METRICS_SERVER_H

#include <stddef.h>

#include "user/export/survey_metrics.h"
#include "user/serve/http_server.h"

struct metrics_server;

/*
 * A site of `http`, which has not started yet and outlives it. Until the first text is
 * published, scrapes are answered with 503. NULL when out of memory.
 */
struct metrics_server *metrics_server_new(struct http_server *http);
void metrics_server_free(struct metrics_server *server); /* NULL is fine */

/*
 * Replaces the text of one syntax. It is malloc'ed and becomes the server's, also after an error:
 * -ENOMEM, and what was there before stays.
 */
int metrics_server_publish(struct metrics_server *server, enum metrics_syntax syntax, char *text,
			   size_t size);

#endif
