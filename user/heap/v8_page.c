// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * heap/basic-memory-chunk.h (to V8 12.4), heap/memory-chunk-metadata.h (from 12.9 on): seen in Node 16 to 26. What is compared are the words
 * that tell the same in two ways: what was mapped for the page, and where its objects begin and end.
 */
#include "user/heap/v8_page.h"

#include "user/base/util.h"

/* From the beginning of a page to its objects. */
#define V8_HEADER_MAX (64ull << 10)
#define V8_WORDS      13

/* Which word is what. */
struct v8_page_form {
	uint8_t size, heap, begin, end; /* the last two: of its objects, addresses */
	uint8_t mapped, mapped_size;	/* what was mapped for it */
	bool apart;			/* they are where the page's second word leads to */
};

static const struct v8_page_form v8_page_forms[] = {
	{.size = 0, .heap = 2, .begin = 3, .end = 4, .mapped = 10, .mapped_size = 11}, /* 9 to 11 */
	{.size = 2, .heap = 3, .begin = 4, .end = 5, .mapped = 11, .mapped_size = 12}, /* 12.4 */
	{.size = 6, .heap = 8, .begin = 9, .end = 7, .mapped = 1, .mapped_size = 2, .apart = true},
};

static uint64_t v8_page_by(const struct v8_page_form *form, const uint64_t *words, uint64_t at,
			   uint64_t room)
{
	uint64_t size = words[form->size];
	uint64_t begin = words[form->begin] - at, end = words[form->end] - at;

	return size && size <= room && words[form->heap] && begin && begin < V8_HEADER_MAX &&
			       begin < end && end <= size && words[form->mapped] == at &&
			       words[form->mapped_size] >= end
		       ? size
		       : 0;
}

uint64_t v8_page_size(v8_page_read_fn *read, void *ctx, uint64_t at, uint64_t room)
{
	uint64_t own[V8_WORDS], apart[V8_WORDS], size = 0;
	bool has_apart;

	if (!read(ctx, at, own, V8_WORDS))
		return 0;
	has_apart = own[1] && !(own[1] & 7) && own[1] != at && read(ctx, own[1], apart, V8_WORDS);
	for (size_t i = 0; i < ARRAY_SIZE(v8_page_forms) && !size; i++) {
		const struct v8_page_form *form = &v8_page_forms[i];

		if (!form->apart || has_apart)
			size = v8_page_by(form, form->apart ? apart : own, at, room);
	}
	return size;
}
