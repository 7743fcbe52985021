// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/registers.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "bpf/sleepers_abi.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* XSAVE areas with AMX tiles have 11 KiB; SVE at its longest vectors 8.5 KiB. */
#define VECTOR_MAX 16384

#define GENERAL_WORDS (sizeof(struct user_regs_struct) / 8)

#if defined(__x86_64__)
#define VECTOR_NOTE NT_X86_XSTATE
static void registers_take_pointers(struct stop_thread *t)
{
	const struct user_regs_struct *regs = (const void *)t->words;

	t->sp = regs->rsp;
	t->tls = regs->fs_base;
}
#elif defined(__aarch64__)
#define VECTOR_NOTE NT_PRFPREG
static void registers_take_pointers(struct stop_thread *t)
{
	const struct user_regs_struct *regs = (const void *)t->words;
	struct iovec tls = {&t->tls, sizeof(t->tls)};

	t->sp = regs->sp;
	if (ptrace(PTRACE_GETREGSET, t->tid, NT_ARM_TLS, &tls))
		t->tls = 0;
}
#else
#error "registers of this architecture are not known"
#endif

static int registers_take_words(struct stop_thread *t, const uint64_t *general,
				size_t general_words, const uint64_t *vector, size_t vector_words)
{
	t->words = calloc(general_words + vector_words + 1, sizeof(*t->words));
	if (!t->words)
		return -ENOMEM;
	memcpy(t->words, general, general_words * 8);
	memcpy(t->words + general_words, vector, vector_words * 8);
	t->word_count = general_words + vector_words;
	return 0;
}

int registers_read(struct stop_thread *t)
{
	uint64_t general[GENERAL_WORDS], vector[VECTOR_MAX / 8];
	struct iovec to = {general, sizeof(general)};
	size_t words;
	int err;

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &to))
		return -errno;
	words = to.iov_len / 8;
	to = (struct iovec){vector, sizeof(vector)};
	if (ptrace(PTRACE_GETREGSET, t->tid, VECTOR_NOTE, &to))
		to.iov_len = 0;
	err = registers_take_words(t, general, words, vector, to.iov_len / 8);
	if (!err)
		registers_take_pointers(t);
	return err;
}

/* ---- of sleepers -------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define XSAVE_LEAF    0xd
#define LEGACY_SIZE   512 /* FXSAVE's area */
#define AREA_SIZE     576 /* with XSAVE's header */
#define FEATURE_X87   1u
#define FEATURE_SSE   2u
#define FEATURE_FIRST 2 /* the first one behind the header */
#define FEATURE_LAST  62
#define COMPACTED     63
#define SUPERVISOR    1u /* of CPUID's ecx: not the program's */
#define ALIGNED	      2u /* ... : to 64 bytes, when compacted */

void registers_layout(struct registers_layout *out)
{
	unsigned low, high, system_low, system_high, unused;
	uint64_t features;

	*out = (struct registers_layout){0};
	if (!__get_cpuid_count(XSAVE_LEAF, 0, &low, &unused, &unused, &high) ||
	    !__get_cpuid_count(XSAVE_LEAF, 1, &unused, &unused, &system_low, &system_high))
		return;
	features = low | system_low | (uint64_t)(high | system_high) << 32;
	for (unsigned i = FEATURE_FIRST; i <= FEATURE_LAST; i++) {
		unsigned size, offset, flags;

		if (!(features >> i & 1))
			continue;
		__cpuid_count(XSAVE_LEAF, i, size, offset, flags, unused);
		out->parts[i].size = size;
		out->parts[i].offset = offset;
		out->parts[i].aligned = flags & ALIGNED;
		out->parts[i].kernels = flags & SUPERVISOR;
	}
}

static uint64_t registers_word_at(const unsigned char *area, size_t offset)
{
	uint64_t word;

	memcpy(&word, area + offset, sizeof(word));
	return word;
}

/*
 * Copies the kernel's form of XSAVE's area, in which parts may be missing, into the standard one
 * (Intel's manual, volume 1, 13.4). Leaves out parts that are not in use: they hold old values.
 * Returns the size in bytes.
 */
static size_t registers_take_vector(const struct registers_layout *layout,
				    const unsigned char *area, size_t size,
				    unsigned char to[VECTOR_MAX])
{
	size_t next = AREA_SIZE, end = LEGACY_SIZE;
	uint64_t used, kept;

	memset(to, 0, VECTOR_MAX);
	if (size < AREA_SIZE) {
		memcpy(to, area, size);
		return size;
	}
	used = registers_word_at(area, LEGACY_SIZE);
	kept = registers_word_at(area, LEGACY_SIZE + 8);
	if (used & FEATURE_X87)
		memcpy(to, area, 160);
	if (used & FEATURE_SSE)
		memcpy(to + 160, area + 160, 256);
	memcpy(to + LEGACY_SIZE, &used, sizeof(used));
	for (unsigned i = FEATURE_FIRST; i <= FEATURE_LAST; i++) {
		size_t length = layout->parts[i].size, offset = layout->parts[i].offset;
		size_t from = offset;

		if (kept >> COMPACTED) {
			if (!(kept >> i & 1))
				continue;
			from = layout->parts[i].aligned ? (next + 63) & ~(size_t)63 : next;
			next = from + length;
		}
		if (!(used >> i & 1) || layout->parts[i].kernels || from + length > size ||
		    offset + length > VECTOR_MAX)
			continue;
		memcpy(to + offset, area + from, length);
		if (offset + length > end)
			end = offset + length;
	}
	return (end > AREA_SIZE ? end : AREA_SIZE) & ~(size_t)7;
}
#else
void registers_layout(struct registers_layout *out)
{
	*out = (struct registers_layout){0};
}

static size_t registers_take_vector(const struct registers_layout *layout,
				    const unsigned char *area, size_t size,
				    unsigned char to[VECTOR_MAX])
{
	(void)layout;
	memcpy(to, area, size);
	return size & ~(size_t)7;
}
#endif

int registers_of_sleeper(struct stop_thread *t, const struct sleeper *sleeper,
			 const struct registers_layout *layout)
{
	uint64_t general[GENERAL_WORDS] = {0}, vector[VECTOR_MAX / 8];
	size_t size = sleeper->vector_size;
	int err;

	_Static_assert(sizeof(sleeper->general) <= sizeof(general), "they fit");
	_Static_assert(SLEEPER_VECTOR_MAX <= VECTOR_MAX, "they fit");
	if (size > SLEEPER_VECTOR_MAX)
		return -EINVAL;
	memcpy(general, sleeper->general, sizeof(sleeper->general));
#if defined(__x86_64__)
	general[offsetof(struct user_regs_struct, fs_base) / 8] = sleeper->tls;
	general[offsetof(struct user_regs_struct, gs_base) / 8] = sleeper->gs_base;
#endif
	size = registers_take_vector(layout, (const unsigned char *)(sleeper + 1), size,
				     (unsigned char *)vector);
	err = registers_take_words(t, general, GENERAL_WORDS, vector, size / 8);
	if (err)
		return err;
	t->tls = sleeper->tls;
	t->sp = sleeper->general[SLEEPER_SP];
	return 0;
}
