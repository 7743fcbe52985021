// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: a core file of garbage, or one that has been changed in a few places. Whatever it says: a reason why it
 * is none, or an image that others can rely on.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "user/corefile/core_file.h"

static void check_maps(const struct maps *maps)
{
	uint64_t end = 0;

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		MUST(m->start >= end && m->start < m->end);
		MUST(m->path);
		end = m->end;
	}
}

/* Every word of it can be read. */
static uint64_t check_regions(const struct memory_image *image)
{
	uint64_t end = 0, sum = 0;

	for (size_t i = 0; i < image->region_count; i++) {
		const struct memory_region *r = &image->regions[i];

		MUST(r->start >= end && r->size && r->start % 8 == 0 && r->size % 8 == 0);
		MUST(r->start + r->size > r->start);
		MUST((uintptr_t)r->words % 8 == 0);
		MUST(r->mapping && r->mapping->read);
		MUST(r->start >= r->mapping->start && r->start + r->size <= r->mapping->end);
		for (uint64_t w = 0; w < r->size / 8; w++)
			sum ^= r->words[w];
		end = r->start + r->size;
	}
	return sum;
}

static void check_threads(const struct memory_image *image)
{
	for (size_t i = 0; i < image->thread_count; i++) {
		MUST(image->threads[i].words);
		MUST(image->threads[i].word_count > 0);
	}
}

static void check_facts(struct core_file *core)
{
	const struct core_facts *facts = core_file_facts(core);
	const char *why;
	size_t missing = 0;

	MUST(facts->objects_found <= facts->objects);
	MUST(memchr(facts->comm, '\0', sizeof(facts->comm)));
	for (; core_file_missing(core, missing, &why); missing++)
		MUST(why && *why);
	MUST(missing == facts->objects - facts->objects_found);
	for (char **argument = facts->cmdline; argument && *argument; argument++)
		MUST(strlen(*argument) < 2u << 20);
}

/* Mapped and copied it is the same. */
static uint64_t look(int fd)
{
	struct core_file_options options = {.root_fd = -1, .objects = object_cache_new()};
	char reason[REASON_MAX] = "";
	struct memory_image *image = NULL;
	struct core_file *core = NULL;
	uint64_t sum = 0;

	if (!options.objects)
		abort();
	if (core_file_open(fd, &options, &core, reason)) {
		MUST(*reason && strlen(reason) < REASON_MAX);
	} else if (core_file_take_memory(core, &image, reason)) {
		MUST(*reason && strlen(reason) < REASON_MAX);
	} else {
		check_maps(image->maps);
		sum = check_regions(image);
		check_threads(image);
		check_facts(core);
	}
	memory_image_free(image);
	core_file_free(core);
	object_cache_free(options.objects);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_file(data, size);
	uint64_t mapped;

	if (fchmod(fd, 0600))
		abort();
	mapped = look(fd);
	if (fchmod(fd, 0666))
		abort();
	MUST(look(fd) == mapped);
	return 0;
}
