// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utlist.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/page.h"
#include "user/base/util.h"
#include "user/unwind/publish.h"

/* A segment that waits for walks in progress before its space is used again. */
struct leaving {
	struct unwind_pages pages;
	struct leaving *next;
};

struct unwind_tables {
	const struct unwind_backend *backend;
	struct unwind_space *space;
	struct cfi_rules *rules; /* of all objects; never shrinks */
	bool rules_full;
	struct table_entry *entries; /* uthash by id */
	struct table_entry *idle;    /* without users, the oldest first */
	size_t idle_count, idle_rows;
	struct leaving *leaving;
	uint64_t build_ns;
};

struct unwind_tables *unwind_tables_new(const struct unwind_backend *backend,
					struct unwind_space *space)
{
	struct unwind_tables *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->backend = backend;
	t->space = space;
	t->rules = cfi_rules_new();
	if (!t->rules) {
		free(t);
		return NULL;
	}
	for (size_t i = 0; i < cfi_rules_count(t->rules); i++)
		backend->rules[i] = *cfi_rules_at(t->rules, i);
	return t;
}

/* Removes an object's tables. Their space stays taken until the next reclaim. */
static void tables_entry_free(struct unwind_tables *t, struct table_entry *entry)
{
	HASH_DEL(t->entries, entry);
	if (entry->announced)
		t->backend->put_object(t->backend->arg, &entry->key, NULL);
	for (size_t i = 0; i < entry->count; i++) {
		struct leaving *leaving = malloc(sizeof(*leaving));

		if (!leaving) {
			/* Better to wait here than to leak. */
			if (t->backend->wait)
				t->backend->wait(t->backend->arg);
			unwind_pages_free(t->space, &entry->segments[i].pages);
			continue;
		}
		leaving->pages = entry->segments[i].pages;
		leaving->next = t->leaving;
		t->leaving = leaving;
	}
	object_unref(entry->object);
	free(entry->segments);
	free(entry);
}

static void tables_idle_add(struct unwind_tables *t, struct table_entry *entry)
{
	DL_APPEND2(t->idle, entry, idle_before, idle_after);
	t->idle_count++;
	t->idle_rows += entry->rows;
}

static void tables_idle_remove(struct unwind_tables *t, struct table_entry *entry)
{
	DL_DELETE2(t->idle, entry, idle_before, idle_after);
	t->idle_count--;
	t->idle_rows -= entry->rows;
}

/* Frees the oldest idle tables until no more than that are kept. */
static void tables_idle_limit(struct unwind_tables *t, size_t count, size_t rows)
{
	while (t->idle && (t->idle_count > count || t->idle_rows > rows)) {
		struct table_entry *entry = t->idle;

		tables_idle_remove(t, entry);
		tables_entry_free(t, entry);
	}
}

void unwind_tables_unref(struct unwind_tables *t, struct table_entry *entry)
{
	if (--entry->refs)
		return;
	tables_idle_add(t, entry);
	tables_idle_limit(t, TABLES_IDLE_OBJECTS, TABLES_IDLE_ROWS);
}

/*
 * Opens the separate debug file by build-id, where distributions install it; -1 when there is none.
 */
static int tables_open_debug_file(const struct object *object)
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
static int tables_translate_rules(struct unwind_tables *t, const struct unwind_table *table,
				  uint16_t **out)
{
	const struct cfi_rules *rules = unwind_table_rules(table);
	size_t count = cfi_rules_count(rules);
	uint16_t *numbers = calloc(count, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t before = cfi_rules_count(t->rules);
		int number = cfi_rules_add(t->rules, cfi_rules_at(rules, i));

		if (number < 0) {
			free(numbers);
			return number;
		}
		if ((size_t)number == before)
			t->backend->rules[number] = *cfi_rules_at(rules, i);
		if (number == UNWIND_RULE_UNSUPPORTED && i != UNWIND_RULE_UNSUPPORTED &&
		    !t->rules_full) {
			t->rules_full = true;
			log_warn("more than %u different unwind rules: some stacks will be cut "
				 "short",
				 UNWIND_MAX_RULES);
		}
		numbers[i] = (uint16_t)number;
	}
	*out = numbers;
	return 0;
}

/* Roughly the words that a table's segments will take. */
static size_t tables_space_needed(const struct unwind_table *table)
{
	size_t words = 0;

	for (size_t i = 0; i < unwind_table_segments(table); i++) {
		const struct unwind_segment *s = unwind_table_segment(table, i);

		words += s->row_count + (s->size / UNWIND_PAGE_SIZE + 2) * (UNWIND_PAGE_HEADER + 1);
	}
	return words;
}

static int tables_write_segments(struct unwind_tables *t, const struct unwind_table *table,
				 struct table_entry *entry)
{
	_cleanup_free_ uint16_t *numbers = NULL;
	size_t count = unwind_table_segments(table);
	int err = tables_translate_rules(t, table, &numbers);

	if (err)
		return err;
	entry->segments = calloc(count ? count : 1, sizeof(*entry->segments));
	if (!entry->segments)
		return -ENOMEM;
	err = unwind_space_reserve(t->space, tables_space_needed(table));
	for (size_t i = 0; !err && i < count; i++) {
		const struct unwind_segment *from = unwind_table_segment(table, i);
		struct table_segment *to = &entry->segments[entry->count];

		err = unwind_pages_write(t->space, from, numbers, &to->pages);
		if (err)
			break;
		to->offset = from->offset;
		to->size = from->size;
		to->delta = from->offset - from->vaddr + to->pages.base;
		entry->rows += from->row_count;
		entry->count++;
	}
	return err;
}

struct unwind_object_key unwind_object_key_of(const struct object *object)
{
	uint64_t dev = object_dev(object);

	return (struct unwind_object_key){
		.ino = object_ino(object),
		.dev = (major(dev) << 20) | (minor(dev) & 0xfffff),
	};
}

/* Tells the kernel side about the file, which it may meet in a mapping that we do not know yet. */
static void tables_announce(struct unwind_tables *t, const struct object *object,
			    struct table_entry *entry)
{
	struct unwind_object value = {.id = (uint32_t)entry->id};

	if (!t->backend->put_object || object_is_vdso(object) || !entry->count ||
	    entry->count > UNWIND_OBJECT_SEGMENTS)
		return;
	entry->key = unwind_object_key_of(object);
	for (size_t i = 0; i < entry->count; i++) {
		const struct table_segment *s = &entry->segments[i];

		value.segments[i] = (struct unwind_object_segment){
			.offset = page_down(s->offset, page_size()),
			.end = page_up(s->offset + s->size, page_size()),
			.delta = s->delta,
			.directory = s->pages.directory,
			.pages = s->pages.pages,
		};
	}
	entry->announced = t->backend->put_object(t->backend->arg, &entry->key, &value) == 0;
}

static int tables_build_entry(struct unwind_tables *t, struct object *object,
			      struct table_entry *entry)
{
	_cleanup_close_ int debug_fd = tables_open_debug_file(object);
	struct unwind_table *table;
	uint64_t start = monotonic_ns();
	char reason[REASON_MAX];
	int err = unwind_table_read(object_fd(object), debug_fd, reason, &table);

	if (err == -ENOMEM)
		return err;
	if (err == -EFBIG)
		object_say_refused(object, ELF_FOR_FRAMES, reason);
	if (err) {
		log_debug("%s: no unwind tables: %s", object_path(object), strerror(-err));
		return 0;
	}
	err = tables_write_segments(t, table, entry);
	unwind_table_free(table);
	t->build_ns += monotonic_ns() - start;
	log_debug("%s: %zu unwind rows in %.1f ms", object_path(object), entry->rows,
		  (double)(monotonic_ns() - start) / NS_PER_MS);
	return err;
}

int unwind_tables_get(struct unwind_tables *t, struct object *object, struct table_entry **out)
{
	uint64_t id = object_id(object);
	struct table_entry *entry;
	int err;

	HASH_FIND(hh, t->entries, &id, sizeof(id), entry);
	if (entry) {
		if (!entry->refs++)
			tables_idle_remove(t, entry);
		*out = entry;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->id = id;
	entry->refs = 1;
	HASH_ADD(hh, t->entries, id, sizeof(entry->id), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	entry->object = object_ref(object);
	err = t->backend->no_tables ? 0 : tables_build_entry(t, object, entry);
	if (err) {
		tables_entry_free(t, entry);
		return err;
	}
	tables_announce(t, object, entry);
	*out = entry;
	return 0;
}

bool unwind_tables_leaving(const struct unwind_tables *t)
{
	return t->leaving;
}

void unwind_tables_reclaim(struct unwind_tables *t)
{
	while (t->leaving) {
		struct leaving *next = t->leaving->next;

		unwind_pages_free(t->space, &t->leaving->pages);
		free(t->leaving);
		t->leaving = next;
	}
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	tables_idle_limit(t, 0, 0);
	unwind_tables_reclaim(t);
	cfi_rules_free(t->rules);
	free(t);
}

void unwind_tables_stats(const struct unwind_tables *t, struct unwind_publisher_stats *out)
{
	const struct table_entry *entry;

	out->objects = HASH_COUNT(t->entries);
	out->rules = cfi_rules_count(t->rules);
	out->build_ns = t->build_ns;
	out->rows = 0;
	for (entry = t->entries; entry; entry = entry->hh.next)
		out->rows += entry->rows;
}
