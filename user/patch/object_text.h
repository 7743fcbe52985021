/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The code of one object as its file has it, and where a process maps that. */
#ifndef MEMLEAKBPF_PATCH_OBJECT_TEXT_H
#define MEMLEAKBPF_PATCH_OBJECT_TEXT_H

#include <stdint.h>

#include "user/base/reason.h"
#include "user/gate/leads.h"
#include "user/target/image.h"

struct object_text {
	uint8_t *bytes;			/* owned; in memory there may be breakpoints among them */
	uint64_t address, offset, size; /* in the process, and in the file */
};

/*
 * The one executable mapping that has the byte at `offset` of the object's file. 0; or -errno with the
 * reason. object_text_free() in any case.
 */
int object_text_read(const struct image *image, const struct object *object, uint64_t offset,
		     struct object_text *out, char reason[static REASON_MAX]);
void object_text_free(struct object_text *text);

/* For functions of user/gate/leads.h; the text and the image are borrowed. */
struct leads_object object_text_leads(const struct object_text *text, const struct image *image);

#endif
