// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * -f folded: collapsed stacks, root first, one line and one number each, as flamegraph.pl,
 * speedscope and others read them (github.com/brendangregg/FlameGraph, README). The process comes
 * first, as stackcollapse-perf.pl has it; inlined calls end in "_[i]" and what is a runtime's, and no code of a
 * file, in "_[j]", as there. With a verdict its classes
 * are frames between the process and its stacks: "[definitely lost]".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/collect.h"
#include "user/export/compare.h"

/* A semicolon would begin another frame, a newline another stack. */
static void put_name(FILE *out, const char *name)
{
	static const char *const instead[] = {":"};
	static const struct text_rules rules = {
		.special = ";", .instead = instead, .harmful = "?", .invalid = "?"};

	text_put(out, name, &rules);
}

/* Functions of scripts are called alike in many of them. */
static void folded_put_script(FILE *out, const struct frame *frame)
{
	if (frame_in_object(frame) || !frame->module || !frame->function)
		return;
	fputs(" (", out);
	put_name(out, frame->module);
	fputc(')', out);
}

static void folded_put_frames(FILE *out, const struct frame *const *frames, size_t count,
			      enum stack_end end)
{
	const char *label = frames ? stack_end_label(end) : STACK_UNKNOWN_LABEL;
	char text[FRAME_LABEL_MAX];

	if (label)
		fputs(label, out);
	for (size_t i = count; frames && i-- > 0;) {
		if (label || i + 1 < count)
			fputc(';', out);
		put_name(out, frame_label(frames[i], text));
		folded_put_script(out, frames[i]);
		if (frames[i]->inlined)
			fputs("_[i]", out);
		else if (!frame_in_object(frames[i]))
			fputs("_[j]", out);
	}
}

static uint64_t value_of(const struct collected_stack *stack, enum export_value value)
{
	switch (value) {
	case EXPORT_ALLOC_BYTES:
		return stack->alloc.bytes;
	case EXPORT_GROWTH:
		return stack->delta_bytes > 0 ? (uint64_t)stack->delta_bytes : 0;
	case EXPORT_LIVE_COUNT:
		return stack->live.count;
	case EXPORT_LOST_BYTES:
		return 0; /* nobody knows */
	case EXPORT_LIVE_BYTES:
		break;
	}
	return stack->live.bytes;
}

/* Only live blocks have a class. */
static uint64_t class_value_of(const struct collected_stack *stack, enum verdict_class class,
			       enum export_value value)
{
	const struct amount *amount = &stack->verdict[class];

	if (value == EXPORT_LOST_BYTES && class != VERDICT_DEFINITE && class != VERDICT_INDIRECT)
		return 0;
	return value == EXPORT_LIVE_COUNT ? amount->count : amount->bytes;
}

/* `class`: a frame between the process and the stack; NULL: none. */
static void put_line(const struct document *d, FILE *out, const struct collected_target *t,
		     const struct collected_stack *stack, const char *class, uint64_t value)
{
	const struct frame *const *frames = NULL;
	size_t count = 0;

	if (!value)
		return;
	put_name(out, t->comm);
	/* One name may be that of several processes. */
	if (d->collection.target_count > 1)
		fprintf(out, "-%d", (int)t->pid);
	if (class)
		fprintf(out, ";[%s]", class);
	if (stack->frames)
		frames = frame_table_stack_at(d->collection.frames, stack->frames, &count);
	fputc(';', out);
	folded_put_frames(out, frames, count, stack->end);
	fprintf(out, " %" PRIu64 "\n", value);
}

static void folded_put_target(const struct document *d, FILE *out, const struct collected_target *t)
{
	enum export_value value = d->base.options.value;
	bool by_class = t->verdict.state == VERDICT_TAKEN && value != EXPORT_ALLOC_BYTES &&
			value != EXPORT_GROWTH;

	for (size_t i = 0; i < t->stack_count; i++) {
		const struct collected_stack *stack = &t->stacks[i];

		if (!by_class) {
			put_line(d, out, t, stack, NULL, value_of(stack, value));
			continue;
		}
		for (int c = 0; c < VERDICT_CLASSES; c++) {
			enum verdict_class class = (enum verdict_class)c;

			put_line(d, out, t, stack, verdict_class_text(class),
				 class_value_of(stack, class, value));
		}
	}
}

static int folded_write(struct document *d)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int err;

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < d->collection.target_count; i++)
		folded_put_target(d, out, &d->collection.targets[i]);
	err = close_memstream(out) ?: exporter_write_document(&d->base, text, len);
	free(text);
	return err;
}

static struct exporter *folded_open(FILE *out, const struct export_options *options)
{
	return document_new(out, options, folded_write);
}

/* The kernel's stacks begin with their cache, or their kind. */
static void folded_put_kernel_stack(FILE *out, const struct kernel_stack *stack)
{
	put_name(out, stack->cache ? stack->cache : kernel_kind_name(stack->kind));
	if (!stack->frame_count)
		fprintf(out, ";%s", STACK_UNKNOWN_LABEL);
	for (size_t i = stack->frame_count; i-- > 0;) {
		const struct kernel_frame *frame = &stack->frames[i];

		fputc(';', out);
		if (frame->function)
			put_name(out, frame->function);
		else
			fprintf(out, "0x%" PRIx64, frame->address);
		fputs("_[k]", out);
	}
}

/* One document of the last look. Rows that cannot be trusted are left out. */
static int folded_kernel(struct exporter *e, const struct kernel_report *report)
{
	const struct kernel_books *books = report->books;
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int err;

	if (!report->final && !e->options.rewrite)
		return 0;
	out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; books && i < books->stack_count; i++) {
		const struct kernel_stack *stack = &books->stacks[i];

		if (stack->frees_unseen)
			continue;
		folded_put_kernel_stack(out, stack);
		fprintf(out, " %" PRIu64 "\n", stack->bytes);
	}
	err = close_memstream(out) ?: exporter_write_document(e, text, len);
	free(text);
	return err;
}

int compare_folded(FILE *out, const struct export_options *options, const struct comparison *c,
		   size_t top)
{
	bool count = options->value == EXPORT_LIVE_COUNT;

	(void)top;
	for (size_t i = 0; i < c->stack_count; i++) {
		const struct compared_stack *stack = &c->stacks[i];

		folded_put_frames(out, stack->names.frames, stack->names.frame_count,
				  stack->names.truncated ? STACK_END_TRUNCATED : stack->names.end);
		fprintf(out, " %" PRIu64 " %" PRIu64 "\n",
			count ? stack->old.count : stack->old.bytes,
			count ? stack->now.count : stack->now.bytes);
	}
	return stream_flush(out);
}

const struct exporter_format format_folded = {
	.name = "folded",
	.help = "collapsed stacks for flame graphs",
	.wants_all = true,
	.open = folded_open,
	.snapshot = document_snapshot,
	.kernel = folded_kernel,
	.profiles = true,
	.close = document_close,
	.compare = compare_folded,
};
