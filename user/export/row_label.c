// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/row_label.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/export/render.h"
#include "user/export/scopes_shown.h"
#include "user/model/function_name.h"

#define LABEL_MIN_PLACE 12

/* ---- a site ------------------------------------------------------------------------------- */

/* "cart.cc:42", or the module's name. */
static const char *label_place(const struct frame *frame, char buf[static TEXT_FIT_MAX])
{
	const char *file = frame->file, *slash = file ? strrchr(file, '/') : NULL;

	/* The line of the call is not known: it is somewhere from there on. */
	if (file && frame->line)
		snprintf(buf, TEXT_FIT_MAX, "%s%s:%u", frame->line_begins ? "from " : "",
			 slash ? slash + 1 : file, frame->line);
	else
		snprintf(buf, TEXT_FIT_MAX, "%s", frame->module ?: "");
	return buf;
}

/* Its function without what it takes, or its address. */
static const char *label_name(const struct frame *frame, enum label_detail detail,
			      char name[static TEXT_FIT_MAX])
{
	char label[FRAME_LABEL_MAX];
	size_t len;

	frame_label(frame, label);
	if (frame->function && frame->kind == FRAME_KIND_NATIVE)
		function_name_cut(name, label);
	else
		snprintf(name, TEXT_FIT_MAX, "%s", label);
	len = strlen(name);
	if (detail >= LABEL_ADDRESS && frame->function && !frame->inlined && frame_is_code(frame))
		snprintf(name + len, TEXT_FIT_MAX - len, "+0x%" PRIx64, frame->offset);
	return name;
}

/* What is appended fits in `width`, or is left out. */
struct label {
	char *text;
	size_t used, width; /* characters; width 0: any */
};

static bool label_append(struct label *label, const char *before, const char *text)
{
	char clean[TEXT_FIT_MAX];
	size_t more = strlen(before) + text_shorten(clean, text, SIZE_MAX), len;

	if (label->width && label->used + more > label->width)
		return false;
	len = strlen(label->text);
	snprintf(label->text + len, TEXT_FIT_MAX - len, "%s%s", before, clean);
	label->used += more;
	return true;
}

/*
 * A caller says something: it is the program's, or a library's that is not everybody's. Below a site
 * that is not the program's own the next one tells rows apart, with a name or without.
 */
static bool label_tells(const struct frame *frame, const struct export_options *options, bool own,
			bool next)
{
	enum frame_owner owner = frame_owner(frame, &options->sites);

	/* own: the site is the program's, or a script's: what runs scripts says nothing of it. */
	if (own)
		return frame->function && (owner == OWNER_PROGRAM || owner == OWNER_LIBRARY);
	return owner >= OWNER_LIBRARY && (frame->function || next);
}

/* Those behind the site, from the inside out; one again, as in a recursion, is passed over. */
static void label_put_callers(struct label *label, const struct export_options *options,
			      const struct stack_notes *notes, size_t site, size_t callers)
{
	const struct frame *last = notes->frames[site];
	bool own = !frame_in_object(last) || frame_owner(last, &options->sites) == OWNER_PROGRAM;
	char name[TEXT_FIT_MAX];
	size_t put = 0;

	for (size_t i = site + 1; i < notes->frame_count && i - site <= callers; i++) {
		const struct frame *frame = notes->frames[i];

		if (!label_tells(frame, options, own, i == site + 1) ||
		    (frame->function && last->function && !strcmp(frame->function, last->function)))
			continue;
		if ((put++ == LABEL_CALLERS && !label->width) ||
		    !label_append(label, " < ", label_name(frame, LABEL_USUAL, name)))
			return;
		last = frame;
	}
}

static char *label_make(char buf[static TEXT_FIT_MAX], const struct export_options *options,
			const struct stack_notes *notes, size_t width, size_t callers,
			enum label_detail detail)
{
	size_t site = frames_site(notes->frames, notes->frame_count, &options->sites);
	struct label label = {.text = buf, .width = width};
	char name[TEXT_FIT_MAX], place[TEXT_FIT_MAX];
	const struct frame *frame;

	if (!notes->frames || !notes->frame_count)
		return memcpy(buf, "?", sizeof("?"));
	frame = notes->frames[site];
	label.used = text_shorten(buf, label_name(frame, detail, name), width ?: SIZE_MAX);
	label_place(frame, place);
	if (frame->function && *place && !label_append(&label, "  ", place) &&
	    label.used + 2 + LABEL_MIN_PLACE <= width) {
		text_shorten(name, place, width - label.used - 2);
		label_append(&label, "  ", name);
	}
	label_put_callers(&label, options, notes, site, callers);
	return buf;
}

char *site_label(char buf[static TEXT_FIT_MAX], const struct export_options *options,
		 const struct stack_notes *notes, size_t width, size_t callers)
{
	return label_make(buf, options, notes, width, callers, LABEL_USUAL);
}

/* ---- a row -------------------------------------------------------------------------------- */

static bool label_same_frame(const struct frame *a, const struct frame *b)
{
	if (a == b)
		return true;
	if (!a->function || !b->function)
		return a->module_offset == b->module_offset && a->kind == b->kind;
	return !strcmp(a->function, b->function);
}

/* How many frames two stacks share, from two places on. */
static size_t label_shared(const struct stack_notes *a, size_t i, const struct stack_notes *b,
			   size_t k, size_t most)
{
	size_t n = 0;

	while (n < most && i + n < a->frame_count && k + n < b->frame_count &&
	       label_same_frame(a->frames[i + n], b->frames[k + n]))
		n++;
	return n;
}

/* Callers that all stacks of a row have. There may be very many stacks, of few frames. */
static size_t label_common(const struct export_options *options, const struct report *r,
			   const size_t *members, size_t count)
{
	const struct stack_notes *first = count ? &r->notes[members[0]] : NULL;
	struct site_rules rules = options->sites;
	size_t common = SIZE_MAX, site;
	struct id_map owners = {0};

	if (count < 2)
		return common;
	rules.known = &owners;
	site = frames_site(first->frames, first->frame_count, &rules) + 1;
	for (size_t i = 1; i < count && common; i++) {
		const struct stack_notes *other = &r->notes[members[i]];

		common = label_shared(first, site, other,
				      frames_site(other->frames, other->frame_count, &rules) + 1,
				      common);
	}
	id_map_free(&owners);
	return common;
}

/* "src/cart.cc", "libssl.so.3": of rows that are no functions. */
static char *label_of_file(char buf[static TEXT_FIT_MAX], const struct export_options *options,
			   const struct stack_notes *notes, size_t width)
{
	size_t site = frames_site(notes->frames, notes->frame_count, &options->sites);
	const struct frame *frame =
		notes->frames && notes->frame_count ? notes->frames[site] : NULL;
	const char *path = NULL;

	if (frame && options->by == BY_FILE)
		path = frame->file;
	if (frame && !path)
		path = frame->module_path ?: frame->module ?: frame->file;
	path_shorten(buf, path ?: "?", width ?: SIZE_MAX);
	return buf;
}

static char *label_of_scope(char buf[static TEXT_FIT_MAX], const struct report *r,
			    const struct stack *member, size_t width)
{
	const struct scope *scope = scope_of_stack(r->snapshot, member);
	char name[SCOPE_NAME_MAX];

	text_shorten(buf, scope ? scope_name(name, scope) : "in no scope", width ?: SIZE_MAX);
	return buf;
}

static void label_add_number(char buf[static TEXT_FIT_MAX], const struct stack *row, size_t width)
{
	char number[32];
	size_t len, used = (size_t)snprintf(number, sizeof(number), "  #%08" PRIx32,
					    (uint32_t)(row->id >> 32 ^ row->id));
	char whole[TEXT_FIT_MAX];

	text_copy(whole, sizeof(whole), buf, SIZE_MAX, &text_for_terminal);
	text_shorten(buf, whole, width > used ? width - used : SIZE_MAX);
	len = strlen(buf);
	snprintf(buf + len, TEXT_FIT_MAX - len, "%s", number);
}

char *row_label(char buf[static TEXT_FIT_MAX], const struct export_options *options,
		const struct report *r, const struct stack *row, size_t width,
		enum label_detail detail)
{
	const struct report *listed = r->rows ? r->rows->sums : r;
	const struct stack_notes *notes = report_notes(listed, row);
	const size_t *members = NULL;
	size_t count = r->rows ? report_row_stacks(r->rows, row, &members) : 0;
	enum site_by by = r->rows ? options->by : BY_STACK;

	if (by == BY_FILE || by == BY_MODULE)
		label_of_file(buf, options, notes, width);
	else if (by == BY_SCOPE)
		label_of_scope(buf, r, &r->snapshot->stacks[*members], width);
	else
		label_make(buf, options, notes, width, label_common(options, r, members, count),
			   detail);
	if (detail == LABEL_NUMBER)
		label_add_number(buf, row, width);
	return buf;
}

char *row_callers(char buf[static TEXT_FIT_MAX], const struct export_options *options,
		  const struct report *r, const struct stack *row)
{
	const struct stack_notes *notes = report_notes(r->rows ? r->rows->sums : r, row);
	enum site_by by = r->rows ? options->by : BY_STACK;
	struct label label = {.text = buf};
	const size_t *members = NULL;
	size_t count = r->rows ? report_row_stacks(r->rows, row, &members) : 0;

	*buf = '\0';
	if (notes->frames && notes->frame_count && by != BY_FILE && by != BY_MODULE &&
	    by != BY_SCOPE)
		label_put_callers(&label, options, notes,
				  frames_site(notes->frames, notes->frame_count, &options->sites),
				  label_common(options, r, members, count));
	return buf;
}

/* ---- rows --------------------------------------------------------------------------------- */

void row_labels_free(char **labels, size_t count)
{
	for (size_t i = 0; labels && i < count; i++)
		free(labels[i]);
	free(labels);
}

static int label_compare(const void *a, const void *b, void *labels)
{
	return strcmp(((char **)labels)[*(const size_t *)a], ((char **)labels)[*(const size_t *)b]);
}

/* Those that read as another one does get more detail. 0 or -ENOMEM. */
static int label_tell_apart(char **labels, const struct export_options *options,
			    const struct report *r, const struct stack *const *rows, size_t count,
			    size_t width, enum label_detail detail)
{
	_cleanup_free_ size_t *order = calloc(count + 1, sizeof(*order));
	_cleanup_free_ bool *same = calloc(count + 1, sizeof(*same));
	char buf[TEXT_FIT_MAX];

	if (!order || !same)
		return -1;
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), label_compare, labels);
	for (size_t i = 1; i < count; i++) {
		if (!strcmp(labels[order[i - 1]], labels[order[i]]))
			same[order[i - 1]] = same[order[i]] = true;
	}
	for (size_t i = 0; i < count; i++) {
		char *longer;

		if (!same[i])
			continue;
		longer = strdup(row_label(buf, options, r, rows[i], width, detail));
		if (!longer)
			return -1;
		free(labels[i]);
		labels[i] = longer;
	}
	return 0;
}

char **row_labels(const struct export_options *options, const struct report *r,
		  const struct stack *const *rows, size_t count, size_t width)
{
	char **labels = calloc(count + 1, sizeof(*labels)), buf[TEXT_FIT_MAX];
	int err = labels ? 0 : -1;

	for (size_t i = 0; i < count && !err; i++) {
		labels[i] = strdup(row_label(buf, options, r, rows[i], width, LABEL_USUAL));
		err = labels[i] ? 0 : -1;
	}
	for (enum label_detail detail = LABEL_ADDRESS; detail < LABEL_DETAILS && !err; detail++)
		err = label_tell_apart(labels, options, r, rows, count, width, detail);
	if (!err)
		return labels;
	row_labels_free(labels, count);
	return NULL;
}
