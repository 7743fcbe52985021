// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: a perf map of garbage, read in two parts as a runtime writes it. */
#include "tests/fuzz/fuzz.h"

#include "user/symbol/perfmap.h"

static void ask(struct perfmap *map)
{
	for (int bit = 0; bit < 64; bit++) {
		uint64_t start = 0, address = UINT64_C(1) << bit;
		size_t len = 0;
		const char *name = perfmap_find(map, address, &len, &start);

		if (name) {
			MUST(start <= address && len > 0);
			MUST(!memchr(name, '\n', len));
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
