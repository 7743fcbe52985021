// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Names of containers: from the files of Docker, Podman and the kubelet, and from a runtime's answers, right and wrong ones. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/process/container_list.h"
#include "user/process/container_name.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static char root[] = "/tmp/memleakbpf-container-XXXXXX";

/* ---- files -------------------------------------------------------------------------------- */

static void write_file(const char *directory, const char *file, const char *text)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "mkdir -p '%s%s'", root, directory);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s%s/%s", root, directory, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_named(const char *id, const char *name, const char *pod)
{
	struct container_name found;

	assert_int_equal(container_name_find(root, id, &found), 0);
	assert_string_equal(found.name, name);
	assert_string_equal(found.pod, pod);
}

static void files(void **state)
{
	struct container_name found;

	(void)state;
	assert_int_equal(container_name_find(root, ID, &found), -ENOENT);
	/* Of the kubelet's: others, and what only looks like a link of it. */
	write_file("/var/log/containers", "no-id.log", "");
	write_file("/var/log/containers", "one_two-" ID ".log", "");
	write_file("/var/log/containers", "-" ID ".log", "");
	write_file("/var/log/containers", "web-1_default_web-" ID ".log.1", "");
	assert_int_equal(container_name_find(root, ID, &found), -ENOENT);
	write_file("/var/log/containers", "web-7d9f-x2x_shop_nginx-" OTHER ".log", "");
	write_file("/var/log/containers", "etcd-node1_kube-system_etcd-" ID ".log", "");
	assert_named(OTHER, "nginx", "shop/web-7d9f-x2x");
	assert_named(ID, "etcd", "kube-system/etcd-node1");
	write_file("/var/lib/containers/storage/overlay-containers", "containers.json",
		   "[{\"id\":\"x\"},{\"id\":\"" ID "\",\"names\":[\"queue\",\"q\"]}]");
	assert_named(ID, "queue", "");
	write_file("/var/lib/docker/containers/" ID, "config.v2.json", "{\"Name\":\"/shop\"}");
	assert_named(ID, "shop", "");
	assert_int_equal(container_name_find(root, "../../etc", &found), -ENOENT);
	assert_int_equal(container_name_find(root, "", &found), -ENOENT);
	assert_int_equal(container_name_find(root, ID "0", &found), -ENOENT);
}

/* ---- answers ------------------------------------------------------------------------------ */

static int parse(const char *text, struct container_list **list)
{
	return container_list_parse(text, strlen(text), list);
}

/* TIMES the text PART, within the two. */
static char *repeated(const char *before, const char *part, size_t times, const char *after)
{
	char *text = malloc(strlen(before) + strlen(part) * times + strlen(after) + 1), *at = text;

	assert_non_null(text);
	at = stpcpy(at, before);
	while (times--)
		at = stpcpy(at, part);
	stpcpy(at, after);
	return text;
}

static void answers(void **state)
{
	static const char *const wrong[] = {"", "{}", "null", "[", "[{\"Id\":", "nonsense", "\"\""};
	struct container_list *list;
	const struct container_name *name;

	(void)state;
	assert_int_equal(parse("[]", &list), 0);
	assert_int_equal(container_list_count(list), 0);
	container_list_free(list);
	assert_int_equal(parse("[7, null, {}, {\"Id\":5,\"Names\":[\"/a\"]}, {\"Id\":\"" ID "\"},"
			       "{\"Id\":\"" ID "\",\"Names\":{}}, {\"Id\":\"" ID "\",\"Names\":[]},"
			       "{\"Id\":\"" ID "\",\"Names\":[5]}, {\"Id\":\"" ID
			       "\",\"Names\":[\"/\"]},"
			       "{\"Id\":\"" ID
			       "0\",\"Names\":[\"/a\"]}, {\"Id\":\"short\",\"Names\":[\"/a\"]},"
			       "{\"Id\":\"" ID "\",\"Names\":[\"/shop\"],\"Labels\":null},"
			       "{\"Id\":\"" OTHER
			       "\",\"Names\":[\"/k8s_web_shop-1_default_x_0\"],\"Labels\":{"
			       "\"io.kubernetes.container.name\":\"web\",\"io.kubernetes.pod."
			       "name\":\"shop-1\","
			       "\"io.kubernetes.pod.namespace\":\"default\"}}]",
			       &list),
			 0);
	assert_int_equal(container_list_count(list), 2);
	name = container_list_find(list, ID);
	assert_string_equal(name->name, "shop");
	assert_string_equal(name->pod, "");
	name = container_list_find(list, OTHER);
	assert_string_equal(name->name, "web");
	assert_string_equal(name->pod, "default/shop-1");
	assert_null(container_list_find(list, "short"));
	assert_null(container_list_find(NULL, ID));
	container_list_free(list);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(parse(wrong[i], &list), -EPROTO);
}

static void too_much(void **state)
{
	static const struct {
		const char *before, *part, *after;
		size_t times;
		int expected;
	} cases[] = {
		{"[", "[", "", 100, -EPROTO},	    /* deeper than any */
		{"[0", ",[]", "]", 200000, -EFBIG}, /* what would take json-c 80 MB */
		{"[0", ",1", "]", 1000000, -EFBIG},
		{"[\"", "x", "\"]", 5u << 20, -EFBIG},
		{"[0", ",0", "]", 5000, -EFBIG}, /* too many containers */
		{"[{\"Id\":\"" ID "\",\"Names\":[\"/", "x", "\"]}]", 100000,
		 0}, /* a long name is cut */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text =
			repeated(cases[i].before, cases[i].part, cases[i].times, cases[i].after);
		struct container_list *list = NULL;

		assert_int_equal(parse(text, &list), cases[i].expected);
		if (list)
			assert_int_equal(strlen(container_list_find(list, ID)->name),
					 CONTAINER_NAME_MAX - 1);
		container_list_free(list);
	}
}

/* ---- servers ------------------------------------------------------------------------------ */

struct server {
	const char *answer;
	size_t times; /* that it is sent */
	bool stays;   /* does not close after that */
	int fd;
	char asked[256];
};

static void *serve(void *ctx)
{
	struct server *s = ctx;
	int fd = accept(s->fd, NULL, NULL);
	ssize_t n = read(fd, s->asked, sizeof(s->asked) - 1);
	char byte;

	s->asked[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i < s->times; i++) {
		if (send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL) < 0)
			break;
	}
	while (s->stays && read(fd, &byte, 1) > 0) /* until the other has had enough */
		;
	close(fd);
	return NULL;
}

static int ask(struct server *s, struct container_list **list)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	pthread_t thread;
	int err;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", root);
	unlink(address.sun_path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(s->fd, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, s), 0);
	err = container_list_ask(address.sun_path, s->stays ? NS_PER_S / 10 : 20 * NS_PER_S, list);
	pthread_join(thread, NULL);
	close(s->fd);
	return err;
}

static void servers(void **state)
{
	static const struct {
		struct server server;
		int expected;
	} cases[] = {
		{{.answer = "HTTP/1.0 404 Not Found\r\n\r\n[]", .times = 1}, -EPROTO},
		{{.answer = "HTTP/1.0 200 OK\r\n", .times = 1}, -EPROTO},
		{{.answer = ""}, -EPROTO},
		{{.answer = "[]", .times = 1}, -EPROTO},
		{{.answer = "SSH-2.0-OpenSSH\r\n\r\n 200 []", .times = 1}, -EPROTO},
		{{.answer = "HTTP/1.0 200 OK\r\n\r\n[", .times = 1}, -EPROTO},
		/* It says nothing, or never ends. */
		{{.answer = "", .stays = true}, -ETIME},
		{{.answer = "HTTP/1.0 200 OK\r\n\r\n[]", .times = 1, .stays = true}, -ETIME},
		{{.answer = "HTTP/1.0 200 OK\r\n\r\n                                   ",
		  .times = 1u << 20},
		 -EFBIG},
	};
	struct server good = {"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
			      "[{\"Id\":\"" ID "\",\"Names\":[\"/shop\"]}]",
			      1, false, 0, ""};
	struct container_list *list = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct server s = cases[i].server;

		assert_int_equal(ask(&s, &list), cases[i].expected);
	}
	assert_int_equal(ask(&good, &list), 0);
	assert_string_equal(good.asked, "GET /containers/json HTTP/1.0\r\nHost: localhost\r\n\r\n");
	assert_string_equal(container_list_find(list, ID)->name, "shop");
	container_list_free(list);
	assert_int_equal(container_list_ask("/nonexistent/socket", NS_PER_S, &list), -ENOENT);
	assert_int_equal(container_list_ask("/dev/null", NS_PER_S, &list), -ECONNREFUSED);
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(answers),
		cmocka_unit_test(too_much),
		cmocka_unit_test(servers),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
