// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/container_name.h"

#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "user/process/cgroup.h"

static int copy_name(struct json_object *value, struct container_name *out)
{
	const char *text = json_object_get_string(value);

	if (!text || !*text)
		return -ENOENT;
	snprintf(out->name, sizeof(out->name), "%s", text + (*text == '/'));
	return 0;
}

static int docker_name(const char *root, const char *id, struct container_name *out)
{
	struct json_object *config, *value;
	char path[512];
	int err = -ENOENT;

	snprintf(path, sizeof(path), "%s/var/lib/docker/containers/%s/config.v2.json", root, id);
	config = json_object_from_file(path);
	if (config && json_object_object_get_ex(config, "Name", &value))
		err = copy_name(value, out);
	json_object_put(config);
	return err;
}

static int podman_name(const char *root, const char *id, struct container_name *out)
{
	struct json_object *list, *value;
	char path[512];
	int err = -ENOENT;

	snprintf(path, sizeof(path),
		 "%s/var/lib/containers/storage/overlay-containers/containers.json", root);
	list = json_object_from_file(path);
	for (size_t i = 0; list && json_object_is_type(list, json_type_array) &&
			   i < json_object_array_length(list) && err;
	     i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (json_object_object_get_ex(item, "id", &value) &&
		    !strcmp(json_object_get_string(value), id) &&
		    json_object_object_get_ex(item, "names", &value) &&
		    json_object_is_type(value, json_type_array) && json_object_array_length(value))
			err = copy_name(json_object_array_get_idx(value, 0), out);
	}
	json_object_put(list);
	return err;
}

/*
 * Takes POD and NAMESPACE of "POD_NAMESPACE_CONTAINER-ID.log". Neither these nor CONTAINER have a
 * '_'.
 */
static int take_link(const char *link, size_t len, struct container_name *out)
{
	const char *namespace = memchr(link, '_', len), *name;

	name = namespace ? memchr(namespace + 1, '_', len - (size_t)(namespace + 1 - link)) : NULL;
	if (!name)
		return -ENOENT;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(link + len - name - 1), name + 1);
	snprintf(out->pod, sizeof(out->pod), "%.*s/%.*s", (int)(name - namespace - 1),
		 namespace + 1, (int)(namespace - link), link);
	return 0;
}

static int kubelet_name(const char *root, const char *id, struct container_name *out)
{
	char path[512], suffix[CGROUP_ID_MAX + 8];
	const struct dirent *entry;
	int err = -ENOENT;
	DIR *links;

	snprintf(path, sizeof(path), "%s/var/log/containers", root);
	snprintf(suffix, sizeof(suffix), "-%s.log", id);
	links = opendir(path);
	if (!links)
		return -ENOENT;
	while (err && (entry = readdir(links))) {
		size_t len = strlen(entry->d_name);

		if (len > strlen(suffix) && !strcmp(entry->d_name + len - strlen(suffix), suffix))
			err = take_link(entry->d_name, len - strlen(suffix), out);
	}
	closedir(links);
	return err;
}

int container_name_find(const char *root, const char *id, struct container_name *out)
{
	*out = (struct container_name){0};
	if (strlen(id) + 1 != CGROUP_ID_MAX || !cgroup_is_container_id(id))
		return -ENOENT;
	if (!docker_name(root, id, out))
		return 0;
	return podman_name(root, id, out) ? kubelet_name(root, id, out) : 0;
}
