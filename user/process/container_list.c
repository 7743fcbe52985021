// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/container_list.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/process/cgroup.h"

#define ANSWER_MAX     (4u << 20)
#define CONTAINERS_MAX 4096
/*
 * json-c takes some 400 bytes for an object or array, 80 for a value. Docker has a dozen and a
 * hundred of these a container.
 */
#define NODES_MAX  (32u * CONTAINERS_MAX)
#define VALUES_MAX (128u * CONTAINERS_MAX)
#define DEPTH_MAX  16

struct listed {
	char id[CGROUP_ID_MAX];
	struct container_name name;
};

struct container_list {
	struct listed *items;
	size_t count;
};

/* ---- the answer --------------------------------------------------------------------------- */

void container_list_free(struct container_list *list)
{
	if (list)
		free(list->items);
	free(list);
}

size_t container_list_count(const struct container_list *list)
{
	return list->count;
}

const struct container_name *container_list_find(const struct container_list *list, const char *id)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (!strcmp(list->items[i].id, id))
			return &list->items[i].name;
	}
	return NULL;
}

/* NULL: no such member, or it is no text. */
static const char *text_of(struct json_object *of, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(of, key, &value) &&
			       json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

static const char *first_name(struct json_object *item)
{
	struct json_object *names, *first;
	const char *text;

	if (!json_object_object_get_ex(item, "Names", &names) ||
	    !json_object_is_type(names, json_type_array) || !json_object_array_length(names))
		return NULL;
	first = json_object_array_get_idx(names, 0);
	if (!json_object_is_type(first, json_type_string))
		return NULL;
	text = json_object_get_string(first);
	return text + (*text == '/');
}

/* False: it has no id or no name. */
static bool take_container(struct json_object *item, struct listed *out)
{
	const char *name, *pod = NULL, *namespace = NULL, *of_pod = NULL, *id;
	struct json_object *labels;

	if (!json_object_is_type(item, json_type_object))
		return false;
	id = text_of(item, "Id");
	name = first_name(item);
	if (json_object_object_get_ex(item, "Labels", &labels) &&
	    json_object_is_type(labels, json_type_object)) {
		of_pod = text_of(labels, "io.kubernetes.container.name");
		pod = text_of(labels, "io.kubernetes.pod.name");
		namespace = text_of(labels, "io.kubernetes.pod.namespace");
	}
	name = of_pod ?: name;
	if (!id || !cgroup_is_container_id(id) || id[CGROUP_ID_MAX - 1] || !name || !*name)
		return false;
	snprintf(out->id, sizeof(out->id), "%s", id);
	snprintf(out->name.name, sizeof(out->name.name), "%s", name);
	if (pod && namespace)
		snprintf(out->name.pod, sizeof(out->name.pod), "%.63s/%.253s", namespace, pod);
	return true;
}

/* Counts first: json-c's memory for an array is far more than its two brackets. */
static bool fits(const char *text, size_t size)
{
	size_t nodes = 0, values = 0;

	for (size_t i = 0; i < size; i++) {
		nodes += text[i] == '{' || text[i] == '[';
		values += text[i] == ',';
	}
	return nodes <= NODES_MAX && values <= VALUES_MAX;
}

static int take_array(struct json_object *array, struct container_list *list)
{
	size_t count;

	if (!json_object_is_type(array, json_type_array))
		return -EPROTO;
	count = json_object_array_length(array);
	if (count > CONTAINERS_MAX)
		return -EFBIG;
	list->items = calloc(count + 1, sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		list->count += take_container(json_object_array_get_idx(array, i),
					      &list->items[list->count]);
	return 0;
}

int container_list_parse(const char *text, size_t size, struct container_list **out)
{
	struct container_list *list;
	struct json_tokener *tokener;
	struct json_object *array;
	int err;

	if (size > ANSWER_MAX || !fits(text, size))
		return -EFBIG;
	list = calloc(1, sizeof(*list));
	tokener = json_tokener_new_ex(DEPTH_MAX);
	if (!list || !tokener) {
		free(list);
		json_tokener_free(tokener);
		return -ENOMEM;
	}
	array = json_tokener_parse_ex(tokener, text, (int)size);
	err = json_tokener_get_error(tokener) == json_tokener_success ? take_array(array, list)
								      : -EPROTO;
	json_object_put(array);
	json_tokener_free(tokener);
	if (err) {
		container_list_free(list);
		return err;
	}
	*out = list;
	return 0;
}

/* ---- asking ------------------------------------------------------------------------------- */

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* HTTP/1.0: the answer ends where the connection does, and has no chunks. */
static int send_question(int fd)
{
	static const char question[] = "GET /containers/json HTTP/1.0\r\nHost: localhost\r\n\r\n";
	/* A new socket has room for it. */
	ssize_t sent = send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL);

	return sent == sizeof(question) - 1 ? 0 : sent < 0 ? -errno : -EPROTO;
}

static int receive(int fd, uint64_t end_ns, char *text, size_t max, size_t *size)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	for (*size = 0;;) {
		ssize_t n = recv(fd, text + *size, max - *size, 0);

		if (!n)
			return 0;
		if (n > 0) {
			*size += (size_t)n;
			if (*size == max)
				return -EFBIG;
		} else if (errno != EAGAIN && errno != EINTR) {
			return -errno;
		}
		if (monotonic_ns() >= end_ns)
			return -ETIME;
		if (n < 0 && poll(&ready, 1, clock_wait_ms(end_ns)) < 0 && errno != EINTR)
			return -errno;
	}
}

static int take_answer(const char *text, size_t size, struct container_list **out)
{
	const char *body = memmem(text, size, "\r\n\r\n", 4);

	if (!body || size < 13 || strncasecmp(text, "HTTP/1.", 7) != 0 ||
	    memcmp(text + 8, " 200", 4) != 0)
		return -EPROTO;
	body += 4;
	return container_list_parse(body, size - (size_t)(body - text), out);
}

int container_list_ask(const char *path, uint64_t timeout_ns, struct container_list **out)
{
	uint64_t end_ns = monotonic_ns() + timeout_ns;
	_cleanup_close_ int fd = connect_to(path);
	_cleanup_free_ char *text = NULL;
	size_t size;
	int err;

	if (fd < 0)
		return fd;
	text = malloc(ANSWER_MAX);
	if (!text)
		return -ENOMEM;
	err = send_question(fd);
	if (!err)
		err = receive(fd, end_ns, text, ANSWER_MAX, &size);
	return err ?: take_answer(text, size, out);
}
