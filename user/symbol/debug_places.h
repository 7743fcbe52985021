/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the code has something of the source, by DWARF (DWARF 5, sections 3.3 and 6.2). It finds
 * functions that begin at a line, and inlined calls of a function. To be asked in a process of its
 * own (debug_child.h).
 */
#ifndef MEMLEAKBPF_SYMBOL_DEBUG_PLACES_H
#define MEMLEAKBPF_SYMBOL_DEBUG_PLACES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/bytes.h"

#define DEBUG_PLACE_TEXT 256
#define DEBUG_PLACES_MAX 64

struct debug_place_query {
	/*
	 * Not 0: finds the functions that begin at that line of the file `text`, the end of a path.
	 * That is from their declaration to the first line of their body. 0: finds the inlined
	 * calls of functions that `text` means (function_match.h).
	 */
	uint64_t line;
	char text[DEBUG_PLACE_TEXT];
};

struct debug_places {
	struct debug_place {
		uint64_t vaddr; /* link-time, of the function's entry; 0: an inlined call */
		uint32_t line;
		char file[DEBUG_PLACE_TEXT]; /* cut if longer */
	} items[DEBUG_PLACES_MAX];
	size_t count; /* of the first places; there may be more */
};

/* Adds the places found. `bias` as debuginfo_new(). */
void debug_places_find(Dwarf *dwarf, uint64_t bias, const struct debug_place_query *query,
		       struct debug_places *out);

void debug_places_pack(const struct debug_places *places, struct bytes_writer *to);
/* 0 or -EBADMSG: empty then. */
int debug_places_parse(struct bytes_reader *from, struct debug_places *out);

#endif
