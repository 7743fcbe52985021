// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/profile_targets.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/json_writer.h"
#include "user/base/util.h"

/* One process; strings of its own, NULL: none. */
struct target_row {
	pid_t pid;
	char *comm, *unit, *container, *pod, *pod_name, *build_id;
};

struct target_list {
	struct target_row *rows;
	size_t count;
};

struct profile_targets {
	pthread_mutex_t lock; /* of list */
	struct target_list list;
	bool published;
};

struct profile_targets *profile_targets_new(void)
{
	struct profile_targets *t = calloc(1, sizeof(*t));

	if (t)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

static void targets_release(struct target_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct target_row *row = &list->rows[i];

		free(row->comm);
		free(row->unit);
		free(row->container);
		free(row->pod);
		free(row->pod_name);
		free(row->build_id);
	}
	free(list->rows);
}

void profile_targets_free(struct profile_targets *t)
{
	if (!t)
		return;
	targets_release(&t->list);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- what is published -------------------------------------------------------------------- */

static int targets_copy(char **to, const char *text)
{
	if (!text)
		return 0;
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

static int targets_add(void *ctx, const struct kept_process *p)
{
	struct target_list *list = ctx;
	struct target_row *row, *grown;

	if (!p->gated)
		return 0;
	grown = reallocarray(list->rows, list->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->rows = grown;
	row = &grown[list->count++];
	*row = (struct target_row){.pid = p->pid};
	if (targets_copy(&row->comm, p->comm) || targets_copy(&row->unit, p->unit) ||
	    targets_copy(&row->container, p->container) || targets_copy(&row->pod, p->pod) ||
	    targets_copy(&row->pod_name, p->pod_name) || targets_copy(&row->build_id, p->build_id))
		return -ENOMEM;
	return 0;
}

int profile_targets_publish(struct profile_targets *t, const struct profile_source *source)
{
	struct target_list list = {0}, old;
	int err = source->each(source->ctx, targets_add, &list);

	if (err) {
		targets_release(&list);
		return err;
	}
	pthread_mutex_lock(&t->lock);
	old = t->list;
	t->list = list;
	t->published = true;
	pthread_mutex_unlock(&t->lock);
	targets_release(&old);
	return 0;
}

/* ---- the list ----------------------------------------------------------------------------- */

static void targets_put_row(struct json *j, const struct target_row *row, const char *address)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)row->pid);
	json_object(j, NULL);
	json_array(j, "targets");
	json_text(j, NULL, address);
	json_end(j);
	json_object(j, "labels");
	json_text(j, "__metrics_path__", "/debug/pprof/heap");
	json_text(j, "__param_pid", pid);
	json_text(j, "pid", pid);
	json_text(j, "comm", row->comm);
	json_text(j, "unit", row->unit);
	json_text(j, "container", row->container);
	json_text(j, "pod", row->pod);
	json_text(j, "pod_name", row->pod_name);
	json_text(j, "build_id", row->build_id);
	json_end(j);
	json_end(j);
}

int profile_targets_write(struct profile_targets *t, const char *address, char **text, size_t *size)
{
	FILE *out;
	struct json json;
	bool published, failed;

	*text = NULL;
	out = open_memstream(text, size);
	if (!out)
		return -ENOMEM;
	json_begin(&json, out, JSON_ALONE);
	json_array(&json, NULL);
	pthread_mutex_lock(&t->lock);
	published = t->published;
	for (size_t i = 0; i < t->list.count; i++)
		targets_put_row(&json, &t->list.rows[i], address);
	pthread_mutex_unlock(&t->lock);
	json_end(&json);
	fputc('\n', out);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (published && !failed)
		return 0;
	free(*text);
	*text = NULL;
	return published ? -ENOMEM : -EAGAIN;
}
