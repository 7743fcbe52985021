/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has connected. From this machine it is the user whose socket it is, by the kernel's word
 * (sock_diag(7)), for anybody may use 127.0.0.1, 127.0.0.2 and so on. From elsewhere it is the
 * address.
 */
#ifndef MEMLEAKBPF_SERVE_HTTP_WHO_H
#define MEMLEAKBPF_SERVE_HTTP_WHO_H

#include <sys/socket.h>

#include "user/serve/shares.h"

/* A descriptor to ask by, before sockets of its kind are given up; or -errno. */
int http_who_open(void);

/*
 * `fd` is our end of the connection, `address` the other's. Where the kernel does not say who it is, or nobody holds
 * the socket any more, all of the loopback are one. asking -1: it is not asked.
 */
struct share_owner http_who(int asking, int fd, const struct sockaddr *address);

#endif
