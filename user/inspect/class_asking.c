// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whose types class_types.c follows: all objects of a process are asked, as long as there is time. */
#include <errno.h>
#include <stdlib.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/inspect/class_types.h"

/* Objects are asked for types so long, and no others then. */
#define ASKING_NS (20 * NS_PER_S)

/* An object that has been asked, and its roots. */
struct class_asked {
	const struct object *object;
	uint64_t bias;
	size_t first, count;
};

struct class_asking {
	struct class_types *types;
	struct class_memory *memory;
	struct class_asked *asked;
	size_t count, room;
	size_t read, kept; /* that had types: at this look, at an earlier one */
};

/* One that is mapped several times has its variables as often, and is asked once. */
static const struct class_asked *class_asking_before(const struct class_asking *a,
						     const struct class_loaded *loaded)
{
	for (size_t i = 0; i < a->count; i++) {
		if (a->asked[i].object == loaded->object)
			return &a->asked[i];
	}
	return NULL;
}

static int class_asking_one(struct class_asking *a, struct class_loaded *loaded)
{
	const struct class_asked *before = class_asking_before(a, loaded);
	size_t first = class_types_root_count(a->types);
	struct type_table *table = NULL;
	int err;

	if (before)
		return class_types_repeat(a->types, before->first, before->count,
					  loaded->bias - before->bias);
	if (!RESERVE_ITEM(a->asked, a->count, a->room, 64))
		return -ENOMEM;
	err = class_memory_types(a->memory, loaded, &table);
	if (!err && table)
		err = class_types_take(a->types, table, loaded->bias, loaded->path);
	a->read += table && !loaded->kept;
	a->kept += table && loaded->kept;
	if (table && table->cut)
		log_info("%s: there is more debug information than is looked at, not all types of "
			 "blocks are known",
			 loaded->path);
	type_table_free(table);
	a->asked[a->count++] = (struct class_asked){loaded->object, loaded->bias, first,
						    class_types_root_count(a->types) - first};
	return err;
}

static int class_asking_all(struct class_types *types, struct class_memory *memory)
{
	const uint64_t start = monotonic_ns();
	struct class_loaded loaded = {.deadline_ns = start + ASKING_NS};
	struct class_asking asking = {.types = types, .memory = memory};
	int err = 0;

	while (!err && class_memory_next_loaded(memory, &loaded))
		err = class_asking_one(&asking, &loaded);
	if (loaded.late)
		log_info("debug information is not read any more, it takes too long: types of "
			 "variables in %s and what comes behind it are not known",
			 loaded.path);
	log_debug("types of variables: those of %zu files read, of %zu as at an earlier look: "
		  "%.1f ms",
		  asking.read, asking.kept, (double)(monotonic_ns() - start) / NS_PER_MS);
	free(asking.asked);
	return err;
}

void class_types_find(const struct heap_image *image, struct class_memory *memory,
		      struct class_groups *groups, const struct packed *known,
		      struct class_types **out)
{
	struct class_types *t = class_types_new(image, groups, known);
	uint64_t start;
	int err = t ? class_asking_all(t, memory) : -ENOMEM;

	*out = NULL;
	start = monotonic_ns();
	err = err ?: class_types_run(t);
	/* All else can be said without. */
	if (err)
		log_debug("no memory for types of variables: they are left out");
	if (err || !class_types_found(t)) {
		class_types_free(t);
		return;
	}
	log_debug("types of variables: %zu pointers, %.1f ms to follow them",
		  class_types_root_count(t), (double)(monotonic_ns() - start) / NS_PER_MS);
	*out = t;
}
