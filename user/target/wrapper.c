// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/wrapper.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "bpf/alloc_op.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/object.h"
#include "user/target/plt.h"
#include "user/target/provider.h"
#include "user/target/provider_options.h"

/*
 * An allocator's own function, with a fast path beside the call, is longer than this. The wrappers
 * of libstdc++ and jemalloc measure 5 to 81 bytes.
 */
#define MAX_WRAPPER_BYTES 96

struct context {
	struct provider *provider;
	Elf *elf;
	const struct provider_options *options;
};

static size_t wrapper_read_code(const struct object *object, uint64_t vaddr, uint8_t *code,
				size_t size)
{
	uint64_t offset;
	ssize_t n;

	if (object_vaddr_to_offset(object, vaddr, &offset) || !object_is_code(object, offset))
		return 0;
	n = pread(object_fd(object), code, size, (off_t)offset);
	return n < 0 ? 0 : (size_t)n;
}

#if defined(__x86_64__)

/*
 * Does a direct call or jump begin at code[at], and where does it go? The search also looks amid
 * other instructions. No harm comes of that: a wrong address does not hit the beginning of a
 * provider's function.
 */
static bool branch_at(const uint8_t *code, size_t len, uint64_t vaddr, size_t at, uint64_t *target)
{
	int32_t displacement;

	if (at + 5 > len || (code[at] != 0xe8 && code[at] != 0xe9))
		return false;
	memcpy(&displacement, code + at + 1, 4);
	*target = vaddr + at + 5 + (uint64_t)(int64_t)displacement;
	return true;
}
#define BRANCH_STEP 1

#elif defined(__aarch64__)

/* b and bl */
static bool branch_at(const uint8_t *code, size_t len, uint64_t vaddr, size_t at, uint64_t *target)
{
	uint32_t instruction;
	uint64_t distance;

	if (at + 4 > len)
		return false;
	memcpy(&instruction, code + at, 4);
	if ((instruction & 0x7c000000) != 0x14000000)
		return false;
	distance = ((uint64_t)instruction & 0x3ffffff) << 2;
	if (distance & 1ULL << 27)
		distance |= 0xfffffffff0000000ULL;
	*target = vaddr + at + distance;
	return true;
}
#define BRANCH_STEP 4

#endif

static struct provider_fn *fn_at_vaddr(const struct context *c, uint64_t vaddr)
{
	uint64_t offset;

	if (vaddr == 0 || object_vaddr_to_offset(c->provider->object, vaddr, &offset))
		return NULL;
	for (size_t i = 0; i < c->provider->count; i++) {
		if (c->provider->fns[i].offset == offset)
			return &c->provider->fns[i];
	}
	return NULL;
}

/* The provider's function that a branch target means, directly or through the PLT. */
static struct provider_fn *fn_of_target(const struct context *c, uint64_t vaddr)
{
	struct provider_fn *fn = fn_at_vaddr(c, vaddr);
	struct plt_symbol symbol;
	uint8_t code[PLT_ENTRY];
	uint64_t slot;
	size_t len;

	if (fn)
		return fn;
	len = wrapper_read_code(c->provider->object, vaddr, code, sizeof(code));
	slot = plt_slot(code, len, vaddr);
	return slot && plt_symbol(c->elf, slot, &symbol) ? fn_at_vaddr(c, symbol.vaddr) : NULL;
}

/* The function that a short one hands on to, NULL when it does the work itself. */
static struct provider_fn *wrapper_callee(const struct context *c, const struct provider_fn *fn)
{
	uint8_t code[MAX_WRAPPER_BYTES];
	uint64_t vaddr, target;
	size_t len;

	if (fn->size == 0 || fn->size > sizeof(code) ||
	    object_offset_to_vaddr(c->provider->object, fn->offset, &vaddr))
		return NULL;
	len = wrapper_read_code(c->provider->object, vaddr, code, (size_t)fn->size);
	for (size_t at = 0; at < len; at += BRANCH_STEP) {
		struct provider_fn *other;

		if (!branch_at(code, len, vaddr, at, &target) || target - vaddr < fn->size)
			continue;
		other = fn_of_target(c, target);
		if (other && other != fn && (other->fn->op == OP_FREE) == (fn->fn->op == OP_FREE))
			return other;
	}
	return NULL;
}

static struct provider_fn *wrapper_removable(const struct context *c, const struct provider_fn *fn)
{
	if (provider_options_own(c->options, fn->fn) || (fn->fn->op != OP_FREE && !fn->fn->cxx))
		return NULL;
	return wrapper_callee(c, fn);
}

bool wrapper_hands_on(struct provider *provider, Elf *elf, const struct provider_fn *fn)
{
	const struct context c = {.provider = provider, .elf = elf};

	return wrapper_callee(&c, fn) != NULL;
}

void wrapper_remove(struct provider *provider, Elf *elf, const struct provider_options *options)
{
	struct context c = {.provider = provider, .elf = elf, .options = options};
	_cleanup_free_ struct provider_fn **calls =
		calloc(provider->count, sizeof(struct provider_fn *));
	size_t kept = 0;

	if (!calls)
		return;
	for (size_t i = 0; i < provider->count; i++) {
		struct provider_fn *end = wrapper_removable(&c, &provider->fns[i]);

		/*
		 * A chain of wrappers ends at one that stays; in a circle the last one looked at
		 * does.
		 */
		while (end && calls[end - provider->fns])
			end = calls[end - provider->fns];
		if (end != &provider->fns[i])
			calls[i] = end;
	}
	for (size_t i = 0; i < provider->count; i++) {
		if (calls[i]) {
			log_debug("%s: %s only calls %s", object_name(provider->object),
				  provider->fns[i].name, calls[i]->name);
			free(provider->fns[i].name);
		} else {
			provider->fns[kept++] = provider->fns[i];
		}
	}
	provider->count = kept;
}
