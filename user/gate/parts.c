// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

#define PAGE 4096u

/* The size of a function whose symbol has none. */
#define CODE_UNSIZED 256

static int parts_refuse(const struct gate_wanted *function, const char *why,
			char reason[static REASON_MAX])
{
	return refuse(reason, -EOPNOTSUPP, "%s: %s", function->name, why);
}

int gate_part_plan(const struct gate_request *request, const struct gate_wanted *function,
		   struct gate_part *part, char reason[static REASON_MAX])
{
	uint64_t offset = function->address - request->text_address, left;
	const char *why = "";

	if (offset >= request->text_size)
		return parts_refuse(function, "lies elsewhere than the other functions", reason);
	left = request->text_size - offset;
	part->function.request = (struct displace_request){
		.code = request->text + offset,
		.size = function->size ? function->size : CODE_UNSIZED,
		.address = function->address,
		.arguments = function->arguments,
	};
	if (part->function.request.size > left)
		part->function.request.size = left;
	if (displace_plan(&part->function.request, &part->function.plan, &why))
		return parts_refuse(function, why, reason);
	part->jump_at = function->address + part->function.plan.kept;
	memcpy(part->original, part->function.request.code + part->function.plan.kept,
	       DISPLACE_JUMP);
	memcpy(part->before, part->original, DISPLACE_JUMP);
	/*
	 * Two pages are not written in one go: a writer that is killed between them leaves half a
	 * jump.
	 */
	if (part->jump_at / PAGE != (part->jump_at + DISPLACE_JUMP - 1) / PAGE)
		return parts_refuse(function, "the jump would lie in two pages", reason);
	if (displace_is_entered(&part->function.request, &part->function.plan, request->text,
				request->text_size, request->text_address))
		return parts_refuse(function, "something goes to where the jump would be", reason);
	return 0;
}

static int parts_choose_stub(const struct gate_wanted *function, struct gate_part *parts,
			     size_t index, char reason[static REASON_MAX])
{
	const struct gate_stub *stubs;
	size_t count;

	stubs = gate_stubs(&count);
	for (size_t i = 0; i < count; i++) {
		bool taken = stubs[i].kind != function->kind;

		for (size_t j = 0; j < index && !taken; j++)
			taken = parts[j].stub == &stubs[i];
		if (taken)
			continue;
		parts[index].stub = &stubs[i];
		return 0;
	}
	return parts_refuse(
		function,
		count ? "there are too many functions of its kind" : "not on this machine", reason);
}

/* Links them, once all have their stubs. */
static void parts_link(const struct gate_request *request, struct gate_part *parts)
{
	for (size_t i = 0; i < request->count; i++) {
		const struct gate_wanted *wanted = &request->functions[i];

		parts[i].function.calls_others = wanted->calls_others;
		if (wanted->kind == GATE_KIND_NEW || wanted->kind == GATE_KIND_NEW_ALIGNED)
			parts[i].function.instead = parts[wanted->instead].stub;
	}
}

int gate_parts_new(const struct gate_request *request, struct gate_part **out,
		   char reason[static REASON_MAX])
{
	struct gate_part *parts = calloc(request->count + 1, sizeof(*parts));
	int err = 0;

	if (!parts)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; !err && i < request->count; i++) {
		err = gate_part_plan(request, &request->functions[i], &parts[i], reason);
		err = err ?: parts_choose_stub(&request->functions[i], parts, i, reason);
	}
	if (err) {
		free(parts);
		return err;
	}
	parts_link(request, parts);
	*out = parts;
	return 0;
}

int gate_parts_fill(const struct gate_request *request, const struct gate_part *parts,
		    uint64_t address, uint8_t code[])
{
	const uint8_t *blank;
	size_t size;
	int err = 0;

	blank = gate_code(&size);
	memset(code, 0xcc, GATE_CODE_SIZE);
	memcpy(code, blank, size);
	gate_nop_write(code, request->nop);
	for (size_t i = 0; !err && i < request->count; i++)
		err = gate_fill_stub(code, address, parts[i].stub, &parts[i].function);
	return err;
}
