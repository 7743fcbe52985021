// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/model/lost_causes.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_names.h"

static const char *header_cause_name(int number)
{
	return number < LOST_CAUSES ? lost_cause_name((enum lost_cause)number) : NULL;
}

static const char *header_end_name(int number)
{
	return number < STACK_ENDS ? stack_end_name((enum stack_end)number) : NULL;
}

/* By name: another version may number them otherwise. */
static int put_header_causes(struct recording_out *out, unsigned number, const void *from)
{
	(void)from;
	for (int i = 0; i < LOST_CAUSES; i++)
		wire_string(&out->chunk.body, number, header_cause_name(i));
	return 0;
}

static int put_header_ends(struct recording_out *out, unsigned number, const void *from)
{
	(void)from;
	for (int i = 0; i < STACK_ENDS; i++)
		wire_string(&out->chunk.body, number, header_end_name(i));
	return 0;
}

/* The file's numbers are by the order of its names; another version may have others. */
static int header_take_name(struct number_list *list, const struct wire_field *f,
			    const char *(*name_of)(int number))
{
	int *grown;
	const char *name;

	if (f->type != WIRE_BYTES)
		return 0;
	grown = reallocarray(list->numbers, list->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->numbers = grown;
	grown[list->count] = -1;
	for (int i = 0; (name = name_of(i)) != NULL; i++) {
		if (strlen(name) == wire_left(&f->body) &&
		    !memcmp(name, f->body.at, wire_left(&f->body)))
			grown[list->count] = i;
	}
	list->count++;
	return 0;
}

static int take_header_causes(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	return header_take_name(&((struct recording_header *)to)->causes, f, header_cause_name);
}

static int take_header_ends(struct recording_in *in, const struct wire_field *f, void *to)
{
	(void)in;
	return header_take_name(&((struct recording_header *)to)->ends, f, header_end_name);
}

const struct field recording_header_fields[] = {
	FIELD_TEXT(1, struct recording_header, info.tool_version),
	FIELD_TEXT(2, struct recording_header, info.kernel),
	FIELD_TEXT(3, struct recording_header, info.machine),
	FIELD_TEXT(4, struct recording_header, info.host),
	FIELD_IF_ANY(5, struct recording_header, info.older_ns),
	FIELD_OWN(6, header_causes),
	FIELD_OWN(7, header_ends),
	{0},
};

int recording_put_header(struct recording_out *out, const struct recording_info *info)
{
	const struct recording_header header = {.info = *info};

	return fields_put_part(out, MESSAGE_HEADER, recording_header_fields, &header);
}

int recording_take_header(struct recording_in *in, struct wire_reader message)
{
	return fields_take(in, recording_header_fields, message, &in->header,
			   "the header cannot be read");
}

void recording_header_free(struct recording_header *header)
{
	free((char *)header->info.tool_version);
	free((char *)header->info.kernel);
	free((char *)header->info.machine);
	free((char *)header->info.host);
	free(header->causes.numbers);
	free(header->ends.numbers);
}

enum stack_end recording_stack_end(const struct recording_header *header, uint64_t number)
{
	if (number < header->ends.count && header->ends.numbers[number] >= 0)
		return (enum stack_end)header->ends.numbers[number];
	return STACK_END_UNSUPPORTED;
}
