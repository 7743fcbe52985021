// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses to listen at: only the loopback is meant by nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/listen.h"
#include "user/base/util.h"

static void good(void **state)
{
	static const struct {
		const char *text, *shown;
		bool loopback;
	} rows[] = {
		{":9435", "127.0.0.1:9435", true},
		{"localhost:9435", "127.0.0.1:9435", true},
		{"127.0.0.1:9435", "127.0.0.1:9435", true},
		{"127.8.9.10:1", "127.8.9.10:1", true},
		{"[::1]:65535", "[::1]:65535", true},
		{":0", "127.0.0.1:0", true},
		{"0.0.0.0:80", "0.0.0.0:80", false},
		{"192.0.2.1:80", "192.0.2.1:80", false},
		{"[::]:80", "[::]:80", false},
		{"[2001:db8::1]:80", "[2001:db8::1]:80", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_storage address;
		char text[LISTEN_TEXT_MAX];

		assert_int_equal(listen_parse(rows[i].text, &address), 0);
		assert_string_equal(listen_format(text, &address, listen_port(&address)),
				    rows[i].shown);
		assert_int_equal(listen_is_loopback(&address), rows[i].loopback);
	}
}

static void bad(void **state)
{
	static const char *const texts[] = {
		"",
		"9435",
		":",
		":65536",
		":-1",
		":9435x",
		"host:9435",
		"1.2.3",
		"1.2.3:80",
		"1.2.3.4.5:80",
		"[::1]",
		"[::1:80",
		"::1:80",
		"[]:80",
		"[:80",
		"]:80",
		"[1.2.3.4]:80",
		"[::1] :80",
		" :80",
		"[::1%lo]:80",
		"*:80",
		"1111111111111111111111111111111111111111111111111111111111111111:80",
	};
	struct sockaddr_storage address, before;

	(void)state;
	memset(&before, 0x5a, sizeof(before));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		address = before;
		if (listen_parse(texts[i], &address) != -EINVAL)
			fail_msg("'%s' was taken", texts[i]);
		assert_memory_equal(&address, &before, sizeof(before));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
