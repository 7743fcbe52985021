// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/inspected_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/target/image.h"
#include "user/trace/frames.h"
#include "user/unwind/publish_memory.h"

struct inspected_frames {
	bool read; /* the tables were read, or could not be */
	struct image *image;
	struct unwind_publisher *unwind; /* NULL: there are no tables */
};

struct inspected_frames *inspected_frames_new(void)
{
	return calloc(1, sizeof(struct inspected_frames));
}

void inspected_frames_free(struct inspected_frames *frames)
{
	if (!frames)
		return;
	unwind_publisher_free(frames->unwind);
	image_free(frames->image);
	free(frames);
}

/* Maps the code whose files can be read; a walk ends at other code. */
static int inspected_frames_map(struct inspected_frames *f, const struct inspect_stacks *stacks)
{
	const struct maps *maps = stacks->memory->maps;
	int err = 0;

	f->image = image_new_empty(stacks->pid, stacks->objects);
	if (!f->image)
		return -ENOMEM;
	for (size_t i = 0; err != -ENOMEM && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		/* As in user/target/image.c: it lies apart from other code, and calls none. */
		if (m->exec && strcmp(m->path, "[vsyscall]") != 0)
			err = image_add(f->image, m);
	}
	return err == -ENOMEM ? err : 0;
}

static int inspected_frames_read(struct inspected_frames *f, const struct inspect_stacks *stacks)
{
	uint64_t start = monotonic_ns();
	int err;

	f->read = true;
	err = inspected_frames_map(f, stacks);
	err = err ?: unwind_publisher_new_memory(&f->unwind);
	err = err ?: unwind_publisher_set(f->unwind, UNWIND_OWN_TARGET, f->image);
	if (err) {
		unwind_publisher_free(f->unwind);
		f->unwind = NULL;
	}
	log_debug("unwind tables: %.1f ms", (double)(monotonic_ns() - start) / NS_PER_MS);
	return err;
}

int inspected_frames_find(void *ctx, const struct inspect_stacks *stacks,
			  const struct memory_thread *thread, uint64_t address,
			  const struct frame **out)
{
	struct inspected_frames *f = ctx;
	const struct frame *const *frames;
	struct unwind_frame frame;
	struct location location;
	struct unwind_regs regs;
	size_t count;
	int err = 0;

	if (!stacks->memory->maps || thread->word_count * 8 < sizeof(struct user_regs_struct))
		return -ENOENT;
	if (!f->read)
		err = inspected_frames_read(f, stacks);
	if (err || !f->unwind)
		return err ?: -ENOENT;
	regs = frames_registers((const void *)thread->words);
	err = unwind_find_frame(f->unwind, &regs, frames_read_image, (void *)stacks->memory,
				address, &frame);
	if (err)
		return err == -ENOMEM || err == -ERANGE ? err : -ENOENT;
	if (!image_locate(f->image, frame.pc, &location))
		return -ENOENT;
	err = symbolizer_resolve(stacks->symbolizer, &location, stacks->pid,
				 frame.is_return_address, &frames, &count);
	if (err)
		return err;
	/* Takes the real function's frame, whatever is inlined there. */
	*out = frames[count - 1];
	return (*out)->function ? 0 : -ENOENT;
}
