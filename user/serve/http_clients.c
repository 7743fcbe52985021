// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/http_clients.h"

#include <stdlib.h>
#include <sys/socket.h>

struct http_client {
	struct http_client *older, *younger;
	int fd;
	bool asks, closing;
	struct share_owner owner;
};

/* Whose are the most, with the newest's? */
static struct share_owner http_clients_whose_most(const struct http_clients *clients,
						  const struct http_client *newest)
{
	struct share_owner owners[HTTP_CLIENTS_MAX];
	size_t count = 0;

	for (const struct http_client *c = clients->oldest; c; c = c->younger) {
		if (c != newest && !c->closing && count < HTTP_CLIENTS_MAX)
			owners[count++] = c->owner;
	}
	shares_sort(owners, count);
	return shares_most(owners, count, &newest->owner);
}

/* Of an owner's: the longest silent, or else the oldest. */
static struct http_client *http_clients_choose_of(const struct http_clients *clients,
						  const struct share_owner *owner)
{
	struct http_client *any = NULL;

	for (struct http_client *c = clients->oldest; c; c = c->younger) {
		if (c->closing || !share_same_owner(&c->owner, owner))
			continue;
		if (!c->asks)
			return c;
		any = any ?: c;
	}
	return any;
}

/* Has anybody too much, and who goes for it? NULL: nobody. */
static struct http_client *http_clients_choose(const struct http_clients *clients,
					       const struct http_client *newest)
{
	struct share_owner most;
	size_t own = 0;

	for (const struct http_client *c = clients->oldest; c; c = c->younger)
		own += !c->closing && share_same_owner(&c->owner, &newest->owner);
	if (own > HTTP_CLIENTS_PER_OWNER)
		return http_clients_choose_of(clients, &newest->owner);
	if (clients->count <= HTTP_CLIENTS_MAX)
		return NULL;
	most = http_clients_whose_most(clients, newest);
	return http_clients_choose_of(clients, &most);
}

struct http_client *http_clients_add(struct http_clients *clients, int fd,
				     const struct share_owner *owner)
{
	struct http_client *client = calloc(1, sizeof(*client)), *gone;

	if (!client)
		return NULL;
	client->fd = fd;
	client->owner = *owner;
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

const struct share_owner *http_client_owner(const struct http_client *client)
{
	return &client->owner;
}
