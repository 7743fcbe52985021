// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/java/java_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/maps.h"
#include "user/trace/later.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/skeleton.h"
#include "user/runtime/java/target_java.h"

#define ROW_PAUSE_NS 500000 /* of these, */
#define ROW_PAUSES   40	    /* so many at the most */

static void java_rows_end(struct trace *trace, struct target *target)
{
	target_java_free(target->java);
	target->java = NULL;
	java_rows_drop(trace, target->id);
	targets_changed(trace);
}

static void java_refuse(struct target *target, const struct object *object, const char *reason)
{
	target->java->refused = true;
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

static int java_read_row(struct target *target, const struct image_range *range,
			 struct hotspot_row *row, char reason[static REASON_MAX])
{
	struct target_java *java = target->java;
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
static int java_await_row(struct target *target, const struct image_range *range,
			  struct hotspot_row *row, char reason[static REASON_MAX])
{
	const struct timespec pause = {.tv_nsec = ROW_PAUSE_NS};
	int err = java_read_row(target, range, row, reason);

	for (unsigned i = 0; i < ROW_PAUSES && err == -EAGAIN && !target->java->has_layout &&
			     !target->java->awaited && !target_has_ended(target);
	     i++) {
		nanosleep(&pause, NULL);
		err = java_read_row(target, range, row, reason);
	}
	target->java->awaited = true;
	return err;
}

static void java_enter_row(struct trace *trace, struct target *target, const struct object *object,
			   const struct hotspot_row *row)
{
	struct target_java *java = target->java;

	if (java->entered && !memcmp(row, &java->row, sizeof(*row)))
		return;
	if (later_runtimes(trace, TARGET_JAVA)) {
		java_refuse(target, object, LATER_REFUSED);
		return;
	}
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.hotspot_rows), &target->id, row,
				BPF_ANY)) {
		log_errno(errno, "cannot enter the JVM of process %d in a BPF map", target->pid);
		java->refused = true;
		return;
	}
	if (!java->entered)
		log_debug("process %d (%s): frames of Java %u (%s)", target->pid, target->comm,
			  java->layout.version, object_name(object));
	java->row = *row;
	java->entered = target->has_runtime = true;
	targets_changed(trace);
}

void java_rows_look(struct trace *trace, struct target *target)
{
	char reason[REASON_MAX] = "";
	const char *refusal =
		runtime_rows_refusal(trace, "--stack fp: their sizes are not looked up");
	const struct image_range *range = NULL;
	struct hotspot_row row;
	uint64_t bias;
	int err;

	if (target->image && !target_has_ended(target))
		range = runtime_rows_find(trace, target, RUNTIME_JVM, &bias);
	if (target->java && (!range || object_id(range->object) != target->java->object_id ||
			     bias != target->java->bias))
		java_rows_end(trace, target);
	if (!range || (target->java && target->java->refused))
		return;
	if (!target->java) {
		target->java = calloc(1, sizeof(*target->java));
		if (!target->java)
			return;
		target->java->object_id = object_id(range->object);
		target->java->bias = bias;
	}
	if (refusal) {
		java_refuse(target, range->object, refusal);
		return;
	}
	err = java_await_row(target, range, &row, reason);
	/* The programs find the heaps of code themselves as soon as there are some. */
	if (!err || (err == -EAGAIN && row.heaps_at && !target->java->row.heaps[0].end))
		java_enter_row(trace, target, range->object, &row);
	else if (err != -EAGAIN)
		java_refuse(target, range->object, *reason ? reason : strerror(-err));
}

bool java_rows_ready(struct trace *trace, struct target *target)
{
	if (!target->java || target->java->refused)
		return false;
	if (!target->java->row.heaps[0].end)
		java_rows_look(trace, target);
	return target->java && target->java->entered && target->java->row.heaps[0].end;
}

void java_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.hotspot_rows), &target_id);
}

void java_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[HOTSPOT_NO_BLOB] = "the JVM's table has no code there",
		[HOTSPOT_UNREADABLE] = "an interpreted frame's method is in no memory",
		[HOTSPOT_ELSEWHERE] = "an interpreted frame's bytecode is not its method's",
		[HOTSPOT_NO_FRAME] = "the JVM says no size of the frame that one can have",
	};
	runtime_rows_failed(trace, "Java", event, reasons, ARRAY_SIZE(reasons));
}
