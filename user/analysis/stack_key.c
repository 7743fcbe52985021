// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/stack_key.h"

#include <inttypes.h>

/*
 * No name holds a newline: the symbolizer sees to that, and a forged recording only confuses its
 * own stacks.
 */
void stack_key_put(FILE *out, const struct frame *const *frames, size_t count, enum stack_end end)
{
	for (size_t i = 0; frames && i < count; i++) {
		const struct frame *frame = frames[i];

		/* Many scripts have functions of the same name. */
		if (!frame_in_object(frame))
			fprintf(out, "[%s]%s+", frame_kind_name(frame->kind),
				frame->module_path ?: "");
		if (frame->function)
			fprintf(out, "%s\n", frame->function);
		else
			fprintf(out, "%s+%" PRIx64 "\n", frame->module ? frame->module : "",
				frame->offset);
	}
	fprintf(out, "%d", frames ? (int)end : -1);
}
