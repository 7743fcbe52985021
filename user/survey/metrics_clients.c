// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/metrics_clients.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

struct metrics_client {
	struct metrics_client *older, *younger;
	int fd;
	bool asks, closing;
	sa_family_t family;
	unsigned char address[8]; /* IPv6: the network, of which a host may have all addresses */
};

static void metrics_client_note_address(struct metrics_client *client,
					const struct sockaddr *address)
{
	client->family = address->sa_family;
	if (address->sa_family == AF_INET)
		memcpy(client->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
	else if (address->sa_family == AF_INET6) /* /64 */
		memcpy(client->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 8);
}

static bool metrics_clients_are_neighbours(const struct metrics_client *a,
					   const struct metrics_client *b)
{
	return a->family == b->family && !memcmp(a->address, b->address, sizeof(a->address));
}

/* Has anybody too much, and who goes for it? NULL: nobody. */
static struct metrics_client *metrics_clients_choose(struct metrics_clients *clients,
						     const struct metrics_client *newest)
{
	struct metrics_client *silent[2] = {NULL, NULL}, *any[2] = {NULL, NULL}, *c;
	size_t neighbours = 0;

	for (c = clients->oldest; c; c = c->younger) {
		bool near = metrics_clients_are_neighbours(c, newest);

		if (c->closing)
			continue;
		neighbours += near;
		for (int i = 0; i < (near ? 2 : 1); i++) {
			any[i] = any[i] ?: c;
			if (!c->asks)
				silent[i] = silent[i] ?: c;
		}
	}
	if (neighbours > METRICS_CLIENTS_PER_ADDRESS)
		return silent[1] ?: any[1];
	return clients->count > METRICS_CLIENTS_MAX ? silent[0] ?: any[0] : NULL;
}

struct metrics_client *metrics_clients_add(struct metrics_clients *clients, int fd,
					   const struct sockaddr *address)
{
	struct metrics_client *client = calloc(1, sizeof(*client)), *gone;

	if (!client)
		return NULL;
	client->fd = fd;
	metrics_client_note_address(client, address);
	client->older = clients->youngest;
	if (clients->youngest)
		clients->youngest->younger = client;
	else
		clients->oldest = client;
	clients->youngest = client;
	clients->count++;
	gone = metrics_clients_choose(clients, client);
	if (gone) {
		gone->closing = true;
		clients->count--;
		shutdown(gone->fd, SHUT_RDWR);
	}
	return client;
}

void metrics_clients_remove(struct metrics_clients *clients, struct metrics_client *client)
{
	if (!client)
		return;
	*(client->older ? &client->older->younger : &clients->oldest) = client->younger;
	*(client->younger ? &client->younger->older : &clients->youngest) = client->older;
	clients->count -= !client->closing;
	free(client);
}

void metrics_client_asks(struct metrics_client *client, bool asks)
{
	if (client)
		client->asks = asks;
}
