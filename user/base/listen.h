/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The address that a server listens at, as people write it. */
#ifndef MEMLEAKBPF_BASE_LISTEN_H
#define MEMLEAKBPF_BASE_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

#define LISTEN_TEXT_MAX 64

/*
 * Parses "127.0.0.1:9435", "[::1]:9435", "localhost:9435". ":9435" is the IPv4 loopback's: we serve
 * nobody who was not named. Port 0: any free port. Names are not looked up. 0 and *address, or
 * -EINVAL with it untouched.
 */
int listen_parse(const char *text, struct sockaddr_storage *address);

/* Can it only be reached from this machine? */
bool listen_is_loopback(const struct sockaddr_storage *address);

/* Is it a Host header at all (RFC 9110, 7.2): a name or an address, and a port or none? */
bool listen_host_is_valid(const char *host);

/*
 * Does an HTTP Host header ("name:port", "[::1]:9435") have this name, in whatever case, or any
 * numeric address?
 */
bool listen_host_is(const char *host, const char *name);

unsigned listen_port(const struct sockaddr_storage *address);

/* "127.0.0.1:9435" with another port than the address's own; returns buf. */
const char *listen_format(char buf[static LISTEN_TEXT_MAX], const struct sockaddr_storage *address,
			  unsigned port);

#endif
