// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: a perf map of garbage, read in two parts as a runtime writes it. */
#include "tests/fuzz/fuzz.h"

#include "user/symbol/jit_name.h"
#include "user/symbol/perfmap.h"

/* The parts of a name lie in it, or are words of ours. */
static void take_apart(const char *name, size_t len)
{
	struct jit_name parts = jit_name_parse(name, len);

	MUST((unsigned)parts.kind < FRAME_KINDS && parts.function && parts.function_len);
	MUST(*parts.function == '(' ||
	     (parts.function >= name && parts.function + parts.function_len <= name + len));
	if (parts.file)
		MUST(parts.file > name && parts.file + parts.file_len <= name + len);
	MUST(parts.file || !parts.line);
}

static void ask(struct perfmap *map)
{
	for (int bit = 0; bit < 64; bit++) {
		uint64_t start = 0, address = UINT64_C(1) << bit;
		size_t len = 0;
		const char *name = perfmap_find(map, address, &len, &start);

		if (name) {
			MUST(start <= address && len > 0);
			MUST(!memchr(name, '\n', len));
			take_apart(name, len);
		}
	}
	perfmap_find(map, 0, &(size_t){0}, &(uint64_t){0});
	perfmap_find(map, UINT64_MAX, &(size_t){0}, &(uint64_t){0});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perfmap *map = perfmap_new();
	size_t half = size / 2;
	int fd = fuzz_file(data, half), writer = dup(fd);

	if (!map || writer < 0)
		abort();
	perfmap_set_file(map, fd);
	ask(map);
	if (size > half && write(writer, data + half, size - half) != (ssize_t)(size - half))
		abort();
	ask(map);
	/* And a writer that begins anew. */
	if (ftruncate(writer, (off_t)half / 2))
		abort();
	ask(map);
	close(writer);
	perfmap_free(map);
	return 0;
}
