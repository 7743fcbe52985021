// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_deopt.h"

#include <string.h>

/* Of the instructions that say what a frame is, the first operands: its place, and its literal. */
#define DEOPT_OPERANDS 2

struct deopt_reader {
	const struct v8_translations *translations;
	size_t instructions; /* there are */
	size_t at;
	size_t before;	   /* in the translation that this one repeats from */
	uint32_t behind;   /* instructions since `before` was right */
	uint32_t repeated; /* instructions that still come from there, this one too */
	bool broken;
};

/* Seven bits a byte, the lowest ones first; all but the last byte have the highest bit. */
static uint32_t deopt_number(struct deopt_reader *reader, size_t *at)
{
	const struct v8_translations *translations = reader->translations;
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 35 && *at < translations->size; shift += 7) {
		uint8_t byte = translations->bytes[(*at)++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (uint32_t)value;
	}
	reader->broken = true;
	return 0;
}

static int32_t deopt_signed(uint32_t number)
{
	int32_t value = (int32_t)(number >> 1);

	return number & 1 ? -value : value;
}

static size_t deopt_operands(const struct deopt_reader *reader, uint32_t instruction)
{
	return (size_t)(reader->translations->form->operands[instruction] - '0');
}

/* Of the translation that is repeated: it repeats none itself. */
static uint32_t deopt_repeat(struct deopt_reader *reader)
{
	uint32_t instruction = deopt_number(reader, &reader->before);

	if (instruction >= reader->instructions ||
	    instruction == reader->translations->form->repeats || reader->before > reader->at)
		reader->broken = true;
	return reader->broken ? 0 : instruction;
}

/* As many as come now are those that follow there. */
static uint32_t deopt_begin_repeating(struct deopt_reader *reader, uint32_t count)
{
	reader->repeated = count;
	for (; reader->behind && !reader->broken; reader->behind--) {
		size_t operands = deopt_operands(reader, deopt_repeat(reader));

		while (operands-- && !reader->broken)
			deopt_number(reader, &reader->before);
	}
	if (!count)
		reader->broken = true;
	return deopt_repeat(reader);
}

static uint32_t deopt_next(struct deopt_reader *reader)
{
	const struct v8_translations_form *form = reader->translations->form;
	uint32_t instruction;

	if (reader->repeated && --reader->repeated)
		return deopt_repeat(reader);
	instruction = deopt_number(reader, &reader->at);
	if (form->doubled)
		instruction >>= 1;
	if (form->repeats && instruction == form->repeats)
		return deopt_begin_repeating(reader, deopt_number(reader, &reader->at));
	if (form->repeats && instruction > reader->instructions)
		return deopt_begin_repeating(reader, instruction - (uint32_t)reader->instructions);
	if (instruction >= reader->instructions)
		reader->broken = true;
	reader->behind++;
	return reader->broken ? 0 : instruction;
}

static uint32_t deopt_operand(struct deopt_reader *reader)
{
	return deopt_number(reader, reader->repeated ? &reader->before : &reader->at);
}

static bool deopt_is(uint32_t instruction, const uint8_t which[2])
{
	return instruction == which[0] || instruction == which[1];
}

/* How many functions it says there are; 0: it is no beginning. */
static size_t deopt_begin(struct deopt_reader *reader)
{
	const struct v8_translations_form *form = reader->translations->form;
	size_t begin = reader->at, operands;
	uint32_t instruction = deopt_next(reader), back = 0;
	int32_t functions;

	if (reader->broken || reader->repeated || !deopt_is(instruction, form->begins))
		return 0;
	operands = deopt_operands(reader, instruction);
	if (!form->doubled)
		back = deopt_operand(reader);
	/* Frames, those of functions among them. */
	deopt_operand(reader);
	functions = deopt_signed(deopt_operand(reader));
	for (operands -= form->doubled ? 2 : 3; operands; operands--)
		deopt_operand(reader);
	if (back > begin || functions < 1 || functions > V8_NESTED_MAX)
		return 0;
	reader->before = begin - back;
	reader->behind = 1;
	/* Without that it repeats nothing. */
	if (!back)
		reader->before = reader->translations->size;
	return reader->broken ? 0 : (size_t)functions;
}

size_t v8_translation_read(const struct v8_translations *translations, uint32_t at,
			   struct v8_nested out[static V8_NESTED_MAX])
{
	const struct v8_translations_form *form = translations->form;
	struct deopt_reader reader = {
		.translations = translations, .instructions = strlen(form->operands), .at = at};
	size_t functions = deopt_begin(&reader), count = 0;

	while (count < functions && !reader.broken) {
		uint32_t instruction = deopt_next(&reader), values[DEOPT_OPERANDS] = {0};
		size_t operands = reader.broken ? 0 : deopt_operands(&reader, instruction);
		bool builtin = deopt_is(instruction, form->builtins);

		for (size_t i = 0; i < operands; i++) {
			uint32_t value = deopt_operand(&reader);

			if (i < DEOPT_OPERANDS)
				values[i] = value;
		}
		if (reader.broken || (!builtin && !deopt_is(instruction, form->frames)))
			continue;
		out[count].literal = (uint32_t)deopt_signed(values[1]);
		out[count].builtin = builtin;
		out[count].offset = builtin ? -1 : deopt_signed(values[0]);
		count++;
	}
	return reader.broken ? 0 : count;
}
