/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The `ret` instructions at which a call of a function can end. A return probe replaces the return
 * address on the stack by the kernel's trampoline, for which a C++ unwinder finds no frame
 * description. An exception that passes it terminates the program. Functions that an exception may
 * leave get plain probes on their `ret` instructions instead.
 *
 * The search follows the code from the entry: both ways at conditional jumps, along direct jumps,
 * past calls. Direct jumps may lead into other functions: a tail call returns for its caller. Code
 * behind a call that never returns may belong to no call of this function. A `ret` found there
 * counts all the same: a hit that ends no known call is ignored. A jump that cannot be followed for
 * certain (through a table) makes the answer "not known".
 */
#ifndef MEMLEAKBPF_PROBE_RETURNS_H
#define MEMLEAKBPF_PROBE_RETURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#define RETURNS_MAX 48 /* sites of one function */

/* Where a jump out of the code at hand leads. */
enum returns_target {
	RETURNS_CODE,	 /* code at *vaddr, to be followed */
	RETURNS_PROBED,	 /* a function with a return probe of its own: nothing to do */
	RETURNS_UNKNOWN, /* another object's code, or unknown */
};

/* The source of the code. Addresses are link-time virtual addresses. */
struct returns_source {
	/*
	 * Reads up to `size` bytes of code. Returns how many there were; 0 where there is no code.
	 */
	size_t (*read)(void *ctx, uint64_t vaddr, uint8_t *code, size_t size);
	/* The end of the function around vaddr: where the next one begins. UINT64_MAX: unknown. */
	uint64_t (*end)(void *ctx, uint64_t vaddr);
	/* Where a direct jump to *vaddr leads: through a PLT entry perhaps. */
	enum returns_target (*jump)(void *ctx, uint64_t *vaddr);
	/* Where a jump through the pointer stored at *vaddr leads (GOT). */
	enum returns_target (*jump_through)(void *ctx, uint64_t *vaddr);
	void *ctx;
};

struct returns {
	uint64_t sites[RETURNS_MAX]; /* addresses of the instructions, ascending */
	size_t count;
	const char *reason; /* why the sites are not known; static string */
};

/*
 * Finds the sites of the function at `vaddr`. 0; -ENOTSUP when they cannot be told (out->reason
 * says why, not logged); -ENOMEM. A function that only ends by tail calls to RETURNS_PROBED has no
 * sites.
 */
int returns_find(const struct returns_source *source, uint64_t vaddr, struct returns *out);

/* The same for code of a given architecture, whatever this machine's is. */
int returns_find_x86_64(const struct returns_source *source, uint64_t vaddr, struct returns *out);
int returns_find_aarch64(const struct returns_source *source, uint64_t vaddr, struct returns *out);

#endif
