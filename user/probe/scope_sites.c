// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/scope_sites.h"

#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/place.h"
#include "user/probe/probe.h"
#include "user/probe/returns_step.h"
#include "user/process/elf_open.h"
#include "user/process/object.h"
#include "user/target/bounds.h"

#define CODE_MAX  (1u << 20) /* of one function */
#define SITES_MAX 256	     /* likewise */

struct scope_site {
	uint64_t vaddr;
	enum probe_role role;
};

/* One function's code, from its first instruction to its last. */
struct scope_code {
	struct decoder *decoder;
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
	uint8_t *starts; /* a byte for each of `bytes`: an instruction begins there */
	size_t site_count;
	struct scope_site sites[SITES_MAX];
};

static bool scope_is_within(const struct scope_code *code, uint64_t vaddr)
{
	return vaddr >= code->vaddr && vaddr - code->vaddr < code->size;
}

static void scope_decode(const struct scope_code *code, size_t at, struct step *step)
{
	size_t left = code->size - at;

	left = left < STEP_BYTES ? left : STEP_BYTES;
#if defined(__x86_64__)
	step_x86_64(code->decoder, code->bytes + at, left, code->vaddr + at, step);
#else
	step_aarch64(code->bytes + at, left, code->vaddr + at, step);
#endif
}

static void scope_add_site(struct scope_code *code, size_t at, enum probe_role role)
{
	if (code->site_count < SITES_MAX)
		code->sites[code->site_count++] =
			(struct scope_site){.vaddr = code->vaddr + at, .role = role};
}

/* Compilers put no data between instructions: all is read from the first one on. */
static void scope_read_code(struct scope_code *code)
{
	size_t at = 0;

	while (at < code->size) {
		struct step step = {0};

		scope_decode(code, at, &step);
		if (step.kind == STEP_UNDECODABLE || !step.size)
			break;
		code->starts[at] = 1;
		if (step.kind == STEP_RETURN)
			scope_add_site(code, at, PROBE_SCOPE_RETURN);
		else if (step.kind == STEP_JUMP_THROUGH ||
			 ((step.kind == STEP_JUMP || step.kind == STEP_BRANCH) &&
			  !scope_is_within(code, step.target)))
			scope_add_site(code, at, PROBE_SCOPE_TAIL);
		at += step.size;
	}
	code->size = at;
}

/*
 * Do all jumps within the function lead to instructions? If not, we have taken this for the wrong
 * code, and a probe could end up in the middle of something.
 */
static bool scope_code_is_consistent(const struct scope_code *code)
{
	for (size_t at = 0; at < code->size; at++) {
		struct step step = {0};

		if (!code->starts[at])
			continue;
		scope_decode(code, at, &step);
		if ((step.kind == STEP_JUMP || step.kind == STEP_BRANCH) &&
		    scope_is_within(code, step.target) && !code->starts[step.target - code->vaddr])
			return false;
	}
	return true;
}

/* `entry`: the index of the probe at the function's entry. */
static int scope_take_sites(struct probe_set *set, size_t entry, const struct scope_code *code)
{
	const struct provider_fn *fn = set->probes[entry].fn;
	const struct object *object = set->provider->object;
	struct probe *grown =
		realloc(set->probes, (set->count + code->site_count + 1) * sizeof(*set->probes));

	if (!grown)
		return -ENOMEM;
	set->probes = grown;
	for (size_t i = 0; i < code->site_count; i++) {
		const struct scope_site *site = &code->sites[i];
		uint64_t offset;

		if (object_vaddr_to_offset(object, site->vaddr, &offset))
			continue;
		if (offset == set->probes[entry].offset) {
			set->probes[entry].ends_call = true;
			continue;
		}
		set->probes[set->count++] = (struct probe){.offset = offset,
							   .role = site->role,
							   .fn = fn,
							   .place = {.cost = PLACE_STEPPED,
								     .instruction = "ret",
								     .reason = "end of a scope"}};
		set->site_count++;
	}
	return 0;
}

static int scope_look_at(struct probe_set *set, size_t entry, const struct bounds *bounds,
			 struct decoder *decoder)
{
	const struct provider_fn *fn = set->probes[entry].fn;
	const struct object *object = set->provider->object;
	_cleanup_free_ struct scope_code *code = calloc(1, sizeof(*code));
	_cleanup_free_ uint8_t *bytes = NULL, *starts = NULL;
	uint64_t vaddr, size = fn->size, next;
	ssize_t n;

	if (object_offset_to_vaddr(object, fn->offset, &vaddr))
		return 0;
	next = bounds_next(bounds, vaddr);
	if (!size && next != UINT64_MAX)
		size = next - vaddr;
	if (!size || size > CODE_MAX)
		return 0;
	bytes = malloc(size);
	starts = calloc(1, size);
	if (!code || !bytes || !starts)
		return -ENOMEM;
	n = pread(object_fd(object), bytes, size, (off_t)fn->offset);
	if (n <= 0)
		return 0;
	code->decoder = decoder;
	code->bytes = bytes;
	code->starts = starts;
	code->size = (size_t)n;
	code->vaddr = vaddr;
	scope_read_code(code);
	if (!scope_code_is_consistent(code)) {
		log_debug("%s: no probes on the returns of %s: its code is not understood",
			  object_path(object), fn->name);
		return 0;
	}
	return scope_take_sites(set, entry, code);
}

int scope_sites_add(struct probe_set *set)
{
	_cleanup_elf_ Elf *elf = object_elf(set->provider->object, ELF_FOR_SYMBOLS);
	struct bounds *bounds = elf ? bounds_new(elf, object_fd(set->provider->object)) : NULL;
	struct decoder *decoder = NULL;
	size_t functions = set->count;
	int err = 0;

#if defined(__x86_64__)
	decoder = decoder_new();
	err = decoder ? 0 : -ENOMEM;
#endif
	for (size_t i = 0; i < functions && !err; i++)
		err = scope_look_at(set, i, bounds, decoder);
	bounds_free(bounds);
#if defined(__x86_64__)
	decoder_free(decoder);
#endif
	return err;
}
