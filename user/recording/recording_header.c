// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/base/util.h"
#include "user/model/lost_causes.h"
#include "user/recording/recording_format.h"

enum header_field {
	HEADER_TOOL_VERSION = 1,
	HEADER_KERNEL = 2,
	HEADER_MACHINE = 3,
	HEADER_HOST = 4,
	HEADER_OLDER_NS = 5,
	HEADER_LOST_CAUSE = 6,
	HEADER_STACK_END = 7,
};

static const struct header_text {
	unsigned field;
	size_t at; /* in the info */
} header_texts[] = {
	{HEADER_TOOL_VERSION, offsetof(struct recording_info, tool_version)},
	{HEADER_KERNEL, offsetof(struct recording_info, kernel)},
	{HEADER_MACHINE, offsetof(struct recording_info, machine)},
	{HEADER_HOST, offsetof(struct recording_info, host)},
};

static const char **header_text_at(const struct recording_info *info, size_t i)
{
	return (const char **)((char *)info + header_texts[i].at);
}

void recording_put_header(struct wire *to, const struct recording_info *info)
{
	size_t mark = wire_open(to, MESSAGE_HEADER);

	for (size_t i = 0; i < ARRAY_SIZE(header_texts); i++) {
		const char *text = *header_text_at(info, i);

		if (text)
			wire_string(to, header_texts[i].field, text);
	}
	if (info->older_ns)
		wire_uint(to, HEADER_OLDER_NS, info->older_ns);
	/* By name: another version may number them otherwise. */
	for (int i = 0; i < LOST_CAUSES; i++)
		wire_string(to, HEADER_LOST_CAUSE, lost_cause_name((enum lost_cause)i));
	for (int i = 0; i < STACK_ENDS; i++)
		wire_string(to, HEADER_STACK_END, stack_end_name((enum stack_end)i));
	wire_close(to, mark);
}

/* Frees the old one, if a hostile header says it twice. */
static int header_take_text(struct recording_info *info, const struct wire_field *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(header_texts); i++) {
		const char **text = header_text_at(info, i);

		if (header_texts[i].field != f->field)
			continue;
		free((char *)*text);
		*text = strndup((const char *)f->body.at, wire_left(&f->body));
		return *text ? 0 : -ENOMEM;
	}
	return 0;
}

static const char *header_cause_name(int number)
{
	return number < LOST_CAUSES ? lost_cause_name((enum lost_cause)number) : NULL;
}

static const char *header_end_name(int number)
{
	return number < STACK_ENDS ? stack_end_name((enum stack_end)number) : NULL;
}

/* The file's numbers are by the order of its names; another version may have others. */
static int header_take_name(struct number_list *list, const struct wire_field *f,
			    const char *(*name_of)(int number))
{
	int *grown = reallocarray(list->numbers, list->count + 1, sizeof(*grown));
	const char *name;

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

int recording_take_header(struct recording_header *header, struct wire_reader message)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == HEADER_OLDER_NS && f.type == WIRE_VARINT)
			header->info.older_ns = f.number;
		if (f.type != WIRE_BYTES)
			continue;
		if (f.field == HEADER_LOST_CAUSE)
			err = header_take_name(&header->causes, &f, header_cause_name);
		else if (f.field == HEADER_STACK_END)
			err = header_take_name(&header->ends, &f, header_end_name);
		else
			err = header_take_text(&header->info, &f);
	}
	return err ? err : got;
}

void recording_header_free(struct recording_header *header)
{
	for (size_t i = 0; i < ARRAY_SIZE(header_texts); i++)
		free((char *)*header_text_at(&header->info, i));
	free(header->causes.numbers);
	free(header->ends.numbers);
}

void recording_put_lost(struct wire *to, unsigned field, const uint64_t lost[LOSSES_ROOM])
{
	size_t list = wire_open(to, field);

	for (int i = 0; i < LOST_CAUSES; i++)
		wire_varint(to, lost[i]);
	wire_close(to, list);
}

int recording_take_lost(const struct recording_header *header, struct wire_reader body,
			uint64_t lost[LOSSES_ROOM])
{
	for (size_t i = 0; wire_left(&body); i++) {
		uint64_t count;

		if (wire_read_varint(&body, &count))
			return -EBADMSG;
		if (i < header->causes.count && header->causes.numbers[i] >= 0)
			lost[header->causes.numbers[i]] = count;
	}
	return 0;
}

enum stack_end recording_stack_end(const struct recording_header *header, uint64_t number)
{
	if (number < header->ends.count && header->ends.numbers[number] >= 0)
		return (enum stack_end)header->ends.numbers[number];
	return STACK_END_UNSUPPORTED;
}
