/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of an HTTP server, so that those who connect and say nothing, or make others
 * until nobody else has any, keep nobody out: where there are too many, of one owner or of all, the
 * one goes that has been silent longest of whose are the most. To be used by the server's one thread.
 */
#ifndef MEMLEAKBPF_SURVEY_HTTP_CLIENTS_H
#define MEMLEAKBPF_SURVEY_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/survey/shares.h"

/*
 * A proxy's, or all of a user of this machine: more than can wait for their answers (PROFILE_QUEUE_MAX),
 * so that the next one can be told that he has to wait, and another page is still to be had.
 */
#define HTTP_CLIENTS_PER_OWNER 192
#define HTTP_CLIENTS_MAX       384

struct http_client;

struct http_clients {
	struct http_client *oldest, *youngest;
	size_t count; /* without those that are being closed */
};

/*
 * A connection has begun on the socket fd, which stays the caller's. Where that makes one too many
 * another one is shut down: the longest silent, or else the oldest; of the same owner when he
 * has too many, else of the one who has the most. The caller closes it when the end of its input is read, as any other.
 * NULL when out of memory.
 */
struct http_client *http_clients_add(struct http_clients *clients, int fd,
				     const struct share_owner *owner);
/* It has ended. NULL is fine. */
void http_clients_remove(struct http_clients *clients, struct http_client *client);
/* It has asked, and waits for an answer; or has it. NULL is fine. */
void http_client_asks(struct http_client *client, bool asks);
/* Whose it is. */
const struct share_owner *http_client_owner(const struct http_client *client);

#endif
