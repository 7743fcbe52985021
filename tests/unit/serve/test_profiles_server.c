// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Profiles over HTTP: what is asked comes to the survey's thread and its answer back, in time or not; and nobody who is
 * slow, silent or without the token keeps others from theirs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/serve/free_port.h"
#include "tests/unit/test_proc_child.h"
#include "user/base/clock.h"
#include "user/base/listen.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/serve/profile_maker.h"
#include "user/serve/profiles_server.h"
#include "user/serve/profiles_token.h"

#define TOKEN "0123456789abcdef"

/* ---- a source, and a survey's thread ------------------------------------------------------ */

static const struct kept_process kept[] = {
	{.pid = 41, .comm = "shop", .unit = "shop.service", .build_id = "c0ffee", .gated = true},
	{.pid = 42,
	 .comm = "a\"\xff<",
	 .pod = "p0d",
	 .pod_name = "ns/web-0",
	 .container = "web",
	 .gated = true},
	{.pid = 43, .comm = "alien", .reason = "a 32-bit program"},
};

struct source {
	size_t count;	       /* of those above */
	uint64_t live;	       /* bytes of 41's only stack, more with each look */
	uint32_t generation;   /* of 41 */
	_Atomic bool standing; /* the survey is busy with something else */
	_Atomic int made;
};

static int source_each(void *ctx, int (*visit)(void *ctx, const struct kept_process *p),
		       void *visit_ctx)
{
	const struct source *s = ctx;
	int err = 0;

	for (size_t i = 0; i < s->count && !err; i++)
		err = visit(visit_ctx, &kept[i]);
	return err;
}

static int source_snapshot(void *ctx, pid_t pid, struct report **out)
{
	struct source *s = ctx;
	struct snapshot *snapshot;

	if (pid != 41)
		return -ESRCH;
	snapshot = calloc(1, sizeof(*snapshot));
	assert_non_null(snapshot);
	snapshot->pid = pid;
	snapshot->target_id = s->generation;
	snapshot->elapsed_ns = monotonic_ns();
	snapshot->stacks = calloc(2, sizeof(*snapshot->stacks));
	snapshot->stack_count = 2;
	s->live += 1000;
	for (uint64_t i = 0; i < 2; i++) {
		snapshot->stacks[i] = (struct stack){.id = 7 - i};
		snapshot->stacks[i].live = (struct amount){.bytes = 64, .count = 1};
		snapshot->stacks[i].alloc = (struct amount){.bytes = 64, .count = 1};
	}
	snapshot->stacks[0].live.bytes = s->live;
	*out = report_new(snapshot);
	s->made++;
	return *out ? 0 : -ENOMEM;
}

struct served {
	struct sockaddr_storage address;
	struct source source;
	struct profile_source functions;
	struct http_server *http;
	struct profile_queue *queue;
	struct profile_targets *targets;
	struct profiles_server *site;
	struct profile_maker maker;
	pthread_t survey;
	_Atomic bool ends;
};

static void *survey(void *arg)
{
	struct served *s = arg;

	while (!s->ends) {
		struct pollfd fd = {.fd = profile_maker_fd(&s->maker), .events = POLLIN};
		int wait_ms = clock_wait_ms(profile_maker_due_ns(&s->maker));

		if (s->source.standing)
			fd.fd = -1;
		poll(&fd, 1, wait_ms < 0 || wait_ms > 20 || s->source.standing ? 20 : wait_ms);
		if (!s->source.standing)
			profile_maker_work(&s->maker);
	}
	return NULL;
}

static void wake(void *ctx)
{
	struct served *s = ctx;

	http_server_wake(s->http);
}

static struct served *serve(size_t processes, uint64_t wait_ns, const char *token)
{
	struct served *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->address = free_port();
	s->source.count = processes;
	s->functions = (struct profile_source){&s->source, source_each, source_snapshot};
	s->http = http_server_new(NULL);
	s->queue = profile_queue_new(wait_ns, wake, s);
	s->targets = profile_targets_new();
	s->site = profiles_server_new(s->http, s->queue, s->targets, token);
	s->maker = (struct profile_maker){.queue = s->queue, .source = &s->functions};
	assert_non_null(s->site);
	assert_int_equal(http_server_listen(s->http, &s->address), 0);
	assert_int_equal(http_server_start(s->http), 0);
	assert_int_equal(pthread_create(&s->survey, NULL, survey, s), 0);
	return s;
}

static void serve_no_more(struct served *s)
{
	if (s->http)
		http_server_free(s->http);
	s->ends = true;
	pthread_join(s->survey, NULL);
	profiles_server_free(s->site);
	profile_queue_free(s->queue);
	profile_targets_free(s->targets);
	free(s);
}

/* ---- clients ------------------------------------------------------------------------------ */

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

static void say(int fd, const char *path, const char *headers)
{
	char request[1024];
	int n = snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", path,
			 headers);

	assert_int_equal(write(fd, request, (size_t)n), n);
}

static int begin(const struct served *s, const char *path, const char *headers)
{
	int fd = connect_to(&s->address);

	say(fd, path, headers);
	return fd;
}

/* The same by another user of this machine, from 127.0.0.LAST. */
static int begin_as(const struct served *s, uid_t uid, unsigned last, const char *path)
{
	const struct timeval deadline = {.tv_sec = 30};
	struct sockaddr_in own = {.sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last)};
	int fd;

	setfsuid(uid);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setfsuid(geteuid());
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline));
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&s->address, sizeof(own)), 0);
	say(fd, path, "");
	return fd;
}

/* The whole answer, until the server closes: a string, and how long it is. */
static char *end(int fd, size_t *len)
{
	size_t room = 1 << 16;
	char *answer = calloc(1, room);
	ssize_t n;

	*len = 0;
	while ((n = read(fd, answer + *len, room - *len - 1)) > 0)
		*len += (size_t)n;
	assert_int_equal(n, 0);
	close(fd);
	return answer;
}

static void check_answer(const struct served *s, const char *path, const char *headers,
			 const char *status, const char *contains)
{
	size_t len;
	char *answer = end(begin(s, path, headers), &len);

	if (strncmp(answer, status, strlen(status)) != 0 || !strstr(answer, contains))
		fail_msg("to '%s' the answer was '%.600s'", path, answer);
	free(answer);
}

#define OK "HTTP/1.1 200"

/* ---- the tests ---------------------------------------------------------------------------- */

static void profiles(void **state)
{
	struct served *s = serve(1, 10 * NS_PER_S, NULL), *several;
	size_t len;
	char *answer, *body;

	(void)state;
	answer = end(begin(s, "/debug/pprof/heap?pid=41&debug=0&gc=1", ""), &len);
	body = strstr(answer, "\r\n\r\n");
	assert_int_equal(strncmp(answer, OK, strlen(OK)), 0);
	assert_non_null(strstr(answer, "Content-Type: application/octet-stream\r\n"));
	assert_non_null(body);
	assert_memory_equal(body + 4, "\x1f\x8b", 2); /* gzip */
	free(answer);
	/* The only one there is. */
	check_answer(s, "/debug/pprof/allocs", "", OK, "filename=\"allocs\"");
	check_answer(s, "/debug/pprof/heap?pid=42", "", "HTTP/1.1 404",
		     "process 42 is not one that --keep names");
	check_answer(s, "/debug/pprof/heap?pid=", "", "HTTP/1.1 400", "\"pid\"");
	check_answer(s, "/debug/pprof/heap?pid=-1", "", "HTTP/1.1 400", "X-Go-Pprof: 1");
	check_answer(s, "/debug/pprof/heap?pid=41&seconds=0", "", "HTTP/1.1 400", "\"seconds\"");
	check_answer(s, "/debug/pprof/heap?pid=41&seconds=601", "", "HTTP/1.1 400", "\"seconds\"");
	check_answer(s, "/debug/pprof/heap?pid=41&debug=1", "", "HTTP/1.1 400", "debug=");
	check_answer(s, "/debug/pprof/profile?pid=41", "", "HTTP/1.1 404", "no such profile");
	check_answer(s, "/debug/pprof/../../etc/passwd", "", "HTTP/1.1 404", "no such profile");
	check_answer(s, "/", "", OK, "the profiles are at /targets");
	check_answer(s, "/metrics", "", "HTTP/1.1 404", "nothing here");
	serve_no_more(s);

	several = serve(3, 10 * NS_PER_S, NULL);
	check_answer(several, "/debug/pprof/heap", "", "HTTP/1.1 400",
		     "2 processes are kept: say which with ?pid=PID");
	check_answer(several, "/debug/pprof/heap?pid=42", "", "HTTP/1.1 404", "not sampled any");
	check_answer(several, "/debug/pprof/heap?pid=43", "", "HTTP/1.1 404",
		     "not sampled: a 32-bit program");
	serve_no_more(several);
	several = serve(0, 10 * NS_PER_S, NULL);
	check_answer(several, "/debug/pprof/heap", "", "HTTP/1.1 404", "no process is sampled");
	serve_no_more(several);
}

/* Those that are sampled, by the name that is asked for. */
static void targets(void **state)
{
	struct served *s = serve(3, 10 * NS_PER_S, NULL);

	(void)state;
	check_answer(s, "/targets", "", "HTTP/1.1 503", "Retry-After");
	assert_int_equal(profile_targets_publish(s->targets, &s->functions), 0);
	check_answer(
		s, "/targets", "", OK,
		"[{\"targets\":[\"localhost\"],\"labels\":{\"__metrics_path__\":\"/debug/pprof/"
		"heap\","
		"\"__param_pid\":\"41\",\"pid\":\"41\",\"comm\":\"shop\",\"unit\":\"shop.service\","
		"\"build_id\":\"c0ffee\"}},"
		"{\"targets\":[\"localhost\"],\"labels\":{\"__metrics_path__\":\"/debug/pprof/"
		"heap\","
		"\"__param_pid\":\"42\",\"pid\":\"42\",\"comm\":\"a\\\"\xef\xbf\xbd<\","
		"\"container\":\"web\",\"pod\":\"p0d\",\"pod_name\":\"ns/web-0\"}}]\n");
	check_answer(s, "/targets", "", OK, "Content-Type: application/json\r\n");
	s->source.count = 0;
	assert_int_equal(profile_targets_publish(s->targets, &s->functions), 0);
	check_answer(s, "/targets", "", OK, "\r\n\r\n[]\n");
	serve_no_more(s);
}

static void token(void **state)
{
	struct served *s = serve(1, 10 * NS_PER_S, TOKEN);
	static const char *const wrong[] = {
		"",
		"Authorization: Bearer\r\n",
		"Authorization: Bearer 0123456789abcde\r\n",
		"Authorization: Bearer 0123456789abcdef0\r\n",
		"Authorization: Bearer 0123456789abcdeg\r\n",
		"Authorization: Basic 0123456789abcdef\r\n",
		"Authorization: 0123456789abcdef\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		check_answer(s, "/debug/pprof/heap", wrong[i], "HTTP/1.1 401",
			     "WWW-Authenticate: Bearer");
		check_answer(s, "/targets", wrong[i], "HTTP/1.1 401", "a token is wanted");
	}
	assert_int_equal(s->source.made, 0);
	check_answer(s, "/debug/pprof/heap", "Authorization: bearer " TOKEN "\r\n", OK, "");
	check_answer(s, "/", "", OK, "profiles");
	serve_no_more(s);
}

/* The survey has other things to do: who waits is told so in time, and nobody's server stands. */
static void deadline(void **state)
{
	struct served *s = serve(1, 2 * NS_PER_S, NULL);
	uint64_t start = monotonic_ns();
	int waiting[8];
	size_t len;
	char *answer;

	(void)state;
	s->source.standing = true;
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		waiting[i] = begin(s, "/debug/pprof/heap", "");
	check_answer(s, "/", "", OK, "");
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		answer = end(waiting[i], &len);
		assert_int_equal(strncmp(answer, "HTTP/1.1 503", 12), 0);
		assert_non_null(strstr(answer, "Retry-After: 2\r\n"));
		assert_non_null(strstr(answer, "has not come to it"));
		free(answer);
	}
	assert_true(monotonic_ns() - start >= 2 * NS_PER_S);
	assert_int_equal(s->source.made, 0);
	s->source.standing = false;
	check_answer(s, "/debug/pprof/heap", "", OK, "");
	assert_int_equal(s->source.made, 1);
	serve_no_more(s);
}

/* More than may wait; the rest is answered when the server ends, by the thread that made them wait. */
static void ends(void **state)
{
	struct served *s = serve(1, 60 * NS_PER_S, NULL);
	int waiting[PROFILE_QUEUE_MAX / 2];
	size_t len, told = 0;
	char *answer;

	(void)state;
	s->source.standing = true;
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		waiting[i] =
			begin(s, i % 2 ? "/debug/pprof/heap" : "/debug/pprof/heap?seconds=60", "");
	check_answer(s, "/", "", OK, "");
	http_server_free(TAKE_PTR(s->http));
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		answer = end(waiting[i], &len);
		told += !strncmp(answer, "HTTP/1.1 503", 12) && strstr(answer, "the survey ends");
		free(answer);
	}
	assert_int_equal(told, ARRAY_SIZE(waiting));
	serve_no_more(s);
}

/* Twice, a second apart; what came between. */
static void difference(void **state)
{
	struct served *s = serve(1, 10 * NS_PER_S, NULL);
	uint64_t start = monotonic_ns();
	struct report *before, *after;
	struct profile_base *base;

	(void)state;
	check_answer(s, "/debug/pprof/heap?seconds=1", "", OK, "filename=\"heap\"");
	assert_true(monotonic_ns() - start >= NS_PER_S);
	assert_int_equal(s->source.made, 2);
	assert_int_equal(profile_queue_base_bytes(s->queue), 0);
	/* It has become another. */
	assert_int_equal(source_snapshot(&s->source, 41, &before), 0);
	assert_int_equal(source_snapshot(&s->source, 41, &after), 0);
	base = profile_base_new(before);
	assert_true(profile_base_subtract(base, after));
	assert_int_equal(after->snapshot->stacks[0].live.bytes, 1000);
	assert_int_equal(after->snapshot->stacks[0].live.count, 0);
	assert_int_equal(after->snapshot->stacks[1].live.bytes, 0);
	report_free(after);
	s->source.live -= 5000;
	assert_int_equal(source_snapshot(&s->source, 41, &after), 0);
	assert_true(profile_base_subtract(base, after));
	assert_int_equal((int64_t)after->snapshot->stacks[0].live.bytes, -3000);
	report_free(after);
	s->source.generation++;
	assert_int_equal(source_snapshot(&s->source, 41, &after), 0);
	assert_false(profile_base_subtract(base, after));
	report_free(after);
	report_free(before);
	profile_base_free(base);
	serve_no_more(s);
}

/* A thousand that say nothing, and some that ask and do not read; who asks is answered. */
static void crowd(void **state)
{
	struct served *s = serve(1, 10 * NS_PER_S, NULL);
	int silent[1000], asking[20];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asking); i++)
		asking[i] = begin(s, "/debug/pprof/heap", "");
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = connect_to(&s->address);
		assert_int_equal(write(silent[i], "G", i % 2), i % 2);
		if (i % 100 < 98)
			continue;
		check_answer(s, "/debug/pprof/heap", "", OK, "");
	}
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	for (size_t i = 0; i < ARRAY_SIZE(asking); i++)
		close(asking[i]);
	check_answer(s, "/debug/pprof/heap", "", OK, "");
	serve_no_more(s);
}

/* Beyond those that can wait each is told to come again, and what needs no waiting is to be had. */
static void full(void **state)
{
	struct served *s = serve(1, 60 * NS_PER_S, NULL);
	int waiting[PROFILE_QUEUE_MAX], beyond[100];
	uint64_t until = monotonic_ns() + 30 * NS_PER_S;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		waiting[i] = begin(s, "/debug/pprof/heap?seconds=600", "");
	while (s->source.made < PROFILE_QUEUE_MAX && monotonic_ns() < until)
		poll(NULL, 0, 1);
	assert_int_equal(s->source.made, PROFILE_QUEUE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(beyond); i++)
		beyond[i] = begin(s, "/debug/pprof/heap?seconds=600", "");
	for (size_t i = 0; i < ARRAY_SIZE(beyond); i++) {
		char *answer = end(beyond[i], &len);

		if (strncmp(answer, "HTTP/1.1 503", 12) != 0 || !strstr(answer, "Retry-After: "))
			fail_msg("beyond those that wait, number %zu has '%.200s'", i, answer);
		free(answer);
		check_answer(s, "/debug/pprof/", "", "HTTP/1.1 404", "no such profile");
	}
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		close(waiting[i]);
	serve_no_more(s);
}

/* A user who asks for all that can be had, from as many addresses as he likes, leaves the others their share. */
static void shares(void **state)
{
	struct served *s;
	int greedy[PROFILE_QUEUE_MAX], other[PROFILE_QUEUE_MAX / 2 - 1];
	uint64_t until = monotonic_ns() + 30 * NS_PER_S;
	size_t len;
	char *answer;

	(void)state;
	need_root();
	s = serve(1, 60 * NS_PER_S, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		greedy[i] = begin_as(s, 54321, (unsigned)(1 + i % 5),
				     "/debug/pprof/heap?pid=41&seconds=600");
	/* All of them have been looked at, and wait. */
	while (s->source.made < PROFILE_QUEUE_MAX && monotonic_ns() < until)
		poll(NULL, 0, 1);
	assert_int_equal(s->source.made, PROFILE_QUEUE_MAX);
	check_answer(s, "/debug/pprof/heap?seconds=1", "", OK, "filename=\"heap\"");
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		other[i] = begin_as(s, 54322, 1, "/debug/pprof/heap?pid=41&seconds=1");
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		answer = end(other[i], &len);
		assert_int_equal(strncmp(answer, OK, strlen(OK)), 0);
		free(answer);
	}
	/* The last one of those many was told so. */
	answer = end(greedy[ARRAY_SIZE(greedy) - 1], &len);
	assert_int_equal(strncmp(answer, "HTTP/1.1 503", 12), 0);
	assert_non_null(strstr(answer, "others have asked"));
	free(answer);
	for (size_t i = 0; i < ARRAY_SIZE(greedy) - 1; i++)
		close(greedy[i]);
	serve_no_more(s);
}

static int read_token(const char *text, mode_t mode, char **out)
{
	char path[] = "/tmp/memleakbpf-token-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	err = profiles_token_read(path, out);
	unlink(path);
	return err;
}

static void token_files(void **state)
{
	char *text = NULL;

	(void)state;
	log_set_level(LOG_ERROR);
	assert_int_equal(read_token(TOKEN "\n", 0600, &text), 0);
	assert_string_equal(text, TOKEN);
	free(text);
	assert_int_equal(read_token(TOKEN, 0440, &text), 0);
	assert_string_equal(text, TOKEN);
	free(text);
	assert_int_equal(read_token(TOKEN "\n", 0604, &text), -EPERM);
	assert_int_equal(read_token(TOKEN "\n", 0620, &text), -EPERM);
	assert_int_equal(read_token("short\n", 0600, &text), -EINVAL);
	assert_int_equal(read_token(TOKEN " \n", 0600, &text), -EINVAL);
	assert_int_equal(read_token(TOKEN "\n" TOKEN "\n", 0600, &text), -EINVAL);
	assert_int_equal(profiles_token_read("/tmp", &text), -EINVAL);
	assert_int_equal(profiles_token_read("/nonexistent/token", &text), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles), cmocka_unit_test(targets),
		cmocka_unit_test(token),    cmocka_unit_test(deadline),
		cmocka_unit_test(ends),	    cmocka_unit_test(difference),
		cmocka_unit_test(crowd),    cmocka_unit_test(full),
		cmocka_unit_test(shares),   cmocka_unit_test(token_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
