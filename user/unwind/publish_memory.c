// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/publish_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/abi.h"

struct memory_backend {
	struct unwind_rule rules[UNWIND_MAX_RULES];
	struct unwind_target targets[ABI_TARGET_SLOTS];
};

static void publish_memory_drop(void *arg, const uint32_t *numbers, size_t count, uint32_t **words)
{
	(void)arg, (void)numbers;
	for (size_t i = 0; i < count; i++) {
		free(words[i]);
		words[i] = NULL;
	}
}

static int publish_memory_add(void *arg, const uint32_t *numbers, size_t count, uint32_t **words)
{
	for (size_t i = 0; i < count; i++) {
		words[i] = calloc(1, UNWIND_CHUNK_BYTES);
		if (words[i])
			continue;
		publish_memory_drop(arg, numbers, i, words);
		return -ENOMEM;
	}
	return 0;
}

/* Only the caller itself walks. */
static void publish_memory_wait(void *arg)
{
	(void)arg;
}

int unwind_publisher_new_memory(struct unwind_publisher **out)
{
	struct memory_backend *memory = calloc(1, sizeof(*memory));
	struct unwind_backend backend;
	int err;

	if (!memory)
		return -ENOMEM;
	backend = (struct unwind_backend){
		.chunks = {.add = publish_memory_add, .drop = publish_memory_drop, .arg = memory},
		.rules = memory->rules,
		.targets = memory->targets,
		.wait = publish_memory_wait,
		.arg = memory,
		.free = free,
	};
	err = unwind_publisher_new(&backend, out);
	if (err)
		free(memory);
	return err;
}
