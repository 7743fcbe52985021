// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/patch/object_text.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "user/process/object.h"
#include "user/process/proc.h"

/* Text of one object that is looked at for branches into a jump. */
#define TEXT_MAX (256u << 20)

static int text_find(const struct image *image, const struct object *object, uint64_t offset,
		     struct object_text *out, char reason[static REASON_MAX])
{
	for (size_t i = 0; i < image_range_count(image); i++) {
		const struct image_range *range = image_range_at(image, i);
		uint64_t size = range->end - range->start;

		if (range->object != object || offset < range->offset ||
		    offset - range->offset >= size)
			continue;
		if (out->size)
			return refuse(reason, -EOPNOTSUPP, "it has loaded %s twice",
				      object_name(object));
		out->address = range->start;
		out->offset = range->offset;
		out->size = size;
	}
	if (!out->size)
		return refuse(reason, -EOPNOTSUPP, "it does not map %s", object_name(object));
	if (out->size > TEXT_MAX)
		return refuse(reason, -EOPNOTSUPP, "%s is too large", object_name(object));
	return 0;
}

int object_text_read(const struct image *image, const struct object *object, uint64_t offset,
		     struct object_text *out, char reason[static REASON_MAX])
{
	ssize_t n;
	int err;

	*out = (struct object_text){0};
	err = text_find(image, object, offset, out, reason);
	if (err)
		return err;
	out->bytes = malloc(out->size);
	if (!out->bytes)
		return refuse(reason, -ENOMEM, "no memory");
	n = pread(object_fd(object), out->bytes, out->size, (off_t)out->offset);
	if (n <= 0)
		return refuse(reason, -EIO, "%s cannot be read", object_name(object));
	out->size = (uint64_t)n;
	return 0;
}

void object_text_free(struct object_text *text)
{
	free(text->bytes);
}

static bool text_read_word(void *data, uint64_t address, uint64_t *out)
{
	const struct image *image = data;
	struct iovec to = {out, sizeof(*out)}, from = {(void *)(uintptr_t)address, sizeof(*out)};

	return process_vm_readv(proc_memory_id(image_pid(image)), &to, 1, &from, 1, 0) ==
	       (ssize_t)sizeof(*out);
}

struct leads_object object_text_leads(const struct object_text *text, const struct image *image)
{
	return (struct leads_object){.text = text->bytes,
				     .size = text->size,
				     .address = text->address,
				     .word = text_read_word,
				     .data = (void *)(uintptr_t)image};
}
