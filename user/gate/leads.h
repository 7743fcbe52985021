/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where an allocator's function leads. A jump as its first instruction leads to its real beginning.
 * Its branches may lead to others that are to have a stub. x86_64.
 */
#ifndef MEMLEAKBPF_GATE_LEADS_H
#define MEMLEAKBPF_GATE_LEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object's code in a process. */
struct leads_object {
	const uint8_t *text; /* from the file: the code in memory may have probes in it */
	size_t size;
	uint64_t address; /* of text[0] in the process */
	/* Reads a word of the process: a PLT slot's present target. False: it cannot. */
	bool (*word)(void *data, uint64_t address, uint64_t *out);
	void *data;
};

/*
 * musl's malloc and mimalloc's memalign are only a jump, which cannot stay in front of another one.
 * Sets *address to the first place behind such jumps; several functions may come to one place. 0;
 * or -EOPNOTSUPP with *why, a static string: a jump goes out of the object, or nobody can say
 * where.
 */
int leads_beginning(const struct leads_object *object, uint64_t *address, const char **why);

/*
 * Does the function at `address` itself branch or call, by the PLT too, to another of these
 * functions' beginnings? Looks no deeper than the function itself: the paths on which an allocator
 * reports that it is broken lead everywhere. True also without memory to look.
 */
bool leads_calls(const struct leads_object *object, uint64_t address, const uint64_t *entries,
		 size_t count);

/*
 * Does the function, with all that it calls, write every register that the ABI lets it write, or
 * call code outside of the object? If not, a caller compiled together with it may rely on a
 * register that it leaves alone (gcc's -fipa-ra). A stub writes all of these registers, so such a
 * function cannot have one. False also without memory to look.
 */
bool leads_writes_all(const struct leads_object *object, uint64_t address);

#endif
