// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: names, lines, inlined calls and variables from an ELF file of garbage, with its DWARF.
 */
#include "tests/fuzz/fuzz.h"

#include "user/process/object.h"
#include "user/symbol/symbol.h"

#define LOOKUPS 100 /* spread over the file */

static void resolve(struct symbolizer *symbolizer, struct object *object, size_t size)
{
	for (uint64_t offset = 0; offset < size; offset += size / LOOKUPS | 1) {
		struct location location = {.object = object, .offset = offset};
		const struct frame *const *frames;
		size_t count;

		if (symbolizer_resolve(symbolizer, &location, getpid(), offset & 1, &frames,
				       &count))
			continue;
		MUST(count >= 1);
		for (size_t i = 0; i < count; i++) {
			fuzz_must_be_clean(frames[i]->function);
			fuzz_must_be_clean(frames[i]->file);
			fuzz_must_be_clean(frames[i]->module);
		}
	}
}

static void name(struct symbolizer *symbolizer, struct object *object, size_t size)
{
	for (uint64_t at = 0; at < size; at += size / LOOKUPS * 10 | 1) {
		const char *text;
		uint64_t offset;

		if (!symbolizer_name_data(symbolizer, object, at, getpid(), &text, &offset))
			fuzz_must_be_clean(text);
		if (!symbolizer_name_tls(symbolizer, object, at, getpid(), &text, &offset))
			fuzz_must_be_clean(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct symbolizer_options options = {.inlines = true};
	_cleanup_close_ int fd = fuzz_file(data, size);
	struct object_cache *cache = object_cache_new();
	struct symbolizer *symbolizer = symbolizer_new(&options);
	struct object *object;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (cache && symbolizer && !object_cache_open(cache, path, &object)) {
		resolve(symbolizer, object, size);
		name(symbolizer, object, size);
		object_unref(object);
	}
	symbolizer_free(symbolizer);
	if (cache)
		object_cache_free(cache);
	return 0;
}
