// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/publish_bpf.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/unwind/publish_first.h"

struct bpf_backend {
	struct unwind_map_fds fds;
	struct first_chunks *first;	  /* NULL: none */
	int chunk_fds[UNWIND_MAX_CHUNKS]; /* -1: does not exist */
	struct unwind_rule *rules;
	struct unwind_target *targets;
};

static void publish_forget_chunks(struct bpf_backend *backend, const uint32_t *numbers,
				  size_t count, uint32_t **words)
{
	for (size_t i = 0; i < count; i++) {
		if (words[i])
			munmap(words[i], UNWIND_CHUNK_BYTES);
		if (backend->chunk_fds[numbers[i]] >= 0)
			close(backend->chunk_fds[numbers[i]]);
		backend->chunk_fds[numbers[i]] = -1;
		words[i] = NULL;
	}
}

/* Of the given ones that are not in their places yet. */
static int publish_enter_chunks(struct bpf_backend *backend, const uint32_t *numbers,
				const int *fds, size_t count)
{
	int err = count ? chunks_enter(backend->fds.chunks, numbers, fds, (uint32_t)count) : 0;

	return err ? log_errno(err, "cannot add a chunk of unwind tables") : 0;
}

/* Makes a chunk. *entered: it is in its place already. */
static int publish_make_chunk(struct bpf_backend *backend, uint32_t number, uint32_t **words,
			      bool *entered)
{
	int fd = backend->first ? first_chunks_take(backend->first, number) : -1;

	*entered = fd >= 0;
	if (fd < 0)
		fd = chunk_new();
	if (fd < 0)
		return log_errno(fd, "cannot create a chunk of unwind tables");
	backend->chunk_fds[number] = fd;
	*words = mmap(NULL, UNWIND_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*words != MAP_FAILED)
		return 0;
	*words = NULL;
	return log_errno(errno, "cannot map a chunk of unwind tables");
}

static int publish_add_chunks(void *arg, const uint32_t *numbers, size_t count, uint32_t **words)
{
	_cleanup_free_ uint32_t *places = calloc(count, sizeof(*places));
	_cleanup_free_ int *fds = calloc(count, sizeof(*fds));
	struct bpf_backend *backend = arg;
	int err = fds && places ? 0 : -ENOMEM;
	size_t left = 0;

	for (size_t i = 0; !err && i < count; i++) {
		bool entered;

		err = publish_make_chunk(backend, numbers[i], &words[i], &entered);
		if (err || entered)
			continue;
		places[left] = numbers[i];
		fds[left++] = backend->chunk_fds[numbers[i]];
	}
	if (!err)
		err = publish_enter_chunks(backend, places, fds, left);
	if (err)
		publish_forget_chunks(backend, numbers, count, words);
	return err;
}

/*
 * Nothing refers to these chunks any more. Batches cannot delete, so the first chunk takes their
 * places. That one is dropped at the end only, and then all go with the map that holds them.
 */
static void publish_drop_chunks(void *arg, const uint32_t *numbers, size_t count, uint32_t **words)
{
	_cleanup_free_ int *fds = calloc(count, sizeof(*fds));
	struct bpf_backend *backend = arg;

	if (numbers[0] && backend->chunk_fds[0] >= 0 && fds) {
		for (size_t i = 0; i < count; i++)
			fds[i] = backend->chunk_fds[0];
		publish_enter_chunks(backend, numbers, fds, count);
	}
	publish_forget_chunks(backend, numbers, count, words);
}

static int publish_put_object(void *arg, const struct unwind_object_key *key,
			      const struct unwind_object *object)
{
	struct bpf_backend *backend = arg;
	int err = object ? bpf_map_update_elem(backend->fds.objects, key, object, BPF_ANY)
			 : bpf_map_delete_elem(backend->fds.objects, key);

	return err ? -errno : 0;
}

/*
 * An update of a map of maps returns only after all programs that could still see the old inner map
 * have ended. The kernel promises that to user space. Here the new map is the old one.
 */
static void publish_wait_for_programs(void *arg)
{
	struct bpf_backend *backend = arg;
	uint32_t number = 0;

	if (backend->chunk_fds[0] >= 0)
		bpf_map_update_elem(backend->fds.chunks, &number, &backend->chunk_fds[0], BPF_ANY);
}

static size_t publish_page_align(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

#define RULES_SIZE   (UNWIND_MAX_RULES * sizeof(struct unwind_rule))
#define TARGETS_SIZE (ABI_TARGET_SLOTS * sizeof(struct unwind_target))

static void publish_free_backend(void *arg)
{
	struct bpf_backend *backend = arg;

	first_chunks_free(backend->first);
	if (backend->rules)
		munmap(backend->rules, publish_page_align(RULES_SIZE));
	if (backend->targets)
		munmap(backend->targets, publish_page_align(TARGETS_SIZE));
	free(backend);
}

static void *publish_map_array(int fd, size_t size)
{
	void *memory =
		mmap(NULL, publish_page_align(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int unwind_publisher_new_bpf(const struct unwind_map_fds *fds, struct first_chunks *first,
			     bool no_tables, struct unwind_publisher **out)
{
	struct bpf_backend *backend = calloc(1, sizeof(*backend));
	struct unwind_backend operations = {
		.chunks = {.add = publish_add_chunks, .drop = publish_drop_chunks, .arg = backend},
		.no_tables = no_tables,
		.put_object = publish_put_object,
		.wait = publish_wait_for_programs,
		.arg = backend,
		.free = publish_free_backend,
	};
	int err;

	if (!backend) {
		first_chunks_free(first);
		return log_errno(ENOMEM, "unwind tables");
	}
	backend->fds = *fds;
	backend->first = first;
	memset(backend->chunk_fds, 0xff, sizeof(backend->chunk_fds));
	backend->rules = publish_map_array(fds->rules, RULES_SIZE);
	backend->targets = backend->rules ? publish_map_array(fds->targets, TARGETS_SIZE) : NULL;
	if (!backend->targets) {
		err = log_errno(errno, "cannot map the unwind tables");
		publish_free_backend(backend);
		return err;
	}
	operations.rules = backend->rules;
	operations.targets = backend->targets;
	err = unwind_publisher_new(&operations, out);
	if (err) {
		publish_free_backend(backend);
		return log_errno(err, "unwind tables");
	}
	return 0;
}
