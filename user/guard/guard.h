/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guard sampling in one running process: pages of code and data and a pool are mapped into it, and a
 * jump is put behind the first instruction of each function of its allocator (docs/guard.md).
 *
 *	guard_open()	maps all that; nothing goes through it yet
 *	guard_sites()	where probes may be put, in the file guard_path()
 *	guard_start()	the jumps: from now on one call in many gets a guarded block
 *	guard_prepare()	the jumps, while nothing is guarded yet: a gate comes before the first block
 *	guard_close()	no more of them; the functions get their bytes back, if no block is left
 *
 * With a gate in one process the guards come first and go last: the gate's books have the guarded blocks
 * then. Guards behind a gate that somebody uses are refused.
 *
 * Probes of the same functions must sit on their first bytes: an end of a guarded block comes to none
 * further on, nor does the return of an allocation. The instruction of the first byte has run when a
 * stub is reached.
 *
 * What stays in the process until it ends: the pages; and the jumps as long as it has a guarded block,
 * which must not come to the real allocator. A later guard_open() takes over what is there, also what a
 * tool has left that was killed: its stubs go on meanwhile, and come to no probe.
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
	 * The process, the functions and their text, the nop, as for a gate; kinds are GUARD_KIND_* of
	 * guard_layout.h, `instead` of those of realloc is the malloc of the list. The rest is not
	 * looked at. Either all functions that can get a block of this allocator are in it, or the
	 * first block that comes to one that is not will be the process's end: the caller knows.
	 */
	struct gate_request in;
	/*
	 * Of functions of kind GUARD_KIND_PRCTL and _SYSCALL, by which a thread may get a seccomp filter: the text that they lie
	 * in, which may be another one. No size: there are none.
	 */
	const uint8_t *leave_text;
	uint64_t leave_address, leave_size;
	const char *
		keeps; /* why pages are kept in any case, a clause about it, static; NULL: they need not be */
	uint32_t
		count; /* places of the pool: guard_count_fits(). What is there already has its own */
	uint64_t period;  /* one call in so many is guarded, in the mean */
	unsigned at_left; /* of 256 blocks so many lie at their page's beginning */
	/* The caller hears of the fault at guard_place.given: blocks are told by it, and by GUARD_ALLOCATED where none comes. */
	bool by_fault;
};

/*
 * 0, or -errno with the reason why no process of this machine can have guards: the kernel may be told to give no more
 * memory than there is.
 */
int guard_check_memory(char reason[static REASON_MAX]);

struct guard;

int guard_open(const struct guard_request *request, struct guard **out,
	       char reason[static REASON_MAX]);

/* What happens at a site; registers are as struct guard_stub of guard_layout.h has it. */
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

/* By which they tell the function with that index in the request. */
uint64_t guard_stub_number(const struct guard *guard, size_t function);

/*
 * The process has mapped code, or unmapped some: callers of its allocator are told apart by what lies there. 0 or
 * -errno, not logged.
 */
int guard_note_texts(const struct guard *guard);

/*
 * Pages around the block of this life have been touched: the stub is to drop them before the place's next one. 0, or
 * -errno, not logged: -ESTALE (it has its next one already, beside which they stay: they go before the one after it).
 */
int guard_note_touch(const struct guard *guard, uint32_t place, uint64_t life);

/* Has the place had no other block since the one of this life? What is not known is no. */
bool guard_still(const struct guard *guard, uint32_t place, uint64_t life);

/* "/proc/self/fd/N": the file that the code is mapped from, this process's alone. */
const char *guard_path(const struct guard *guard);

/* Where it is in the process. */
struct guard_place {
	uint64_t code;	/* GUARD_SIZE bytes, data and all */
	uint64_t given; /* of the instruction in it whose fault tells that a block is given */
	uint64_t pool;	/* guard_pool_size(count) bytes */
	uint32_t count; /* of places */
	bool taken_over;
	bool keep_pages; /* no use after free can be seen: a seccomp filter */
	int filters; /* seccomp filters of each of its threads; -1: not all have as many, or unknown */
	const char *
		keep_reason; /* why, a clause about it that the guard owns; NULL: they are not kept */
};
struct guard_place guard_place(const struct guard *guard);

/*
 * 0, or -errno with the reason: guard_close() is to come next. guard_start() does both, and may follow. What stands
 * still for request.in.hold still does, unless it is not known whether jumps are there.
 */
int guard_prepare(struct guard *guard, char reason[static REASON_MAX]);
int guard_start(struct guard *guard, char reason[static REASON_MAX]);

/*
 * Nothing is guarded from now on: one word is written, and the jumps stay until guard_close(). Blocks
 * that are guarded already stay so until they are freed. 0, or -errno with the reason.
 */
int guard_pause(struct guard *guard, char reason[static REASON_MAX]);

/*
 * To be called now and then, as with each snapshot: guards that have been touched without an event are to be armed again;
 * and has the process come to what guards do not go with?
 * 0: no; GUARD_WATCH_KEEPS: a seccomp filter has come that might not let madvise pass, or cannot be looked at, and pages
 * are kept from now on (guard_place()); GUARD_WATCH_DROPS: they are kept no more; -errno with the reason: nothing is
 * guarded any more, as after guard_pause(). A filter that comes by the functions of guard_request.leave_text has had pages
 * kept since before it came; one that comes by a system call of the program's own may have killed for madvise before this.
 */
#define GUARD_WATCH_KEEPS 1
#define GUARD_WATCH_DROPS 2
int guard_watch(struct guard *guard, char reason[static REASON_MAX]);

/*
 * What has been counted since guard_open(), and how many guarded blocks there are, those too of an earlier
 * one. 0 or -errno, not logged.
 */
struct guard_header;
int guard_read(const struct guard *guard, struct guard_header *header, uint64_t *live);

/* For how long the process has stood still for it so far, in ns: the longest time of one thread. */
uint64_t guard_pause_ns(const struct guard *guard);

/*
 * Ends it and frees it. `gone`: the process has ended, or its program has. 0: no jump is there any
 * more; 1: they stay, as the process has guarded blocks, or a gate (user/gate) stands before them, which is
 * to be closed first; -errno with the reason where they stay for
 * another one. Either way nothing is guarded from now on, unless its memory could not be written. NULL is fine.
 */
int guard_close(struct guard *guard, bool gone, char reason[static REASON_MAX]);

#endif
