/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files that a core's process had mapped, looked for here. Internal to user/corefile. */
#ifndef MEMLEAKBPF_COREFILE_CORE_OBJECTS_H
#define MEMLEAKBPF_COREFILE_CORE_OBJECTS_H

#include "user/corefile/core_parts.h"

/*
 * Reads from the core which mapped files are ELF files, with their program headers and build ids.
 * Opens the files here that have the same build id. A path alone proves nothing.
 */
void core_objects_find(struct core_notes *notes, const struct core_segments *segments,
		       const struct core_file_options *options);

/* Where the object's memory ends, by its program headers; 0: unknown. */
uint64_t core_object_end(const struct core_object *object);

/* Do the program headers have code at the file offset? False where they are not known. */
bool core_object_is_code(const struct core_object *object, uint64_t offset);

/*
 * May the process have written to its mapping of the object from this file offset on? False only
 * where the program headers say so.
 */
bool core_object_may_be_written(const struct core_object *object, uint64_t offset);

#endif
