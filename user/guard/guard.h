/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guard sampling in one running process. Pages of code and data and a pool are mapped into it. A
 * jump is put behind the first instruction of each function of its allocator (docs/guard.md).
 *
 * 	guard_open()	maps all that; nothing goes through it yet
 * 	guard_sites()	where probes may be put, in the file guard_path()
 * 	guard_start()	the jumps: from now on one call in many gets a guarded block
 * 	guard_prepare()	the jumps, while nothing is guarded yet: a gate comes before the first block
 * 	guard_close()	no more of them; the functions get their bytes back, if no block is left
 *
 * With a gate in one process the guards come first and go last: then the gate's books have the
 * guarded blocks. Guards behind a gate that somebody uses are refused.
 *
 * Probes of the same functions must sit on their first bytes. An end of a guarded block comes to
 * none further on, nor does the return of an allocation. The first byte's instruction has run when
 * a stub is reached.
 *
 * The pages stay in the process until it ends. The jumps stay as long as it has a guarded block,
 * which must not come to the real allocator. A later guard_open() takes over what is there, also
 * from a tool that was killed: its stubs go on meanwhile, and come to no probe.
 *
 * Errors are -errno with the reason, a clause about the process, not logged.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_H
#define MEMLEAKBPF_GUARD_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/reason.h"
#include "user/gate/gate.h"

struct guard_request {
	/*
	 * The process, the functions and their text, and the nop, as for a gate. Kinds are
	 * GUARD_KIND_* of guard_layout.h; `instead` of realloc's kinds is the malloc of the list.
	 * The rest is not looked at. The caller knows that all functions are in it that can get a
	 * block of this allocator. The first block that comes to another one ends the process.
	 */
	struct gate_request in;
	/*
	 * The text that holds the functions of kind GUARD_KIND_PRCTL and _SYSCALL, by which a
	 * thread may get a seccomp filter. It may be another text than theirs. No size: there are
	 * none.
	 */
	const uint8_t *leave_text;
	uint64_t leave_address, leave_size;
	const char *
		keeps; /* why pages are kept in any case, a clause about it, static; NULL: they need not be */
	uint32_t
		/*
		 * places of the pool: guard_count_fits(). A pool that is there already has its own
		 * count
		 */
		count;
	uint64_t period;  /* mean calls between two guarded ones */
	unsigned at_left; /* of 256 blocks so many lie at their page's beginning */
	/*
	 * The caller hears of the fault at guard_place.given, which tells of a block;
	 * GUARD_ALLOCATED tells where no fault comes.
	 */
	bool by_fault;
	/*
	 * An array of BPF's of GUARD_SAID_SIZE bytes, in which the caller's probe at GUARD_ENDED says
	 * what GUARD_SAID's words are to be. If the process cannot map it pages are kept. -1: the
	 * probe says nothing, and nothing is asked of it.
	 */
	int said;
};

/*
 * 0, or -errno with the reason why no process of this machine can have guards. The kernel may be
 * set to give no more memory than there is.
 */
int guard_check_memory(char reason[static REASON_MAX]);

struct guard;

int guard_open(const struct guard_request *request, struct guard **out,
	       char reason[static REASON_MAX]);

/* What a hit at a site means; registers are as in struct guard_stub of guard_layout.h. */
enum guard_event {
	GUARD_ALLOCATED, /* block, size, the stub's number */
	GUARD_ENDED,	 /* block, the stub's number */
	GUARD_BAD,	 /* block, what is wrong, the stub's number */
};

struct guard_site {
	uint64_t offset; /* in the file */
	enum guard_event event;
};

/* Owned by the guard. */
const struct guard_site *guard_sites(const struct guard *guard, size_t *count);

/* The number by which sites tell the function with that index in the request. */
uint64_t guard_stub_number(const struct guard *guard, size_t function);

/*
 * Call it when the process has mapped or unmapped code: the stubs tell callers of the allocator
 * apart by it. 0 or -errno, not logged.
 */
int guard_note_texts(const struct guard *guard);

/*
 * Pages around the block of this life have been touched: the stub is to drop them before the
 * place's next block. 0, or -errno, not logged. -ESTALE: the place has its next block already; the
 * pages go before the one after it.
 */
int guard_note_touch(const struct guard *guard, uint32_t place, uint64_t life);

/* Has the place had no other block since the one of this life? Unknown is no. */
bool guard_still(const struct guard *guard, uint32_t place, uint64_t life);

/* "/proc/self/fd/N": the file with the code, this process's alone. */
const char *guard_path(const struct guard *guard);

/* Where the guards are in the process. */
struct guard_place {
	uint64_t code;	/* GUARD_SIZE bytes, data and all */
	uint64_t given; /* of the instruction in the code whose fault tells of a new block */
	uint64_t pool;	/* guard_pool_size(count) bytes */
	uint32_t count; /* of places */
	bool taken_over;
	bool keep_pages; /* a seccomp filter is there: no use after free can be seen */
	int filters;	 /* of each of its threads; -1: not all have as many, or unknown */
	const char *
		/* why, a clause about the process that the guard owns; NULL: pages are not kept */
		keep_reason;
};
struct guard_place guard_place(const struct guard *guard);

/*
 * 0, or -errno with the reason: then call guard_close(). guard_start() includes guard_prepare(),
 * and may follow it. A process that stands still for request.in.hold still does, unless it is
 * unknown whether jumps are there.
 */
int guard_prepare(struct guard *guard, char reason[static REASON_MAX]);
int guard_start(struct guard *guard, char reason[static REASON_MAX]);

/*
 * Guards nothing from now on: writes one word; the jumps stay until guard_close(). Guarded blocks
 * stay guarded until they are freed. 0, or -errno with the reason.
 */
int guard_pause(struct guard *guard, char reason[static REASON_MAX]);

/*
 * Call it now and then, as with each snapshot. Arms guards again that were touched without an
 * event, and looks for seccomp filters. 0: none is new. GUARD_WATCH_KEEPS: one has come that might
 * not let madvise pass, or cannot be looked at, and pages are kept from now on (guard_place()).
 * GUARD_WATCH_DROPS: they are kept no more. -errno with the reason: nothing is guarded any more, as
 * after guard_pause(). A filter that comes by the functions of guard_request.leave_text has had
 * pages kept since before it came. One that comes by a system call of the program's own may have
 * killed for madvise before this call.
 */
#define GUARD_WATCH_KEEPS 1
#define GUARD_WATCH_DROPS 2
int guard_watch(struct guard *guard, char reason[static REASON_MAX]);

/*
 * Reads the counts since guard_open(), and the number of guarded blocks, an earlier tool's
 * included. 0 or -errno, not logged.
 */
struct guard_header;
int guard_read(const struct guard *guard, struct guard_header *header, uint64_t *live);

/*
 * For how long the process has stood still for the guards so far, in ns: the longest time of one
 * thread.
 */
uint64_t guard_pause_ns(const struct guard *guard);

/*
 * Ends and frees the guard. `gone`: the process or its program has ended. 0: no jump is there any
 * more. 1: the jumps stay, as the process has guarded blocks, or a gate (user/gate) stands before
 * them, which is to be closed first. -errno with the reason: they stay for another one. Either way
 * nothing is guarded from now on, unless the memory could not be written. NULL is fine.
 */
int guard_close(struct guard *guard, bool gone, char reason[static REASON_MAX]);

#endif
