/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of an HTTP server, so that those who connect and say nothing keep nobody out:
 * where there are too many, of one address or of all, the one goes that has been silent longest. To
 * be used by the server's one thread.
 */
#ifndef MEMLEAKBPF_SURVEY_HTTP_CLIENTS_H
#define MEMLEAKBPF_SURVEY_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define HTTP_CLIENTS_MAX	 256
#define HTTP_CLIENTS_PER_ADDRESS 128 /* a proxy's, or all that come from this machine */

struct http_client;

struct http_clients {
	struct http_client *oldest, *youngest;
	size_t count; /* without those that are being closed */
};

/*
 * A connection has begun on the socket fd, which stays the caller's. Where that makes one too many
 * another one is shut down: the longest silent, or else the oldest; of the same address when that
 * has too many. The caller closes it when the end of its input is read, as any other. NULL when out
 * of memory.
 */
struct http_client *http_clients_add(struct http_clients *clients, int fd,
				     const struct sockaddr *address);
/* It has ended. NULL is fine. */
void http_clients_remove(struct http_clients *clients, struct http_client *client);
/* It has asked, and waits for an answer; or has it. NULL is fine. */
void http_client_asks(struct http_client *client, bool asks);

#endif
