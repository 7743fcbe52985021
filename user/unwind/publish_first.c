// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/publish_first.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/unwind_abi.h"

struct first_chunks {
	int map, chunks[FIRST_CHUNKS];
	pthread_t thread;
	bool running;
	int err;
};

int chunk_new(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t),
				UNWIND_CHUNK_BYTES, 1, &opts);

	return fd < 0 ? -errno : fd;
}

int chunks_enter(int map, const uint32_t *numbers, const int *chunks, uint32_t count)
{
	uint32_t done = count;

	if (count > 1 && !bpf_map_update_batch(map, numbers, chunks, &done, NULL))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		if (bpf_map_update_elem(map, &numbers[i], &chunks[i], BPF_ANY))
			return -errno;
	}
	return 0;
}

static void *first_chunks_enter(void *arg)
{
	struct first_chunks *first = arg;
	uint32_t numbers[FIRST_CHUNKS];

	for (uint32_t i = 0; i < FIRST_CHUNKS; i++)
		numbers[i] = i;
	first->err = chunks_enter(first->map, numbers, first->chunks, FIRST_CHUNKS);
	return NULL;
}

/* Signals are the main thread's, which obeys them at once or has them blocked. */
static bool first_chunks_start(struct first_chunks *first)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	first->running = !pthread_create(&first->thread, NULL, first_chunks_enter, first);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return first->running;
}

struct first_chunks *first_chunks_begin(void)
{
	struct first_chunks *first = calloc(1, sizeof(*first));
	LIBBPF_OPTS(bpf_map_create_opts, opts);
	bool made = true;

	if (!first)
		return NULL;
	first->map = -1;
	for (size_t i = 0; i < FIRST_CHUNKS; i++) {
		first->chunks[i] = made ? chunk_new() : -1;
		made = first->chunks[i] >= 0;
	}
	if (made) {
		opts.inner_map_fd = (uint32_t)first->chunks[0];
		first->map = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "unwind_chunks",
					    sizeof(uint32_t), sizeof(uint32_t), UNWIND_MAX_CHUNKS,
					    &opts);
	}
	if (first->map >= 0 && first_chunks_start(first))
		return first;
	first_chunks_free(first);
	return NULL;
}

int first_chunks_map(const struct first_chunks *first)
{
	return first->map;
}

static void first_chunks_wait(struct first_chunks *first)
{
	if (first->running)
		pthread_join(first->thread, NULL);
	first->running = false;
}

int first_chunks_take(struct first_chunks *first, uint32_t number)
{
	int fd;

	first_chunks_wait(first);
	if (number >= FIRST_CHUNKS || first->err)
		return -1;
	fd = first->chunks[number];
	first->chunks[number] = -1;
	return fd;
}

void first_chunks_free(struct first_chunks *first)
{
	if (!first)
		return;
	first_chunks_wait(first);
	for (size_t i = 0; i < FIRST_CHUNKS; i++) {
		if (first->chunks[i] >= 0)
			close(first->chunks[i]);
	}
	if (first->map >= 0)
		close(first->map);
	free(first);
}
