/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where an allocator's function leads to: by a jump as its first instruction to where it really
 * begins, and by its branches to others that are to have a stub. x86_64.
 */
#ifndef MEMLEAKBPF_GATE_LEADS_H
#define MEMLEAKBPF_GATE_LEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An object's code in a process. */
struct leads_object {
	const uint8_t *text; /* as the file has it: in memory there may be probes in it */
	size_t size;
	uint64_t address; /* of text[0] in the process */
	/* Reads a word of the process: where a slot of the PLT goes to now. False: it cannot. */
	bool (*word)(void *data, uint64_t address, uint64_t *out);
	void *data;
};

/*
 * musl's malloc and mimalloc's memalign are only a jump, which cannot stay and have another one behind
 * it. Sets *address to where the function at *address begins that is no jump; several may come to one
 * place. 0; or -EOPNOTSUPP with *why, a static string: a jump goes out of the object, or nobody can
 * say where.
 */
int leads_beginning(const struct leads_object *object, uint64_t *address, const char **why);

/*
 * Does the function at `address` itself branch or call, by the PLT too, to one of these: where other
 * functions begin? Its own does not count. What is called by what it calls is not looked at: the ways
 * on which an allocator reports that it is broken lead everywhere. True also without memory to look.
 */
bool leads_calls(const struct leads_object *object, uint64_t address, const uint64_t *entries,
		 size_t count);

/*
 * Does the function, with all that it calls, write every register that the ABI lets it write, or call
 * what is not in the object? If not, a caller that was compiled together with it may know a register
 * that it leaves alone (gcc's -fipa-ra), and it cannot have a stub, which writes all of them. False
 * also without memory to look.
 */
bool leads_writes_all(const struct leads_object *object, uint64_t address);

#endif
