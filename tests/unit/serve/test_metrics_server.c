// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The metrics server: whole answers while the text changes, and clients that hang disturb nobody.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/serve/free_port.h"
#include "user/base/listen.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/serve/metrics_server.h"

#define TEXT_SIZE (256 * 1024) /* more than a socket's buffer: it is sent in parts */

static int connect_to(const struct sockaddr_storage *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval deadline = {.tv_sec = 30};

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_in)),
			 0);
	return fd;
}

/* The whole answer, until the server closes; to be freed. */
static char *ask(const struct sockaddr_storage *address, const char *request)
{
	int fd = connect_to(address);
	size_t used = 0, room = 2 * TEXT_SIZE;
	char *answer = calloc(1, room);
	ssize_t n;

	assert_non_null(answer);
	assert_int_equal(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	while ((n = read(fd, answer + used, room - used - 1)) > 0)
		used += (size_t)n;
	assert_int_equal(n, 0);
	close(fd);
	return answer;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

#define ASK(host, header) \
	"GET /metrics HTTP/1.1\r\nHost: " host "\r\n" header "\r\nConnection: close\r\n\r\n"

struct served {
	struct http_server *http;
	struct metrics_server *metrics;
};

/* 0 or what http_server_listen() says; then there is none. */
static int serve(const struct sockaddr_storage *address, const char *name, struct served *out)
{
	int err;

	out->http = http_server_new(name);
	assert_non_null(out->http);
	out->metrics = metrics_server_new(out->http);
	assert_non_null(out->metrics);
	err = http_server_listen(out->http, address);
	if (!err)
		err = http_server_start(out->http);
	if (!err)
		return 0;
	http_server_free(out->http);
	metrics_server_free(out->metrics);
	return err;
}

static void serve_no_more(struct served *served)
{
	http_server_free(served->http);
	metrics_server_free(served->metrics);
}

static void publish(const struct served *server, enum metrics_syntax syntax, char letter)
{
	char *text = malloc(TEXT_SIZE);

	assert_non_null(text);
	memset(text, letter, TEXT_SIZE);
	assert_int_equal(metrics_server_publish(server->metrics, syntax, text, TEXT_SIZE), 0);
}

static void check_answer(const struct sockaddr_storage *address, const char *request,
			 const char *status, const char *contains)
{
	char *answer = ask(address, request);

	if (strncmp(answer, status, strlen(status)) != 0 || !strstr(answer, contains))
		fail_msg("to '%.40s' the answer was '%.400s'", request, answer);
	free(answer);
}

static void answers(void **state)
{
	struct sockaddr_storage address = free_port();
	struct served server, second;

	(void)state;
	assert_int_equal(serve(&address, "web1.example.org", &server), 0);
	check_answer(&address, GET("/metrics"), "HTTP/1.1 503", "no look");
	publish(&server, METRICS_OPENMETRICS, 'o');
	publish(&server, METRICS_PROMETHEUS, 'p');
	check_answer(&address, GET("/metrics"), "HTTP/1.1 200",
		     "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	check_answer(&address, GET("/metrics"), "HTTP/1.1 200", "\r\n\r\npppp");
	check_answer(
		&address, ASK("localhost", "Accept: application/openmetrics-text"), "HTTP/1.1 200",
		"Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n");
	check_answer(&address, ASK("localhost", "Accept: application/openmetrics-text"),
		     "HTTP/1.1 200", "\r\n\r\noooo");
	check_answer(
		&address,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nConnection: "
		"close\r\n\r\n",
		"HTTP/1.1 200", "\r\n\r\npppp");
	check_answer(&address, GET("/"), "HTTP/1.1 200", "/metrics");
	check_answer(&address, GET("/metrics/"), "HTTP/1.1 404", "nothing here");
	check_answer(&address, GET("/../etc/passwd"), "HTTP/1.1 404", "nothing here");
	check_answer(
		&address,
		"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nConnection: "
		"close\r\n\r\nabc",
		"HTTP/1.1 405", "Allow: GET, HEAD");
	/* The port is taken, and that is said. */
	log_set_level(LOG_ERROR);
	assert_int_equal(serve(&address, "web1.example.org", &second), -EADDRINUSE);
	serve_no_more(&server);
}

struct scraper {
	struct sockaddr_storage address;
	pthread_t thread;
	size_t good;
};

/* Each answer is one text, all of it. */
static void *scrape(void *arg)
{
	struct scraper *s = arg;

	for (int i = 0; i < 100; i++) {
		char *answer = ask(&s->address, GET("/metrics"));
		char *body = strstr(answer, "\r\n\r\n");

		if (body && strlen(body + 4) == TEXT_SIZE &&
		    strspn(body + 4, (char[]){body[4], '\0'}) == TEXT_SIZE)
			s->good++;
		free(answer);
	}
	return NULL;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/*
 * Some that never finish their request, and four in earnest, while the text is replaced 2,000
 * times.
 */
static void concurrent(void **state)
{
	struct sockaddr_storage address = free_port();
	struct served server;
	struct scraper scrapers[4];
	int hung[20];
	double slowest = 0;

	(void)state;
	log_set_level(LOG_ERROR);
	assert_int_equal(serve(&address, "web1.example.org", &server), 0);
	publish(&server, METRICS_PROMETHEUS, 'a');
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++) {
		hung[i] = connect_to(&address);
		assert_int_equal(write(hung[i], "GET /metrics HT", 15), 15);
	}
	for (size_t i = 0; i < ARRAY_SIZE(scrapers); i++) {
		scrapers[i] = (struct scraper){.address = address};
		assert_int_equal(pthread_create(&scrapers[i].thread, NULL, scrape, &scrapers[i]),
				 0);
	}
	for (int i = 0; i < 2000; i++) {
		double start = seconds();

		publish(&server, METRICS_PROMETHEUS, (char)('a' + i % 26));
		slowest = seconds() - start > slowest ? seconds() - start : slowest;
	}
	for (size_t i = 0; i < ARRAY_SIZE(scrapers); i++) {
		pthread_join(scrapers[i].thread, NULL);
		assert_int_equal(scrapers[i].good, 100);
	}
	print_message("the slowest of 2,000 publications took %.2f ms\n", 1e3 * slowest);
	/* Not as long as a client is waited for, 5 s; it takes some 10 ms. */
	assert_true(slowest < 4);
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++)
		close(hung[i]);
	serve_no_more(&server);
}

static void names(void **state)
{
	static const char *const good[] = {
		ASK("127.0.0.1:9435", "X: y"),
		ASK("192.0.2.1", "X: y"),
		ASK("[::1]:9435", "X: y"),
		ASK("[2001:db8::1]", "X: y"),
		ASK("LocalHost:1", "X: y"),
		ASK("localhost:", "X: y"),
		ASK("web1.example.org:9435", "X: y"),
		"GET /metrics HTTP/1.0\r\n\r\n",
	};
	static const char *const bad[] = {
		ASK("evil.example", "X: y"),	       ASK("evil.example:9435", "X: y"),
		ASK("127.0.0.1.evil.example", "X: y"), ASK("localhost.evil.example", "X: y"),
		ASK("web1.example.org.", "X: y"),      ASK("local", "X: y"),
	};
	/* RFC 9112, 3.2: no host, or not one */
	static const char *const none[] = {
		ASK("[evil]", "X: y"),
		ASK("[]", "X: y"),
		ASK("[::1]evil", "X: y"),
		ASK("[::1", "X: y"),
		ASK("", "X: y"),
		ASK(":9435", "X: y"),
		ASK("localhost:80:evil", "X: y"),
		ASK("localhost:evil", "X: y"),
		ASK("localhost/evil", "X: y"),
		ASK("evil@localhost", "X: y"),
		ASK("localhost", "Host: localhost"),
		ASK("localhost", "Host: evil.example"),
		ASK("evil.example", "host: localhost"),
		"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n",
		"GET /metrics HTTP/1.0\r\nHost: localhost:80:evil\r\n\r\n",
	};
	struct sockaddr_storage address = free_port();
	struct served server;

	(void)state;
	assert_int_equal(serve(&address, "web1.example.org", &server), 0);
	publish(&server, METRICS_PROMETHEUS, 'a');
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		check_answer(&address, good[i], "HTTP/1.", " 200 OK");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_answer(&address, bad[i], "HTTP/1.1 421", "--metrics-host");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		check_answer(&address, none[i], "HTTP/1.", " 400 ");
	serve_no_more(&server);
}

/*
 * Silent ones, from one address: each is there until another comes; who asks meanwhile is answered
 * at once.
 */
static void silent(void **state)
{
	struct sockaddr_storage address = free_port();
	struct served server;
	int crowd[900];

	(void)state;
	assert_int_equal(serve(&address, NULL, &server), 0);
	publish(&server, METRICS_PROMETHEUS, 'a');
	for (size_t i = 0; i < ARRAY_SIZE(crowd); i++) {
		double start;

		crowd[i] = connect_to(&address);
		/* Of some the kernel itself waits for a word. */
		assert_int_equal(write(crowd[i], "G", i % 2), i % 2);
		if (i % 100 < 98)
			continue;
		start = seconds();
		check_answer(&address, GET("/metrics"), "HTTP/1.1 200", "\r\n\r\naaaa");
		/* Nobody is waited for: a silent one goes by itself after 5 s. */
		assert_true(seconds() - start < 4);
	}
	for (size_t i = 0; i < ARRAY_SIZE(crowd); i++)
		close(crowd[i]);
	serve_no_more(&server);
}

/*
 * More clients that hang than are let in: they are thrown out in time, and then the next one is
 * served.
 */
static void crowded(void **state)
{
	struct sockaddr_storage address = free_port();
	struct served server;
	int hung[40];

	(void)state;
	assert_int_equal(serve(&address, "web1.example.org", &server), 0);
	publish(&server, METRICS_PROMETHEUS, 'a');
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++)
		hung[i] = connect_to(&address);
	check_answer(&address, GET("/metrics"), "HTTP/1.1 200", "\r\n\r\naaaa");
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++)
		close(hung[i]);
	serve_no_more(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers), cmocka_unit_test(concurrent), cmocka_unit_test(crowded),
		cmocka_unit_test(names),   cmocka_unit_test(silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
