/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the tests of servers have theirs listen. After cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_UNIT_SURVEY_FREE_PORT_H
#define MEMLEAKBPF_TESTS_UNIT_SURVEY_FREE_PORT_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/base/listen.h"

/* A port that was free a moment ago. */
static struct sockaddr_storage free_port(void)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(listen_parse(":0", &address), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(struct sockaddr_in)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return address;
}

#endif
