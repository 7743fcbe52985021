// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/metrics_server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct metrics_server {
	pthread_mutex_t lock; /* of published: held to exchange a pointer or to take a reference */
	struct MHD_Response *published[METRICS_SYNTAXES]; /* NULL: nothing yet */
	struct MHD_Response *not_yet;
};

static const char not_yet_text[] = "no look has been taken yet\n";

static bool metrics_has(void *ctx, const char *path)
{
	(void)ctx;
	return !strcmp(path, "/metrics");
}

/* The library counts references: a response that is being sent outlives its replacement. */
static enum MHD_Result metrics_answer(void *ctx, struct MHD_Connection *connection,
				      const char *path, void **state)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct metrics_server *s = ctx;
	struct MHD_Response *response;
	enum MHD_Result result;

	(void)path;
	(void)state;
	pthread_mutex_lock(&s->lock);
	response = s->published[metrics_choose_syntax(accept)];
	if (response)
		result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	else
		result = MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, s->not_yet);
	pthread_mutex_unlock(&s->lock);
	return result;
}

struct metrics_server *metrics_server_new(struct http_server *http)
{
	static const char *const plain[] = {MHD_HTTP_HEADER_CONTENT_TYPE,
					    "text/plain; charset=utf-8", NULL};
	struct metrics_server *s = calloc(1, sizeof(*s));
	struct http_site site = {
		.ctx = s,
		.name = "metrics",
		.path = "/metrics",
		.exposed = "can read the names of this machine's processes and services",
		.has = metrics_has,
		.answer = metrics_answer,
	};

	if (!s)
		return NULL;
	s->not_yet = http_text_response(not_yet_text, plain);
	if (!s->not_yet) {
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	http_server_add(http, &site);
	return s;
}

void metrics_server_free(struct metrics_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < METRICS_SYNTAXES; i++) {
		if (s->published[i])
			MHD_destroy_response(s->published[i]);
	}
	MHD_destroy_response(s->not_yet);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int metrics_server_publish(struct metrics_server *s, enum metrics_syntax syntax, char *text,
			   size_t size)
{
	const char *const headers[] = {MHD_HTTP_HEADER_CONTENT_TYPE, metrics_content_type(syntax),
				       NULL};
	struct MHD_Response *old, *response = http_data_response(text, size, headers);

	if (!response)
		return -ENOMEM;
	pthread_mutex_lock(&s->lock);
	old = s->published[syntax];
	s->published[syntax] = response;
	pthread_mutex_unlock(&s->lock);
	if (old)
		MHD_destroy_response(old);
	return 0;
}
