/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which blocks of a heap are alike, by what they say of themselves: the class of a C++ object (its
 * virtual table), the type of a CPython object, text; else their size, and how they begin.
 * docs/inspect.md has the rules.
 */
#ifndef MEMLEAKBPF_INSPECT_CLASSES_H
#define MEMLEAKBPF_INSPECT_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "user/base/packed.h"
#include "user/heap/heap_image.h"
#include "user/inspect/class_memory.h"
#include "user/model/inspection.h"

struct block_classes {
	struct packed group; /* by block of the image: its index in the groups */
	/*
	 * By block: so many words into it begins what other memory points to as it (behind what an interpreter
	 * keeps in front of its objects). NULL: where the block begins, for all of them
	 */
	uint8_t *heads;
	size_t block_count;
	/* with kind, name, module, size, beginning and live; none of them is empty */
	struct inspected_group *groups;
	size_t group_count;
};

/*
 * Puts each block of a finished image into a group: 0 and *out (block_classes_free()), or -ENOMEM, not
 * logged. Takes 2.5 bytes a block, 3.5 of a CPython, 8 more where there is debug information, and some MiB; a byte or
 * two a block stay; all is bounded, whatever is in the image.
 */
int block_classes_find(const struct heap_image *image, const struct class_files *files,
		       struct block_classes **out);
void block_classes_free(struct block_classes *classes); /* NULL is fine */

/*
 * Only block_classes.heads, which a verdict needs as much: of a CPython, else *heads is NULL. 0 or -ENOMEM; the
 * caller frees them.
 */
int block_heads_find(const struct heap_image *image, const struct class_files *files,
		     uint8_t **heads);

/*
 * Of a process that lives, or has done so until now: class_files.object for a context that is one of
 * these.
 */
struct class_process {
	struct object_cache *objects;
	pid_t pid;
	int root_fd; /* O_PATH, of its root directory; -1: none */
};

int class_process_object(void *ctx, const struct mapping *m, struct object **out);

#endif
