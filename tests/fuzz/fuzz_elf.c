// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: an ELF file of garbage as an object that a target maps: its headers, its unwind table,
 * the allocator's functions in it and the places of their probes, USDT probes, where its thread-local
 * variables are.
 */
#include "tests/fuzz/fuzz.h"

#include "user/probe/probe.h"
#include "user/process/elf_file.h"
#include "user/process/object.h"
#include "user/freeze/tls.h"
#include "user/target/provider.h"
#include "user/target/unwinder.h"
#include "user/target/usdt_notes.h"
#include "user/unwind/table.h"

static void check_segment(const struct unwind_table *table, const struct unwind_segment *segment)
{
	const struct cfi_rules *rules = unwind_table_rules(table);

	for (size_t i = 0; i < segment->row_count; i++) {
		MUST(segment->rows[i].rule < cfi_rules_count(rules));
		MUST(segment->rows[i].vaddr - segment->vaddr < segment->size);
		MUST(i ? segment->rows[i].vaddr > segment->rows[i - 1].vaddr
		       : segment->rows[i].vaddr == segment->vaddr);
	}
	unwind_table_find(table, segment->vaddr + segment->size / 2);
}

static void read_table(int fd)
{
	struct unwind_table *table;

	if (unwind_table_read(fd, -1, (char[REASON_MAX]){0}, &table))
		return;
	for (size_t i = 0; i < unwind_table_segments(table); i++)
		check_segment(table, unwind_table_segment(table, i));
	unwind_table_free(table);
}

static void find_probes(struct object *object, const struct provider_options *options)
{
	struct provider *provider;
	struct probe_set *set;

	if (!provider_find(object, options, &provider) && !probe_set_new(provider, &set)) {
		for (size_t i = 0; i < set->count; i++) {
			MUST(set->probes[i].fn);
			MUST(object_is_code(object, set->probes[i].offset));
		}
		probe_set_free(set);
	}
	if (!unwinder_find(object, &provider))
		provider_free(provider);
}

static void find_usdt(struct object *object)
{
	struct provider *provider;
	struct probe_set *set;

	if (usdt_find(object, &provider) || probe_set_new(provider, &set))
		return;
	MUST(set->count >= 2);
	for (size_t i = 0; i < set->count; i++) {
		MUST(object_is_code(object, set->probes[i].offset));
		MUST(set->probes[i].role == PROBE_USDT_ALLOC ||
		     set->probes[i].role == PROBE_USDT_FREE);
		MUST(set->probes[i].semaphore % 2 == 0);
		MUST(set->probes[i].fn->note->spec.args[0].kind);
	}
	probe_set_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const prefixes[] = {"je_", NULL};
	static const struct alloc_fn custom = {.name = "pool_take",
					       .shown = "pool_take",
					       .op = OP_ALLOC,
					       .size_arg = 1,
					       .throws = true};
	static const struct provider_options usual = {.mmap = true}, named = {.prefixes = prefixes,
									      .custom = &custom,
									      .custom_count = 1};
	_cleanup_close_ int fd = fuzz_file(data, size);
	struct object_cache *cache = object_cache_new();
	struct elf_headers headers;
	struct tls_layout layout;
	struct object *object;
	char path[32];

	if (!elf_headers_read(fd, &headers, (char[REASON_MAX]){0}))
		elf_headers_release(&headers);
	read_table(fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (cache && !object_cache_open(cache, path, &object)) {
		find_probes(object, &usual);
		find_probes(object, &named);
		find_usdt(object);
		if (!tls_layout_read(object, &layout))
			MUST(layout.size &&
			     !(tls_block_of_program(&layout, 0) & (layout.align - 1)));
		object_unref(object);
	}
	if (cache)
		object_cache_free(cache);
	return 0;
}
