// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/unwind/pages.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define PAGE 4096ull

/* One executable segment of an object, in the word space. */
struct segment {
	uint64_t offset, size; /* of the file */
	uint64_t delta;	       /* unwind_object_segment.delta */
	struct unwind_pages pages;
};

/* An object's tables. */
struct entry {
	uint64_t id; /* object_id(): the key */
	size_t refs; /* sets that mention it */
	struct unwind_object_key key;
	bool announced; /* to put_object */
	struct segment *segments;
	size_t count, rows;
	UT_hash_handle hh;
};

/* The mappings of one or several targets. */
struct set {
	uint32_t first; /* word; the key */
	uint32_t words;
	uint32_t mappings;
	size_t refs; /* targets */
	struct entry **entries;
	size_t entry_count;
	struct set *next; /* among those that wait to be freed */
	UT_hash_handle hh;
};

/* Tables that wait for a program to map them. */
struct held {
	struct entry *entry;
	struct held *next;
};

struct target {
	uint32_t id;
	struct set *set;
	struct held *held;
	UT_hash_handle hh;
};

/* A segment that waits for walks in progress before its space is used again. */
struct leaving {
	struct unwind_pages pages;
	struct leaving *next;
};

struct unwind_publisher {
	struct unwind_backend backend;
	struct unwind_space *space;
	struct cfi_rules *rules; /* of all objects; never shrinks */
	bool rules_full;
	struct entry *entries;
	struct set *sets;
	struct target *targets;
	struct set *unused,
		*waiting; /* no target has them: since lately, and since before the last reclaim */
	struct leaving *leaving;
	uint64_t build_ns;
};

int unwind_publisher_new(const struct unwind_backend *backend, struct unwind_publisher **out)
{
	struct unwind_publisher *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->rules = cfi_rules_new();
	p->space = unwind_space_new(&backend->chunks);
	if (!p->rules || !p->space) {
		cfi_rules_free(p->rules);
		unwind_space_free(p->space);
		free(p);
		return -ENOMEM;
	}
	p->backend = *backend;
	for (size_t i = 0; i < cfi_rules_count(p->rules); i++)
		p->backend.rules[i] = *cfi_rules_at(p->rules, i);
	*out = p;
	return 0;
}

/* Removes an object's tables. Their space stays taken until the next reclaim. */
static void entry_free(struct unwind_publisher *p, struct entry *entry)
{
	HASH_DEL(p->entries, entry);
	if (entry->announced)
		p->backend.put_object(p->backend.arg, &entry->key, NULL);
	for (size_t i = 0; i < entry->count; i++) {
		struct leaving *leaving = malloc(sizeof(*leaving));

		if (!leaving) {
			/* Better to wait here than to leak. */
			if (p->backend.wait)
				p->backend.wait(p->backend.arg);
			unwind_pages_free(p->space, &entry->segments[i].pages);
			continue;
		}
		leaving->pages = entry->segments[i].pages;
		leaving->next = p->leaving;
		p->leaving = leaving;
	}
	free(entry->segments);
	free(entry);
}

static void entry_unref(struct unwind_publisher *p, struct entry *entry)
{
	if (--entry->refs == 0)
		entry_free(p, entry);
}

/* The separate debug file by build-id, where distributions install it; -1 when there is none. */
static int open_debug_file(const struct object *object)
{
	size_t len, n;
	const uint8_t *id = object_build_id(object, &len);
	char path[256];
	struct stat st;
	int fd;

	if (!id || len < 2 || len > 64)
		return -1;
	n = (size_t)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < len; i++)
		n += (size_t)snprintf(path + n, sizeof(path) - n, "%02x", id[i]);
	snprintf(path + n, sizeof(path) - n, ".debug");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The publisher's numbers for a table's rules. */
static int translate_rules(struct unwind_publisher *p, const struct unwind_table *table,
			   uint16_t **out)
{
	const struct cfi_rules *rules = unwind_table_rules(table);
	size_t count = cfi_rules_count(rules);
	uint16_t *numbers = calloc(count, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t before = cfi_rules_count(p->rules);
		int number = cfi_rules_add(p->rules, cfi_rules_at(rules, i));

		if (number < 0) {
			free(numbers);
			return number;
		}
		if ((size_t)number == before)
			p->backend.rules[number] = *cfi_rules_at(rules, i);
		if (number == UNWIND_RULE_UNSUPPORTED && i != UNWIND_RULE_UNSUPPORTED &&
		    !p->rules_full) {
			p->rules_full = true;
			log_warn("more than %u different unwind rules: some stacks will be cut "
				 "short",
				 UNWIND_MAX_RULES);
		}
		numbers[i] = (uint16_t)number;
	}
	*out = numbers;
	return 0;
}

static int write_segments(struct unwind_publisher *p, const struct unwind_table *table,
			  struct entry *entry)
{
	_cleanup_free_ uint16_t *numbers = NULL;
	size_t count = unwind_table_segments(table);
	int err = translate_rules(p, table, &numbers);

	if (err)
		return err;
	entry->segments = calloc(count ? count : 1, sizeof(*entry->segments));
	if (!entry->segments)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct unwind_segment *from = unwind_table_segment(table, i);
		struct segment *to = &entry->segments[entry->count];

		err = unwind_pages_write(p->space, from, numbers, &to->pages);
		if (err)
			return err;
		to->offset = from->offset;
		to->size = from->size;
		to->delta = from->offset - from->vaddr + to->pages.base;
		entry->rows += from->row_count;
		entry->count++;
	}
	return 0;
}

/* Tells the kernel side, which may meet the file in a mapping that we do not know yet. */
static void announce(struct unwind_publisher *p, const struct object *object, struct entry *entry)
{
	uint64_t dev = object_dev(object);
	struct unwind_object value = {.id = (uint32_t)entry->id};

	if (!p->backend.put_object || object_is_vdso(object) || !entry->count ||
	    entry->count > UNWIND_OBJECT_SEGMENTS)
		return;
	entry->key.ino = object_ino(object);
	entry->key.dev = (major(dev) << 20) | (minor(dev) & 0xfffff);
	for (size_t i = 0; i < entry->count; i++) {
		const struct segment *s = &entry->segments[i];

		value.segments[i] = (struct unwind_object_segment){
			.offset = s->offset & ~(PAGE - 1),
			.end = (s->offset + s->size + PAGE - 1) & ~(PAGE - 1),
			.delta = s->delta,
			.directory = s->pages.directory,
			.pages = s->pages.pages,
		};
	}
	entry->announced = p->backend.put_object(p->backend.arg, &entry->key, &value) == 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int build_entry(struct unwind_publisher *p, struct object *object, struct entry *entry)
{
	_cleanup_close_ int debug_fd = open_debug_file(object);
	struct unwind_table *table;
	uint64_t start = now_ns();
	int err = unwind_table_read(object_fd(object), debug_fd, &table);

	if (err == -ENOMEM)
		return err;
	if (err) {
		log_debug("%s: no unwind tables: %s", object_path(object), strerror(-err));
		return 0;
	}
	err = write_segments(p, table, entry);
	unwind_table_free(table);
	p->build_ns += now_ns() - start;
	log_debug("%s: %zu unwind rows in %.1f ms", object_path(object), entry->rows,
		  (double)(now_ns() - start) / 1e6);
	return err;
}

/* A new reference to an object's tables, which are built if this is the first. */
static int entry_get(struct unwind_publisher *p, struct object *object, struct entry **out)
{
	uint64_t id = object_id(object);
	struct entry *entry;
	int err;

	HASH_FIND(hh, p->entries, &id, sizeof(id), entry);
	if (entry) {
		entry->refs++;
		*out = entry;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->id = id;
	entry->refs = 1;
	HASH_ADD(hh, p->entries, id, sizeof(entry->id), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	err = build_entry(p, object, entry);
	if (err) {
		entry_unref(p, entry);
		return err;
	}
	announce(p, object, entry);
	*out = entry;
	return 0;
}

/* What the unwinder should know of one range. */
static struct unwind_mapping describe(const struct image_range *range, const struct entry *entry)
{
	struct unwind_mapping m = {.end = range->end, .base = range->start};
	uint64_t length = range->end - range->start;

	if (!entry)
		return m;
	m.object = (uint32_t)entry->id;
	m.base = range->start - range->offset;
	for (size_t i = 0; i < entry->count; i++) {
		const struct segment *s = &entry->segments[i];

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
		entry_unref(p, set->entries[i]);
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
static int describe_image(struct unwind_publisher *p, const struct image *image, struct set *set,
			  struct unwind_mapping *out)
{
	for (uint32_t i = 0; i < set->mappings; i++) {
		const struct image_range *range = image_range_at(image, i);
		struct entry *entry = NULL;
		int err;

		if (range->object) {
			err = entry_get(p, range->object, &entry);
			if (err)
				return err;
			set->entries[set->entry_count++] = entry;
		}
		out[i] = describe(range, entry);
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
	err = describe_image(p, image, set, mappings);
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

/* Switches a target over; the kernel side reads the set in one piece. */
static void target_switch(struct unwind_publisher *p, struct target *target, struct set *set)
{
	struct unwind_target *row = &p->backend.targets[target->id % ABI_TARGET_SLOTS];
	struct set *old = target->set;

	if (row->target_id != target->id) {
		__atomic_store_n(&row->set, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&row->target_id, target->id, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&row->set, set ? set->first | (uint64_t)set->mappings << 32 : 0,
			 __ATOMIC_RELEASE);
	__atomic_fetch_add(&row->generation, 1, __ATOMIC_RELEASE);
	target->set = set;
	set_unref(p, old);
}

int unwind_publisher_set(struct unwind_publisher *publisher, uint32_t target_id,
			 const struct image *image)
{
	struct target *target = target_get(publisher, target_id);
	size_t count = image_range_count(image);
	struct set *set = NULL;
	int err = -ENOMEM;

	if (count > UNWIND_MAX_MAPPINGS) {
		log_warn("process %d: %zu executable mappings; stacks will be complete in the "
			 "first %u",
			 image_pid(image), count, UNWIND_MAX_MAPPINGS);
		count = UNWIND_MAX_MAPPINGS;
	}
	if (target && count) {
		set = calloc(1, sizeof(*set));
		if (set) {
			set->refs = 1;
			set->mappings = (uint32_t)count;
			err = set_write(publisher, image, set);
		}
	}
	if (!target || (count && err)) {
		if (set)
			set_free(publisher, set);
		return log_errno(err, "process %d: cannot load unwind tables", image_pid(image));
	}
	target_switch(publisher, target, set);
	return 0;
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
	if (entry_get(p, object, &held->entry)) {
		log_debug("no unwind tables of %s yet", object_path(object));
		free(held);
		return;
	}
	held->next = target->held;
	target->held = held;
}

void unwind_publisher_drop(struct unwind_publisher *p, uint32_t target_id)
{
	struct unwind_target *row = &p->backend.targets[target_id % ABI_TARGET_SLOTS];
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
		entry_unref(p, held->entry);
		free(held);
	}
	HASH_DEL(p->targets, target);
	free(target);
}

void unwind_publisher_reclaim(struct unwind_publisher *p)
{
	struct leaving *leaving = p->leaving;
	struct set *waiting = p->waiting;

	if (!leaving && !waiting && !p->unused)
		return;
	if ((leaving || waiting) && p->backend.wait)
		p->backend.wait(p->backend.arg);
	p->leaving = NULL;
	while (leaving) {
		struct leaving *next = leaving->next;

		unwind_pages_free(p->space, &leaving->pages);
		free(leaving);
		leaving = next;
	}
	p->waiting = p->unused;
	p->unused = NULL;
	while (waiting) {
		struct set *next = waiting->next;

		set_free(p, waiting);
		waiting = next;
	}
}

void unwind_publisher_free(struct unwind_publisher *p)
{
	struct target *target, *tmp;

	if (!p)
		return;
	HASH_ITER (hh, p->targets, target, tmp)
		unwind_publisher_drop(p, target->id);
	while (p->unused || p->waiting || p->leaving)
		unwind_publisher_reclaim(p);
	unwind_space_free(p->space);
	cfi_rules_free(p->rules);
	if (p->backend.free)
		p->backend.free(p->backend.arg);
	free(p);
}

void unwind_publisher_stats(const struct unwind_publisher *p, struct unwind_publisher_stats *out)
{
	const struct entry *entry;

	*out = (struct unwind_publisher_stats){
		.objects = HASH_COUNT(p->entries),
		.sets = HASH_COUNT(p->sets),
		.targets = HASH_COUNT(p->targets),
		.bytes = unwind_space_used(p->space) * 4,
		.chunk_bytes = unwind_space_chunks(p->space) * UNWIND_CHUNK_BYTES,
		.rules = cfi_rules_count(p->rules),
		.build_ns = p->build_ns,
	};
	for (entry = p->entries; entry; entry = entry->hh.next)
		out->rows += entry->rows;
}
