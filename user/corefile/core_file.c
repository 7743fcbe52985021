// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/corefile/core_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/corefile/core_args.h"
#include "user/corefile/core_image.h"
#include "user/corefile/core_maps.h"
#include "user/corefile/core_objects.h"
#include "user/corefile/core_parts.h"
#include "user/process/maps_data.h"

struct core_file {
	struct core_segments segments;
	struct core_notes notes;
	struct object_cache *objects;
	struct core_facts facts;
};

/* Counts files that were mapped as code, or would have been: data files are not looked for. */
static void core_file_count_objects(struct core_file *core)
{
	for (size_t i = 0; i < core->notes.object_count; i++) {
		const struct core_object *o = &core->notes.objects[i];

		core->facts.objects += o->is_elf;
		core->facts.objects_found += o->object != NULL;
	}
}

static void core_file_count_memory(struct core_file *core)
{
	struct core_facts *facts = &core->facts;

	for (size_t i = 0; i < core->segments.count; i++) {
		const struct core_segment *s = &core->segments.items[i];

		facts->cut_bytes += s->cut;
		if (s->write && !core_notes_file(&core->notes, s->start))
			facts->left_out_bytes += s->end - s->start - s->filled - s->cut;
	}
	facts->mappings = core->segments.count;
	facts->mapped_files = core->notes.file_count;
	facts->mappings_dropped = core->segments.dropped;
}

/* In the kernel's 80 bytes a blank follows each argument, also the last one. */
static char **core_file_short_args(const struct core_notes *notes)
{
	size_t size = strlen(notes->args);
	char **list;

	while (size && notes->args[size - 1] == ' ')
		size--;
	list = size ? calloc(1, 2 * sizeof(*list) + size + 1) : NULL;
	if (list)
		list[0] = memcpy(list + 2, notes->args, size);
	return list;
}

static int core_file_take_facts(struct core_file *core)
{
	struct core_facts *facts = &core->facts;
	struct stat st;

	if (fstat(core->segments.fd, &st))
		return -errno;
	facts->pid = core->notes.pid;
	memcpy(facts->comm, core->notes.comm, sizeof(facts->comm));
	facts->cmdline = core_args_read(&core->notes, &core->segments);
	if (!facts->cmdline) {
		facts->cmdline = core_file_short_args(&core->notes);
		facts->cmdline_cut = facts->cmdline != NULL;
	}
	facts->signal = core->notes.signal;
	facts->time_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	facts->entry = core_notes_aux(&core->notes, AT_ENTRY);
	facts->threads = core->notes.thread_count;
	facts->threads_unknown = core->notes.unknown_threads;
	facts->file_bytes = core->segments.file_size;
	core_file_count_memory(core);
	core_file_count_objects(core);
	return 0;
}

int core_file_open(int fd, const struct core_file_options *options, struct core_file **out,
		   char reason[static REASON_MAX])
{
	struct core_file *core = calloc(1, sizeof(*core));
	int err;

	if (!core)
		return refuse(reason, -ENOMEM, "no memory");
	core->objects = options->objects;
	err = core_segments_read(&core->segments, &core->notes, fd, reason);
	if (!err && !core->segments.count)
		err = refuse(reason, -ENOEXEC, "there is no memory in it");
	if (!err) {
		core_objects_find(&core->notes, &core->segments, options);
		if (core_file_take_facts(core))
			err = refuse(reason, -EIO, "it cannot be read");
	}
	if (err)
		core_file_free(core);
	else
		*out = core;
	return err;
}

void core_file_free(struct core_file *core)
{
	if (!core)
		return;
	core_segments_release(&core->segments);
	core_notes_release(&core->notes);
	free(core->facts.cmdline);
	free(core);
}

/* Gives each mapping the numbers of its file, by which others ask for it. */
static void core_file_name_objects(struct core_file *core, const struct maps *maps)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		const struct core_mapped_file *f = core_notes_file(&core->notes, m->start);
		struct object *object = f ? core->notes.objects[f->object].object : NULL;

		if (object)
			object_cache_know(core->objects, m, object);
	}
}

static size_t core_file_get(void *ctx, uint64_t address, void *to, size_t size)
{
	const struct core_file *core = ctx;

	return core_segments_get(&core->segments, address, to, size);
}

int core_file_take_memory(struct core_file *core, struct memory_image **out,
			  char reason[static REASON_MAX])
{
	struct memory_image *image = memory_image_new();
	int err = image ? core_maps_new(&core->notes, &core->segments, &image->maps) : -ENOMEM;

	err = err ?: maps_cut_data(image->maps, core_file_get, core);
	if (err)
		err = refuse(reason, err, "no memory");
	else
		err = core_image_fill(image, &core->notes, &core->segments, &core->facts, reason);
	if (err) {
		memory_image_free(image);
		return err;
	}
	core_file_name_objects(core, image->maps);
	*out = image;
	return 0;
}

const struct core_facts *core_file_facts(const struct core_file *core)
{
	return &core->facts;
}

char **core_file_take_cmdline(struct core_file *core)
{
	return TAKE_PTR(core->facts.cmdline);
}

const char *core_file_missing(const struct core_file *core, size_t index, const char **why)
{
	for (size_t i = 0; i < core->notes.object_count; i++) {
		const struct core_object *o = &core->notes.objects[i];

		if (!o->is_elf || o->object || index--)
			continue;
		*why = o->why;
		return o->path;
	}
	return NULL;
}
