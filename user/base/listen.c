// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "user/base/parse.h"

static int parse_host(const char *host, bool brackets, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	if (brackets) {
		*v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
		return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
	}
	*v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
	if (!*host || !strcmp(host, "localhost")) {
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return 0;
	}
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -EINVAL;
}

int listen_parse(const char *text, struct sockaddr_storage *address)
{
	const char *colon = strrchr(text, ':'), *end = colon;
	struct sockaddr_storage parsed = {0};
	char host[INET6_ADDRSTRLEN];
	bool brackets = *text == '[';
	uint64_t port;

	if (!colon || parse_count(colon + 1, 0, UINT16_MAX, &port))
		return -EINVAL;
	if (brackets) {
		text++;
		if (end == text || *--end != ']')
			return -EINVAL;
	}
	if ((size_t)(end - text) >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	if (parse_host(host, brackets, (uint16_t)port, &parsed))
		return -EINVAL;
	*address = parsed;
	return 0;
}

bool listen_is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

/* The length of a valid Host header without its port. */
static size_t listen_host_length(const char *host)
{
	return host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
}

bool listen_host_is_valid(const char *host)
{
	/* RFC 3986, 3.2.2: unreserved, sub-delims and % of a name; what a literal has. */
	static const char name[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "-._~!$&'()*+,;=%";
	static const char literal[] = "0123456789abcdefABCDEF:.";
	size_t len = host[0] == '[' ? 1 + strspn(host + 1, literal) : strspn(host, name);

	if (!len || (host[0] == '[' && (len == 1 || host[len++] != ']')))
		return false;
	if (!host[len])
		return true;
	return host[len] == ':' && !host[len + 1 + strspn(host + len + 1, "0123456789")];
}

bool listen_host_is(const char *host, const char *name)
{
	size_t len = listen_host_length(host);
	struct sockaddr_storage address;
	char text[LISTEN_TEXT_MAX];

	if (len == strlen(name) && !strncasecmp(host, name, len))
		return true;
	/* Only an address that is written as a number counts: no name is looked up. */
	if (!len || len >= sizeof(text) - 2 || !strncmp(host, "localhost", len))
		return false;
	snprintf(text, sizeof(text), "%.*s:1", (int)len, host);
	return !listen_parse(text, &address);
}

unsigned listen_port(const struct sockaddr_storage *address)
{
	/* The port is at the same place for both families. */
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

const char *listen_format(char buf[static LISTEN_TEXT_MAX], const struct sockaddr_storage *address,
			  unsigned port)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	char host[INET6_ADDRSTRLEN] = "";

	if (address->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(buf, LISTEN_TEXT_MAX, "[%s]:%u", host, port);
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(buf, LISTEN_TEXT_MAX, "%s:%u", host, port);
	}
	return buf;
}
