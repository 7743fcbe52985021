// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/http_clients.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct http_client {
	struct http_client *older, *younger;
	int fd;
	bool asks, closing;
	sa_family_t family;
	unsigned char address[8]; /* IPv6: the network, of which a host may have all addresses */
};

static void http_client_note_address(struct http_client *client, const struct sockaddr *address)
{
	client->family = address->sa_family;
	if (address->sa_family == AF_INET)
		memcpy(client->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
	else if (address->sa_family == AF_INET6) /* /64 */
		memcpy(client->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
}

static bool http_clients_are_neighbours(const struct http_client *a, const struct http_client *b)
{
	return a->family == b->family && !memcmp(a->address, b->address, sizeof(a->address));
}

/* Has anybody too much, and who goes for it? NULL: nobody. */
static struct http_client *http_clients_choose(struct http_clients *clients,
					       const struct http_client *newest)
{
	struct http_client *silent[2] = {NULL, NULL}, *any[2] = {NULL, NULL}, *c;
	size_t neighbours = 0;

	for (c = clients->oldest; c; c = c->younger) {
		bool near = http_clients_are_neighbours(c, newest);

		if (c->closing)
			continue;
		neighbours += near;
		for (int i = 0; i < (near ? 2 : 1); i++) {
			any[i] = any[i] ?: c;
			if (!c->asks)
				silent[i] = silent[i] ?: c;
		}
	}
	if (neighbours > HTTP_CLIENTS_PER_ADDRESS)
		return silent[1] ?: any[1];
	return clients->count > HTTP_CLIENTS_MAX ? silent[0] ?: any[0] : NULL;
}

struct http_client *http_clients_add(struct http_clients *clients, int fd,
				     const struct sockaddr *address)
{
	struct http_client *client = calloc(1, sizeof(*client)), *gone;

	if (!client)
		return NULL;
	client->fd = fd;
	http_client_note_address(client, address);
	client->older = clients->youngest;
	if (clients->youngest)
		clients->youngest->younger = client;
	else
		clients->oldest = client;
	clients->youngest = client;
	clients->count++;
	gone = http_clients_choose(clients, client);
	if (gone) {
		gone->closing = true;
		clients->count--;
		shutdown(gone->fd, SHUT_RDWR);
	}
	return client;
}

void http_clients_remove(struct http_clients *clients, struct http_client *client)
{
	if (!client)
		return;
	*(client->older ? &client->older->younger : &clients->oldest) = client->younger;
	*(client->younger ? &client->younger->older : &clients->youngest) = client->older;
	clients->count -= !client->closing;
	free(client);
}

void http_client_asks(struct http_client *client, bool asks)
{
	if (client)
		client->asks = asks;
}
