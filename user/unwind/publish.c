// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/publish.h"

#include <errno.h>
#include <string.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/unwind/tables.h"

/* The mappings of one or several targets. */
struct set {
	uint32_t first; /* word; the key */
	uint32_t words;
	uint32_t mappings;
	size_t refs; /* targets */
	struct table_entry **entries;
	size_t entry_count;
	struct set *next; /* among those that wait to be freed */
	UT_hash_handle hh;
};

/* Tables that wait for a program to map them. */
struct held {
	struct table_entry *entry;
	struct held *next;
};

struct target {
	uint32_t id;
	struct set *set;
	struct held *held;
	UT_hash_handle hh;
};

struct unwind_publisher {
	struct unwind_backend backend;
	struct unwind_space *space;
	struct unwind_tables *tables;
	struct set *sets;
	struct target *targets;
	struct unwind_target own; /* the row of UNWIND_OWN_TARGET */
	/* without a target: since lately, and since before the last reclaim */
	struct set *unused, *waiting;
};

int unwind_publisher_new(const struct unwind_backend *backend, struct unwind_publisher **out)
{
	struct unwind_publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->space = unwind_space_new(&backend->chunks);
	p->backend = *backend;
	p->tables = p->space ? unwind_tables_new(&p->backend, p->space) : NULL;
	if (!p->tables) {
		unwind_space_free(p->space);
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

/* Describes one range for the unwinder. */
static struct unwind_mapping publish_describe(const struct image_range *range,
					      const struct table_entry *entry)
{
	struct unwind_mapping m = {.end = range->end, .base = range->start};
	uint64_t length = range->end - range->start;

	if (!entry)
		return m;
	m.object = (uint32_t)entry->id;
	m.base = range->start - range->offset;
	for (size_t i = 0; i < entry->count; i++) {
		const struct table_segment *s = &entry->segments[i];

		if (range->offset >= s->offset + s->size || s->offset >= range->offset + length)
			continue;
		m.base += s->delta;
		m.directory = s->pages.directory;
		m.pages = s->pages.pages;
		break;
	}
	return m;
}

static void set_free(struct unwind_publisher *p, struct set *set)
{
	if (set->first) {
		HASH_DEL(p->sets, set);
		unwind_space_give(p->space, set->first, set->words);
	}
	for (size_t i = 0; i < set->entry_count; i++)
		unwind_tables_unref(p->tables, set->entries[i]);
	free(set->entries);
	free(set);
}

static void set_unref(struct unwind_publisher *p, struct set *set)
{
	if (!set || --set->refs)
		return;
	set->next = p->unused;
	p->unused = set;
}

/* Gets all objects of an image; the ranges' mappings go to out[]. */
static int publish_describe_image(struct unwind_publisher *p, const struct image *image,
				  struct set *set, struct unwind_mapping *out)
{
	for (uint32_t i = 0; i < set->mappings; i++) {
		const struct image_range *range = image_range_at(image, i);
		struct table_entry *entry = NULL;
		int err;

		if (range->object) {
			err = unwind_tables_get(p->tables, range->object, &entry);
			if (err)
				return err;
			set->entries[set->entry_count++] = entry;
		}
		out[i] = publish_describe(range, entry);
	}
	return 0;
}

static int set_write(struct unwind_publisher *p, const struct image *image, struct set *set)
{
	_cleanup_free_ struct unwind_mapping *mappings = calloc(set->mappings, sizeof(*mappings));
	size_t starts =
		((size_t)set->mappings * 8 + UNWIND_SET_ALIGN - 1) & ~(UNWIND_SET_ALIGN - 1);
	uint8_t *to;
	int err;

	set->entries = calloc(set->mappings, sizeof(*set->entries));
	if (!mappings || !set->entries)
		return -ENOMEM;
	err = publish_describe_image(p, image, set, mappings);
	if (err)
		return err;
	set->words = (uint32_t)((starts + set->mappings * sizeof(*mappings)) / 4);
	err = unwind_space_take(p->space, set->words, &set->first);
	if (err) {
		set->first = 0;
		return err;
	}
	to = (uint8_t *)unwind_space_at(p->space, set->first);
	for (uint32_t i = 0; i < set->mappings; i++)
		((uint64_t *)to)[i] = image_range_at(image, i)->start;
	memcpy(to + starts, mappings, set->mappings * sizeof(*mappings));
	HASH_ADD(hh, p->sets, first, sizeof(set->first), set);
	if (!set->hh.tbl) {
		unwind_space_give(p->space, set->first, set->words);
		set->first = 0;
		return -ENOMEM;
	}
	return 0;
}

/* NULL when out of memory. */
static struct target *target_get(struct unwind_publisher *p, uint32_t id)
{
	struct target *target;

	HASH_FIND(hh, p->targets, &id, sizeof(id), target);
	if (target)
		return target;
	target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	target->id = id;
	HASH_ADD(hh, p->targets, id, sizeof(target->id), target);
	if (!target->hh.tbl) {
		free(target);
		return NULL;
	}
	return target;
}

static struct unwind_target *publish_row_of(struct unwind_publisher *p, uint32_t id)
{
	return id == UNWIND_OWN_TARGET ? &p->own : &p->backend.targets[id % ABI_TARGET_SLOTS];
}

/* Claims the row for the target; from here on the kernel side counts in it. */
static struct unwind_target *row_claim(struct unwind_publisher *p, const struct target *target)
{
	struct unwind_target *row = publish_row_of(p, target->id);

	if (row->target_id != target->id) {
		__atomic_store_n(&row->set, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&row->target_id, target->id, __ATOMIC_RELEASE);
	}
	return row;
}

/* The kernel side reads the set in one piece. `valid_from`: see struct unwind_target. */
static void row_switch(struct unwind_target *row, uint64_t set, uint32_t valid_from)
{
	__atomic_store_n(&row->valid_from, valid_from, __ATOMIC_RELEASE);
	__atomic_store_n(&row->set, set, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&row->generation, 1, __ATOMIC_RELEASE);
}

/* Switches a target over to a set, or to none. */
static void target_switch(struct unwind_publisher *p, struct target *target, struct set *set,
			  uint32_t valid_from)
{
	struct set *old = target->set;

	row_switch(row_claim(p, target), set ? set->first | (uint64_t)set->mappings << 32 : 0,
		   valid_from);
	target->set = set;
	set_unref(p, old);
}

static uint32_t publish_unmarked(struct unwind_publisher *p, const struct target *target)
{
	return __atomic_load_n(&publish_row_of(p, target->id)->unmarked, __ATOMIC_SEQ_CST);
}

/*
 * Makes the set of an image, with the tables of all objects in it; NULL in *out for an image
 * without code. Logs failures.
 */
static int set_new(struct unwind_publisher *p, const struct image *image, struct set **out)
{
	size_t count = image_range_count(image);
	struct set *set;
	int err = -ENOMEM;

	*out = NULL;
	if (!count)
		return 0;
	if (count > UNWIND_MAX_MAPPINGS) {
		log_warn("process %d: %zu executable mappings; stacks will be complete in the "
			 "first %u",
			 image_pid(image), count, UNWIND_MAX_MAPPINGS);
		count = UNWIND_MAX_MAPPINGS;
	}
	set = calloc(1, sizeof(*set));
	if (set) {
		set->refs = 1;
		set->mappings = (uint32_t)count;
		err = set_write(p, image, set);
	}
	if (err) {
		if (set)
			set_free(p, set);
		return log_errno(err, "process %d: cannot load unwind tables", image_pid(image));
	}
	*out = set;
	return 0;
}

int unwind_publisher_set(struct unwind_publisher *publisher, uint32_t target_id,
			 const struct image *image)
{
	struct target *target = target_get(publisher, target_id);
	struct set *set;
	int err;

	if (!target)
		return log_errno(ENOMEM, "process %d: unwind tables", image_pid(image));
	err = set_new(publisher, image, &set);
	if (!err)
		target_switch(publisher, target, set, publish_unmarked(publisher, target));
	return err;
}

/*
 * Makes the image's set the target's, if nothing has been mapped since `remaps` was read from the
 * row. During that check the target has no set. A walk that meets none asks the kernel, which often
 * cannot say while another thread maps memory. -EAGAIN: the old set is in use again, with its
 * marks.
 */
static int target_replace(struct unwind_publisher *p, struct target *target, struct set *set,
			  uint32_t remaps)
{
	struct unwind_target *row = publish_row_of(p, target->id);
	uint64_t before = row->set;
	uint32_t valid_from = row->valid_from, unmarked;

	row_switch(row, 0, valid_from);
	/* In this order: what the kernel side counts from here on, it counts as unmarked, too. */
	unmarked = publish_unmarked(p, target);
	if (__atomic_load_n(&row->remaps, __ATOMIC_SEQ_CST) != remaps) {
		row_switch(row, before, valid_from);
		return -EAGAIN;
	}
	target_switch(p, target, set, unmarked);
	return 0;
}

/* So many tries, for a process that maps memory all the time. */
#define SYNC_TRIES 4

int unwind_publisher_sync(struct unwind_publisher *publisher, uint32_t target_id,
			  struct image *image)
{
	struct target *target = target_get(publisher, target_id);
	uint64_t generation = image_generation(image);
	struct unwind_target *row;
	struct set *set, *known;
	int err;

	if (!target)
		return log_errno(ENOMEM, "process %d: unwind tables", image_pid(image));
	/* This takes long. */
	err = set_new(publisher, image, &set);
	if (err)
		return err;
	row = row_claim(publisher, target);
	for (int tries = 1; tries <= SYNC_TRIES; tries++) {
		uint32_t remaps = __atomic_load_n(&row->remaps, __ATOMIC_SEQ_CST);

		image_refresh(image); /* a dead process leaves it as it is */
		if (image_generation(image) != generation) {
			generation = image_generation(image);
			known = set;
			err = set_new(publisher, image, &set);
			if (known)
				set_free(publisher, known);
			if (err)
				return err;
		}
		err = target_replace(publisher, target, set, remaps);
		if (!err)
			return publish_unmarked(publisher, target) == row->valid_from ? 0 : -EAGAIN;
	}
	/*
	 * The new mappings are known at least, so walks can ask for them; but the kernel has to say
	 * where they are.
	 */
	target_switch(publisher, target, set, publish_unmarked(publisher, target) - 1);
	return -EAGAIN;
}

static void set_revive(struct set **list, struct set *set)
{
	for (; *list; list = &(*list)->next) {
		if (*list == set) {
			*list = set->next;
			return;
		}
	}
}

void unwind_publisher_adopt(struct unwind_publisher *p, uint32_t child_id)
{
	const struct unwind_target *row = &p->backend.targets[child_id % ABI_TARGET_SLOTS];
	uint32_t first = (uint32_t)__atomic_load_n(&row->set, __ATOMIC_ACQUIRE);
	struct target *target;
	struct set *set;

	if (row->target_id != child_id || !first)
		return;
	HASH_FIND(hh, p->sets, &first, sizeof(first), set);
	target = set ? target_get(p, child_id) : NULL;
	if (!target || target->set)
		return;
	if (!set->refs) {
		set_revive(&p->unused, set);
		set_revive(&p->waiting, set);
	}
	set->refs++;
	target->set = set;
}

void unwind_publisher_hold(struct unwind_publisher *p, uint32_t target_id, struct object *object)
{
	struct target *target = target_get(p, target_id);
	struct held *held = target ? calloc(1, sizeof(*held)) : NULL;

	if (!held)
		return;
	if (unwind_tables_get(p->tables, object, &held->entry)) {
		log_debug("no unwind tables of %s yet", object_path(object));
		free(held);
		return;
	}
	held->next = target->held;
	target->held = held;
}

void unwind_publisher_drop(struct unwind_publisher *p, uint32_t target_id)
{
	struct unwind_target *row = publish_row_of(p, target_id);
	struct target *target;

	HASH_FIND(hh, p->targets, &target_id, sizeof(target_id), target);
	if (!target)
		return;
	if (row->target_id == target_id) {
		__atomic_store_n(&row->set, 0, __ATOMIC_RELEASE);
		__atomic_fetch_add(&row->generation, 1, __ATOMIC_RELEASE);
	}
	set_unref(p, target->set);
	while (target->held) {
		struct held *held = target->held;

		target->held = held->next;
		unwind_tables_unref(p->tables, held->entry);
		free(held);
	}
	HASH_DEL(p->targets, target);
	free(target);
}

void unwind_publisher_wait(struct unwind_publisher *p)
{
	if (p->backend.wait)
		p->backend.wait(p->backend.arg);
}

void unwind_publisher_reclaim(struct unwind_publisher *p)
{
	struct set *waiting = p->waiting;

	if (!unwind_tables_leaving(p->tables) && !waiting && !p->unused)
		return;
	if (unwind_tables_leaving(p->tables) || waiting)
		unwind_publisher_wait(p);
	unwind_tables_reclaim(p->tables);
	p->waiting = p->unused;
	p->unused = NULL;
	while (waiting) {
		struct set *next = waiting->next;

		set_free(p, waiting);
		waiting = next;
	}
	unwind_space_trim(p->space);
}

void unwind_publisher_free(struct unwind_publisher *p)
{
	struct target *target, *tmp;

	if (!p)
		return;
	/* What is given back here nobody takes again: no program can meet anything else in its place. */
	p->backend.wait = NULL;
	HASH_ITER (hh, p->targets, target, tmp)
		unwind_publisher_drop(p, target->id);
	while (p->unused || p->waiting)
		unwind_publisher_reclaim(p);
	unwind_tables_free(p->tables);
	unwind_space_free(p->space);
	if (p->backend.free)
		p->backend.free(p->backend.arg);
	free(p);
}

const struct unwind_rule *unwind_publisher_rules(const struct unwind_publisher *p)
{
	return p->backend.rules;
}

const struct unwind_target *unwind_publisher_own_target(const struct unwind_publisher *p)
{
	return &p->own;
}

const void *unwind_publisher_chunk(const struct unwind_publisher *p, uint32_t word)
{
	return unwind_space_chunk(p->space, word / UNWIND_CHUNK_WORDS);
}

bool unwind_publisher_has_tables(const struct unwind_publisher *p)
{
	return !p->backend.no_tables;
}

void unwind_publisher_stats(const struct unwind_publisher *p, struct unwind_publisher_stats *out)
{
	*out = (struct unwind_publisher_stats){
		.sets = HASH_COUNT(p->sets),
		.targets = HASH_COUNT(p->targets),
		.bytes = unwind_space_used(p->space) * 4,
		.chunk_bytes = unwind_space_chunks(p->space) * UNWIND_CHUNK_BYTES,
	};
	unwind_tables_stats(p->tables, out);
}
