/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of an HTTP server. Clients that connect and say nothing, or that take all
 * connections, keep nobody out. Where one owner has too many, or all together have, one connection
 * is shut down. It is the longest silent one of the owner who has the most. For the server's one
 * thread.
 */
#ifndef MEMLEAKBPF_SERVE_HTTP_CLIENTS_H
#define MEMLEAKBPF_SERVE_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/serve/shares.h"

/*
 * Of a proxy, or of one user of this machine. They are more than can wait for answers
 * (PROFILE_QUEUE_MAX). So the next client can be told to wait, and other pages are still served.
 */
#define HTTP_CLIENTS_PER_OWNER 192
#define HTTP_CLIENTS_MAX       384

struct http_client;

struct http_clients {
	struct http_client *oldest, *youngest;
	size_t count; /* without those that are being closed */
};

/*
 * A connection has begun on the socket fd, which stays the caller's. Where that makes one too many,
 * another one is shut down: the longest silent, or else the oldest. It is the same owner's when he
 * has too many, else that of the owner with the most. The caller closes it when the end of its input
 * is read, as any other. NULL when out of memory.
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
