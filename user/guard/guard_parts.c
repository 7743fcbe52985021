// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* The first stub of the kind that no earlier part has. */
static const struct guard_stub *parts_unused_stub(uint32_t kind, const struct guard_part *parts,
						  size_t index)
{
	size_t count;
	const struct guard_stub *stubs = guard_stubs(&count);

	for (size_t i = 0; i < count; i++) {
		bool taken = stubs[i].kind != kind;

		for (size_t j = 0; j < index && !taken; j++)
			taken = parts[j].stub == &stubs[i];
		if (!taken)
			return &stubs[i];
	}
	return NULL;
}

static bool parts_leaves(const struct gate_wanted *function)
{
	return function->kind == GUARD_KIND_PRCTL || function->kind == GUARD_KIND_SYSCALL;
}

static int parts_plan(const struct guard_request *request, const struct gate_wanted *function,
		      struct gate_part *part, char reason[static REASON_MAX])
{
	const struct gate_request leave = {.text = request->leave_text,
					   .text_address = request->leave_address,
					   .text_size = request->leave_size};

	return gate_part_plan(parts_leaves(function) ? &leave : &request->in, function, part,
			      reason);
}

int guard_parts_new(const struct guard_request *request, struct guard_part **out,
		    char reason[static REASON_MAX])
{
	const struct gate_request *in = &request->in;
	struct guard_part *parts = calloc(in->count + 1, sizeof(*parts));
	int err = 0;

	if (!parts)
		return refuse(reason, -ENOMEM, "no memory");
	for (size_t i = 0; !err && i < in->count; i++) {
		err = parts_plan(request, &in->functions[i], &parts[i].place, reason);
		for (size_t j = 0; !err && j < i; j++) {
			if (parts[j].place.jump_at == parts[i].place.jump_at)
				err = refuse(reason, -EINVAL, "%s is also %s",
					     in->functions[i].name, in->functions[j].name);
		}
		parts[i].stub = parts_unused_stub(in->functions[i].kind, parts, i);
		if (!err && !parts[i].stub)
			err = refuse(reason, -EOPNOTSUPP, "%s: there is no guard for it",
				     in->functions[i].name);
	}
	if (err)
		free(parts);
	else
		*out = parts;
	return err;
}

/* Writes the nop that this kernel likes best, wherever a probe may come. */
static void parts_write_nops(const struct gate_nop *nop, uint8_t code[])
{
	const struct guard_told told = guard_told();

	for (size_t i = 0; i < GUARD_PROBES; i++)
		memcpy(code + told.probes[i], nop->bytes, GATE_PROBE);
}

int guard_parts_fill(const struct guard_request *request, const struct guard_part *parts,
		     uint64_t address, uint64_t pool, uint32_t count, uint8_t code[])
{
	const struct gate_request *in = &request->in;
	const uint8_t *blank;
	size_t size;
	int err = 0;

	blank = guard_code(&size);
	memset(code, 0xcc, GUARD_CODE_SIZE);
	memcpy(code, blank, size);
	parts_write_nops(in->nop, code);
	for (size_t i = 0; !err && i < in->count; i++) {
		struct guard_function function = {.request = parts[i].place.function.request,
						  .plan = parts[i].place.function.plan};

		if (parts[i].stub->instead)
			function.instead = parts[in->functions[i].instead].stub;
		err = guard_fill_stub(code, address, parts[i].stub, &function, pool, count);
	}
	return err;
}
