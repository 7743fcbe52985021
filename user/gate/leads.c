// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/leads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/gate/decode.h"

/* Jumps to jumps; and instructions looked at for one function (some 1 us each). */
#define LEADS_HOPS	   8
#define LEADS_INSTRUCTIONS 20000

#define LEADS_ALL (((1u << DECODE_REGISTERS) - 1) << 1)

static bool leads_has(const struct leads_object *object, uint64_t address)
{
	return address - object->address < object->size;
}

static int leads_open(struct decoder *d, const struct leads_object *object, uint64_t address)
{
	uint64_t offset = address - object->address;

	return decoder_open(d, object->text + offset, object->size - offset, address);
}

static void leads_seek(struct decoder *d, const struct leads_object *object, uint64_t address)
{
	uint64_t offset = address - object->address;

	d->code = object->text + offset;
	d->left = object->size - offset;
	d->address = address;
}

/*
 * An unbound slot of the PLT leads back into the PLT: to the push of its number, behind which the
 * dynamic linker is called.
 */
static bool leads_is_unbound(const struct leads_object *object, uint64_t address)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	const uint8_t *code = object->text + (address - object->address);
	size_t left = object->size - (address - object->address);

	if (left > sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64))) {
		code += sizeof(endbr64);
		left -= sizeof(endbr64);
	}
	return left && code[0] == 0x68;
}

/* jmp *slot(%rip), as in the PLT: finds its target from now on. */
static bool leads_by_slot(const struct decoder *d, const struct leads_object *object, uint64_t *to)
{
	const cs_x86_op *op = decode_operands(d)->operands;

	return d->insn->id == X86_INS_JMP && op->type == X86_OP_MEM &&
	       op->mem.base == X86_REG_RIP && op->mem.index == X86_REG_INVALID &&
	       object->word(object->data, d->insn->address + d->insn->size + (uint64_t)op->mem.disp,
			    to) &&
	       !(leads_has(object, *to) && leads_is_unbound(object, *to));
}

/* Makes one hop from the instruction decoded last, to *to. NULL: done, or why not. */
static const char *leads_hop(struct decoder *d, const struct leads_object *object, uint64_t *to)
{
	if (!leads_by_slot(d, object, to)) {
		if (decode_operands(d)->operands[0].type != X86_OP_IMM)
			return "it is a jump to nobody knows where";
		*to = decode_target(d);
	}
	return leads_has(object, *to) ? NULL : "it is a jump to another object";
}

/* Is it a jump? In a PLT with endbr64 the second instruction is. */
static bool leads_is_jump(struct decoder *d)
{
	return decode(d) &&
	       (d->insn->id == X86_INS_JMP ||
		(d->insn->id == X86_INS_ENDBR64 && decode(d) && d->insn->id == X86_INS_JMP &&
		 decode_operands(d)->operands[0].type == X86_OP_MEM));
}

int leads_beginning(const struct leads_object *object, uint64_t *address, const char **why)
{
	uint64_t at = *address;
	struct decoder d;

	*why = leads_has(object, at) ? NULL : "it is not in its object's code";
	if (*why)
		return -EOPNOTSUPP;
	*why = "no memory to decode it";
	if (leads_open(&d, object, at))
		return -EOPNOTSUPP;
	*why = NULL;
	for (int hops = 0; !*why && leads_is_jump(&d); hops++) {
		*why = hops < LEADS_HOPS ? leads_hop(&d, object, &at) : "it is jumps in a circle";
		if (!*why)
			leads_seek(&d, object, at);
	}
	decoder_close(&d);
	if (*why)
		return -EOPNOTSUPP;
	*address = at;
	return 0;
}

/* ---- all that a function does ------------------------------------------------------------- */

struct leads_walk {
	const struct leads_object *object;
	struct decoder d;
	uint8_t *seen;	/* a bit for each byte of the text */
	uint64_t *todo; /* a stack of addresses */
	size_t depth, capacity;
	unsigned left; /* instructions that may still be looked at */
	uint32_t writes;
	bool outside; /* it calls code outside of the text */

	/* Calls are not followed, but compared with these; NULL: they are followed. */
	const uint64_t *entries;
	size_t count;
	uint64_t own;
	bool entry;
};

/* Does the address lead to an entry in the end? */
static bool leads_is_entry(const struct leads_walk *w, uint64_t address)
{
	const char *why;

	if (leads_beginning(w->object, &address, &why) || address == w->own)
		return false;
	for (size_t i = 0; i < w->count; i++) {
		if (w->entries[i] == address)
			return true;
	}
	return false;
}

static int leads_push(struct leads_walk *w, uint64_t address, bool call)
{
	if (!leads_has(w->object, address)) {
		w->outside = true;
		return 0;
	}
	if (w->entries) {
		w->entry |= leads_is_entry(w, address);
		if (call)
			return 0;
	}
	if (w->depth == w->capacity) {
		size_t capacity = w->capacity ? 2 * w->capacity : 256;
		uint64_t *todo = realloc(w->todo, capacity * sizeof(*todo));

		if (!todo)
			return -ENOMEM;
		w->todo = todo;
		w->capacity = capacity;
	}
	w->todo[w->depth++] = address;
	return 0;
}

/* Marks the address. Is this the first visit? */
static bool leads_mark(struct leads_walk *w, uint64_t address)
{
	uint64_t offset = address - w->object->address;
	uint8_t bit = (uint8_t)(1 << offset % 8);
	bool seen = w->seen[offset / 8] & bit;

	w->seen[offset / 8] |= bit;
	return !seen;
}

/* Takes the instruction decoded last. 1: the one behind it comes next; 0: none does; or -ENOMEM. */
static int leads_step(struct leads_walk *w)
{
	const struct decoder *d = &w->d;
	bool call = decode_is(d, CS_GRP_CALL), jump = d->insn->id == X86_INS_JMP;
	uint64_t to;
	int err;

	w->writes |= decode_writes(d);
	if (decode_branches(d)) {
		err = leads_push(w, decode_target(d), call);
		return err ? err : !jump;
	}
	if (leads_by_slot(d, w->object, &to))
		return leads_push(w, to, call);
	if (call || jump) {
		/* By a pointer: a call may go anywhere; a jump is a switch's or the PLT's. */
		w->outside |= call || decode_operands(d)->operands[0].type == X86_OP_MEM;
		return call;
	}
	return !decode_is(d, CS_GRP_RET) && d->insn->id != X86_INS_UD2 &&
	       d->insn->id != X86_INS_INT3 && d->insn->id != X86_INS_HLT;
}

static bool leads_done(const struct leads_walk *w)
{
	return w->entries ? w->entry : w->outside || (w->writes & LEADS_ALL) == LEADS_ALL;
}

/* From one address on. */
static int leads_run(struct leads_walk *w, uint64_t address)
{
	int next = 1;

	leads_seek(&w->d, w->object, address);
	while (next == 1 && w->left && w->d.left && leads_mark(w, w->d.address) && decode(&w->d)) {
		w->left--;
		next = leads_step(w);
	}
	return next < 0 ? next : 0;
}

static int leads_all(struct leads_walk *w, uint64_t address)
{
	int err;

	if (!leads_has(w->object, address))
		return 0;
	w->own = address;
	w->left = LEADS_INSTRUCTIONS;
	w->seen = calloc(1, w->object->size / 8 + 1);
	err = w->seen ? leads_open(&w->d, w->object, address) : -ENOMEM;
	if (err)
		goto out;
	err = leads_run(w, address);
	while (!err && w->depth && w->left && !leads_done(w))
		err = leads_run(w, w->todo[--w->depth]);
	decoder_close(&w->d);
out:
	free(w->seen);
	free(w->todo);
	return err;
}

bool leads_calls(const struct leads_object *object, uint64_t address, const uint64_t *entries,
		 size_t count)
{
	struct leads_walk w = {.object = object, .entries = entries, .count = count};

	return leads_all(&w, address) || w.entry;
}

bool leads_writes_all(const struct leads_object *object, uint64_t address)
{
	struct leads_walk w = {.object = object};

	return !leads_all(&w, address) && leads_done(&w);
}
