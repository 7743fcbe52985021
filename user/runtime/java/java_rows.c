// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/java/java_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/maps.h"
#include "user/runtime/java/hotspot.h"
#include "user/runtime/java/target_java.h"
#include "user/runtime/runtime_rows.h"

#define ROW_PAUSE_NS 500000 /* of these, */
#define ROW_PAUSES   40	    /* so many at the most */

static struct target_java *java_of(const struct runtime_target *target)
{
	return target->states[RUNTIME_JVM];
}

static void java_rows_end(struct runtimes *runtimes, struct runtime_target *target)
{
	target_java_free(java_of(target));
	target->states[RUNTIME_JVM] = NULL;
	runtime_rows_end(runtimes, target, RUNTIME_JVM);
}

static void java_refuse(struct runtime_target *target, const struct object *object,
			const char *reason)
{
	java_of(target)->refused = true;
	log_info("process %d (%s): no frames of Java (%s): %s", target->pid, target->comm,
		 object_name(object), reason);
}

static int java_find_library(struct target_java *java, pid_t pid, const struct image_range *range)
{
	const struct mapping *code, *m;
	struct maps *maps;
	int err = maps_read(pid, &maps);

	if (err)
		return err;
	java->library_count = 0;
	code = maps_find(maps, range->start);
	for (size_t i = 0; code && i < maps_count(maps); i++) {
		m = maps_at(maps, i);
		if (!m->ino || m->ino != code->ino || m->dev != code->dev ||
		    java->library_count == JAVA_LIBRARY_MAPPINGS)
			continue;
		java->library[java->library_count].start = m->start;
		java->library[java->library_count].end = m->end;
		java->library_count++;
	}
	maps_free(maps);
	return 0;
}

static int java_read_row(struct runtime_target *target, const struct image_range *range,
			 struct hotspot_row *row, char reason[static REASON_MAX])
{
	struct target_java *java = java_of(target);
	struct hotspot_symbols symbols;
	struct java_memory memory;
	int err;

	*row = (struct hotspot_row){0};
	if (!java->has_layout) {
		err = java_find_library(java, target->pid, range);
		err = err ? -EAGAIN : hotspot_find(range->object, &symbols);
		if (err)
			return err == -EAGAIN ? err
					      : refuse(reason, -ENOTSUP, "it exports no tables");
	}
	if (java_memory_open(&memory, target))
		return -EAGAIN;
	err = 0;
	if (!java->has_layout) {
		err = hotspot_layout_read(&symbols, java->bias, &memory.memory, &java->layout,
					  reason);
		java->has_layout = !err;
	}
	err = err ?: hotspot_row_read(&java->layout, &memory.memory, row, reason);
	java_memory_close(&memory);
	return err;
}

/*
 * The loader relocates the library's tables a moment after it has mapped it. We wait for that, once: what comes next here, the
 * library's unwind tables, takes as long as a JVM until it runs Java.
 */
static int java_await_row(struct runtime_target *target, const struct image_range *range,
			  struct hotspot_row *row, char reason[static REASON_MAX])
{
	const struct timespec pause = {.tv_nsec = ROW_PAUSE_NS};
	struct target_java *java = java_of(target);
	bool looked_before = java->awaited;
	int err = java_read_row(target, range, row, reason);

	for (unsigned i = 0;
	     i < ROW_PAUSES && err == -EAGAIN && !java->has_layout && !java->awaited; i++) {
		nanosleep(&pause, NULL);
		*reason = '\0';
		err = java_read_row(target, range, row, reason);
	}
	java->awaited = true;
	/* The next look comes with a later mapping or snapshot: the library is whole by then. */
	return err == -EAGAIN && *reason && looked_before ? -ENOTSUP : err;
}

static void java_enter_row(struct runtimes *runtimes, struct runtime_target *target,
			   const struct object *object, const struct hotspot_row *row)
{
	struct target_java *java = java_of(target);
	char reason[REASON_MAX] = "";

	if (java->entered && !memcmp(row, &java->row, sizeof(*row)))
		return;
	if (runtime_rows_enter(runtimes, target, RUNTIME_JVM, row, reason)) {
		java_refuse(target, object, reason);
		return;
	}
	if (!java->entered)
		log_debug("process %d (%s): frames of Java %u (%s)", target->pid, target->comm,
			  java->layout.version, object_name(object));
	java->row = *row;
	java->entered = true;
}

void java_rows_look(struct runtimes *runtimes, struct runtime_target *target)
{
	char reason[REASON_MAX] = "";
	const char *refusal =
		runtime_rows_refusal(runtimes, "--stack fp: their sizes are not looked up");
	uint64_t bias = 0;
	const struct image_range *range = runtime_rows_find(runtimes, target, RUNTIME_JVM, &bias);
	struct target_java *java = java_of(target);
	struct hotspot_row row;
	int err;

	if (java && (!range || object_id(range->object) != java->object_id || bias != java->bias)) {
		java_rows_end(runtimes, target);
		java = NULL;
	}
	if (!range || (java && java->refused))
		return;
	if (!java) {
		java = target->states[RUNTIME_JVM] = calloc(1, sizeof(*java));
		if (!java)
			return;
		java->object_id = object_id(range->object);
		java->bias = bias;
	}
	if (refusal) {
		java_refuse(target, range->object, refusal);
		return;
	}
	err = java_await_row(target, range, &row, reason);
	/* The programs find the heaps of code themselves as soon as there are some. */
	if (!err || (err == -EAGAIN && row.heaps_at && !java->row.heaps[0].end))
		java_enter_row(runtimes, target, range->object, &row);
	else if (err != -EAGAIN)
		java_refuse(target, range->object, *reason ? reason : strerror(-err));
}

bool java_rows_ready(struct runtimes *runtimes, struct runtime_target *target)
{
	struct target_java *java = java_of(target);

	if (!java || java->refused)
		return false;
	if (!java->row.heaps[0].end)
		java_rows_look(runtimes, target);
	java = java_of(target);
	return java && java->entered && java->row.heaps[0].end;
}
