/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the tests of servers have theirs listen. After cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_UNIT_SURVEY_FREE_PORT_H
#define MEMLEAKBPF_TESTS_UNIT_SURVEY_FREE_PORT_H

#include <errno.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/base/listen.h"

/*
 * A port that was free a moment ago, and is none that the kernel gives meanwhile to the next who connects
 * (net.ipv4.ip_local_port_range as it is preset): other tests do so a thousand times.
 */
static struct sockaddr_storage free_port(void)
{
	struct sockaddr_storage address;
	struct sockaddr_in *in = (struct sockaddr_in *)&address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint16_t random;
	int err;

	assert_int_equal(listen_parse(":0", &address), 0);
	do {
		assert_int_equal(getrandom(&random, sizeof(random), 0), sizeof(random));
		in->sin_port = htons((uint16_t)(20000 + random % 12000));
		err = bind(fd, (struct sockaddr *)in, sizeof(*in)) ? errno : 0;
	} while (err == EADDRINUSE);
	assert_int_equal(err, 0);
	close(fd);
	return address;
}

#endif
