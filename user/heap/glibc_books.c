// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/glibc_books.h"

#include "user/base/util.h"

bool glibc_word(struct glibc_books *books, uint64_t address, uint64_t *word)
{
	return memory_image_word_near(books->image->memory, &books->region, address, word);
}

const struct glibc_row *glibc_row_at(const struct glibc_books *books, uint64_t address)
{
	size_t i = BISECT(i, 0, books->row_count, books->rows[i].begin <= address);

	return i && address < books->rows[i - 1].end ? &books->rows[i - 1] : NULL;
}
