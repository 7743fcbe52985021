// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/http_who.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdalign.h>
#include <string.h>
#include <unistd.h>

#include "user/base/log.h"

/* An end of a connection: of IPv4 where it is that, however it is written. */
struct who_end {
	sa_family_t family;
	in_port_t port; /* both in network order */
	uint32_t address[4];
	uint32_t interface; /* of a link-local address */
};

int http_who_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static struct who_end who_end_of(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	struct who_end end = {.family = address->sa_family};

	if (end.family == AF_INET) {
		end.port = v4->sin_port;
		end.address[0] = v4->sin_addr.s_addr;
	} else if (end.family == AF_INET6) {
		end.port = v6->sin6_port;
		memcpy(end.address, &v6->sin6_addr, sizeof(end.address));
		end.interface = v6->sin6_scope_id;
		if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
			end.family = AF_INET;
			end.address[0] = end.address[3];
			memset(&end.address[1], 0, 3 * sizeof(end.address[0]));
		}
	}
	return end;
}

static struct share_owner who_by_address(const struct who_end *peer)
{
	const bool v4 = peer->family == AF_INET;
	struct share_owner owner = {.kind = SHARE_LOOPBACK};

	if (v4 ? ntohl(peer->address[0]) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET
	       : !memcmp(peer->address, &in6addr_loopback, sizeof(peer->address)))
		return owner;
	owner.kind = v4 ? SHARE_IPV4 : SHARE_IPV6;
	memcpy(&owner.group, peer->address, v4 ? 4 : sizeof(owner.group));
	return owner;
}

/* Asks for the peer's socket, should it be one of this machine's: of which our end is the far one. */
static int who_ask(int asking, const struct who_end *peer, const struct who_end *ours)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (uint8_t)peer->family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = UINT32_MAX,
			 .id = {.idiag_sport = peer->port,
				.idiag_dport = ours->port,
				.idiag_if = peer->interface,
				.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

	memcpy(request.body.id.idiag_src, peer->address, sizeof(peer->address));
	memcpy(request.body.id.idiag_dst, ours->address, sizeof(ours->address));
	return sendto(asking, &request, sizeof(request), 0, (const struct sockaddr *)&kernel,
		      sizeof(kernel)) < 0
		       ? -errno
		       : 0;
}

/*
 * The answer is there when who_ask() returns. It can be of a socket that listens at the peer's port,
 * where there is no such connection here. It can be of one that nobody holds any more. In both cases
 * the user is not known.
 */
static int who_take_answer(int asking, const struct who_end *ours, uid_t *uid)
{
	alignas(struct nlmsghdr) char buf[4096];
	const struct nlmsghdr *header = (const struct nlmsghdr *)buf;
	const struct inet_diag_msg *found = NLMSG_DATA(header);
	ssize_t n = recv(asking, buf, sizeof(buf), MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if ((size_t)n < NLMSG_LENGTH(sizeof(*found)) || header->nlmsg_len > (size_t)n ||
	    header->nlmsg_type != SOCK_DIAG_BY_FAMILY || found->idiag_state == TCP_LISTEN ||
	    found->id.idiag_dport != ours->port || !found->idiag_inode)
		return -ENOENT;
	*uid = found->idiag_uid;
	return 0;
}

struct share_owner http_who(int asking, int fd, const struct sockaddr *address)
{
	const struct who_end peer = who_end_of(address);
	struct sockaddr_storage own = {0};
	socklen_t len = sizeof(own);
	struct who_end ours;
	uid_t uid = (uid_t)-1;
	int err;

	if (asking < 0 || getsockname(fd, (struct sockaddr *)&own, &len))
		return who_by_address(&peer);
	ours = who_end_of((const struct sockaddr *)&own);
	err = who_ask(asking, &peer, &ours);
	err = err ?: who_take_answer(asking, &ours, &uid);
	if (!err)
		return share_of_user(uid);
	if (err != -ENOENT)
		log_debug("http: whose socket it is: %s", strerror(-err));
	return who_by_address(&peer);
}
