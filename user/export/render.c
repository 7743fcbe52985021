// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct exporter *exporter_new(FILE *out, const struct export_options *options)
{
	struct exporter *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->out = out;
	e->options = *options;
	return e;
}

int stream_flush(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int exporter_close(struct exporter *e)
{
	int err;

	if (!e)
		return 0;
	err = stream_flush(e->out);
	free(e);
	return err;
}

void wire_put_name(struct wire *out, unsigned field, const char *name)
{
	size_t mark = wire_open(out, field);

	while (*name) {
		struct text_piece piece = text_next(&name, &text_for_terminal);

		wire_raw(out, piece.bytes, piece.len);
	}
	wire_close(out, mark);
}

int stream_write(FILE *out, const char *text, size_t len)
{
	errno = 0;
	if (fwrite(text, 1, len, out) != len)
		return errno ? -errno : -EIO;
	return stream_flush(out);
}

int exporter_write(struct exporter *e, const char *text, size_t len)
{
	return stream_write(e->out, text, len);
}

int exporter_write_document(struct exporter *e, const void *data, size_t len)
{
	int err;

	if (!e->options.rewrite)
		return exporter_write(e, data, len);
	if (fseek(e->out, 0, SEEK_SET))
		return -errno;
	err = exporter_write(e, data, len);
	if (!err && ftruncate(fileno(e->out), (off_t)len))
		err = -errno;
	return err;
}

char *frame_label(const struct frame *frame, char buf[static FRAME_LABEL_MAX])
{
	if (frame->function)
		snprintf(buf, FRAME_LABEL_MAX, "%s", frame->function);
	else if (frame->module && !frame_is_code(frame))
		snprintf(buf, FRAME_LABEL_MAX, "%.4095s", frame->module);
	else if (frame->module)
		snprintf(buf, FRAME_LABEL_MAX, "%.4095s+0x%" PRIx64, frame->module, frame->offset);
	else
		snprintf(buf, FRAME_LABEL_MAX, "0x%" PRIx64, frame->offset);
	return buf;
}

const char *stack_end_label(enum stack_end end)
{
	static const char *const labels[] = {
		[STACK_END_TRUNCATED] = "[truncated]",
		[STACK_END_NO_ROWS] = "[incomplete: no_rows]",
		[STACK_END_NO_MAPPING] = "[incomplete: no_mapping]",
		[STACK_END_READ_FAULT] = "[incomplete: read_fault]",
		[STACK_END_BAD_CFA] = "[incomplete: bad_cfa]",
		[STACK_END_BAD_PC] = "[incomplete: bad_pc]",
		[STACK_END_UNSUPPORTED] = "[incomplete: unsupported]",
	};

	_Static_assert(sizeof(labels) / sizeof(labels[0]) == STACK_ENDS, "a label for every end");
	return (unsigned)end < STACK_ENDS ? labels[end] : "[incomplete]";
}
