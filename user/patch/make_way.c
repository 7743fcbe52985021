// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/make_way.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/gate/leftover.h"
#include "user/process/proc.h"

/* ---- one process -------------------------------------------------------------------------- */

/* Do all probes of the function sit on its first byte? */
static bool way_is_at_first(const struct probe_set *set, const struct provider_fn *fn)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct probe *probe = &set->probes[i];

		if (probe->fn == fn && probe->offset != fn->offset)
			return false;
	}
	return true;
}

/* The functions that the range maps, and their first bytes. */
static size_t way_list_entries(const struct probe_set *set, const struct image_range *range,
			       struct gate_entry *entries)
{
	const struct provider *provider = set->provider;
	size_t n = 0;

	for (size_t i = 0; i < provider->count; i++) {
		uint64_t at = provider->fns[i].offset - range->offset;
		uint64_t left = range->end - range->start - at;
		struct gate_entry *entry = &entries[n];
		ssize_t got;

		if (provider->fns[i].offset < range->offset || at >= range->end - range->start)
			continue;
		got = pread(object_fd(provider->object), entry->file,
			    left < GATE_ENTRY_MAX ? left : GATE_ENTRY_MAX,
			    (off_t)provider->fns[i].offset);
		entry->address = range->start + at;
		entry->size = got > 0 ? (size_t)got : 0;
		entry->at_first = way_is_at_first(set, &provider->fns[i]);
		n += got > 0;
	}
	return n;
}

/* 1, 0, or -errno with the reason. */
static int way_has_pages(pid_t pid, char reason[static REASON_MAX])
{
	struct maps *maps;
	int has = maps_read(pid, &maps);

	if (has)
		return refuse(reason, has, "its mappings cannot be read: %s", strerror(-has));
	for (size_t i = 0; i < maps_count(maps) && !has; i++)
		has = !strcmp(maps_at(maps, i)->path, GATE_PATH) ||
		      !strcmp(maps_at(maps, i)->path, GATE_GUARD_PATH);
	maps_free(maps);
	return has;
}

static int way_clear(const struct image *image, const struct probe_set *set,
		     char reason[static REASON_MAX])
{
	const struct provider *provider = set->provider;
	_cleanup_free_ struct gate_entry *entries = calloc(provider->count + 1, sizeof(*entries));
	int err = 0;

	if (!entries)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; i < image_range_count(image) && !err; i++) {
		const struct image_range *range = image_range_at(image, i);

		if (range->object == provider->object)
			err = gate_make_way(image_pid(image), entries,
					    way_list_entries(set, range, entries), reason);
	}
	return err;
}

int make_way_in(const struct image *image, const struct probe_set *set,
		char reason[static REASON_MAX])
{
	int has = way_has_pages(image_pid(image), reason);

	return has > 0 ? way_clear(image, set, reason) : has;
}

/* ---- all of them -------------------------------------------------------------------------- */

struct way_search {
	struct object_cache *objects;
	const struct probe_set *set;
	char *reason;
};

static int way_in_process(struct way_search *search, pid_t pid, char reason[static REASON_MAX])
{
	struct image *image;
	int err = way_has_pages(pid, reason);

	if (err <= 0)
		return err;
	err = image_new(pid, search->objects, &image);
	if (err)
		return refuse(reason, err, "its mappings cannot be read: %s", strerror(-err));
	err = way_clear(image, search->set, reason);
	image_free(image);
	return err;
}

static int way_visit(void *ctx, pid_t pid)
{
	struct way_search *search = ctx;
	char why[REASON_MAX] = "", comm[17] = "";
	int err = way_in_process(search, pid, why);

	/*
	 * What has ended meanwhile has no gate any more. Who may not be looked at could not have got
	 * one from anybody with our rights.
	 */
	if (!err || err == -ESRCH || err == -EACCES || err == -EPERM)
		return 0;
	proc_comm(pid, comm);
	return refuse(search->reason, err, "process %d (%s): %s", (int)pid, comm, why);
}

int make_way_everywhere(struct object_cache *objects, const struct probe_set *set,
			char reason[static REASON_MAX])
{
	struct way_search search = {.objects = objects, .set = set, .reason = reason};

	return proc_each(way_visit, &search);
}
