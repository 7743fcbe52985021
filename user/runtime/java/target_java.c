// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/java/target_java.h"

#include <stdlib.h>

void target_java_free(struct target_java *java)
{
	struct java_code *code, *next;

	HASH_ITER (hh, java->codes, code, next) {
		HASH_DEL(java->codes, code);
		free(code);
	}
	free(java);
}

static bool java_is_library(const struct target_java *java, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < java->library_count; i++) {
		if (start >= java->library[i].start && end <= java->library[i].end)
			return true;
	}
	return false;
}

static size_t java_read(void *ctx, uint64_t address, void *to, size_t size)
{
	struct java_memory *m = ctx;
	bool read = java_is_library(m->java, address, address + size)
			    ? target_memory_read_any(&m->of, address, to, size)
			    : target_memory_read(&m->of, address, to, size);

	return read ? size : 0;
}

int java_memory_open(struct java_memory *m, const struct runtime_target *target)
{
	*m = (struct java_memory){.memory = {java_read, m}, .java = target->states[RUNTIME_JVM]};
	return target_memory_open(&m->of, target->pid);
}

void java_memory_close(struct java_memory *m)
{
	target_memory_close(&m->of);
}
