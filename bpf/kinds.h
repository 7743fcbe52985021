/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kinds of things that the BPF programs tell apart and that people are shown: how a walk ended,
 * why something is not recorded, which functions belong together, what is wrong with a free. Apart
 * from abi.h, so that a change to a map's layout does not rebuild what only names these
 * (user/model, exporters).
 */
#ifndef MEMLEAKBPF_BPF_KINDS_H
#define MEMLEAKBPF_BPF_KINDS_H

/* Which functions belong together: what one of a family allocates, one of the same family frees. */
enum alloc_family {
	FAMILY_ANY = 0, /* not known: fits all */
	FAMILY_MALLOC,
	FAMILY_NEW,
	FAMILY_NEW_ARRAY,
	FAMILIES,
};

/*
 * Why a walk up the stack ended. Part of the stack id: a truncated stack never equals a whole one.
 */
enum stack_end {
	STACK_END_COMPLETE = 0, /* reached the thread's first frame */
	STACK_END_TRUNCATED,	/* deeper than what is recorded */
	STACK_END_NO_ROWS,	/* code without unwind rows and no usable frame pointer */
	STACK_END_NO_MAPPING,	/* pc in no known mapping */
	STACK_END_READ_FAULT,	/* the stack could not be read */
	STACK_END_BAD_CFA,	/* the frame address did not grow */
	STACK_END_BAD_PC,	/* return address is not code */
	STACK_END_UNSUPPORTED,	/* a rule the compact tables cannot express */
	STACK_ENDS,
};

/*
 * What could not be recorded, by cause. Counted per target (where the target is known), shown when
 * not zero.
 */
enum lost_cause {
	LOST_LIVE_FULL = 0, /* allocation: no room in the live map */
	LOST_STACKS_FULL,   /* allocation counted, stack not: no counter slot left */
	LOST_FRAMES,	    /* allocation counted, stack not: ring buffer full */
	LOST_THREADS_FULL,  /* allocation: no room for the thread's state */
	/* allocation: a return without its call (stack switched, or attached in mid-call) */
	LOST_PENDING,
	LOST_MISSED_FREE, /* free: an address was handed out again, so its free had not been seen */
	LOST_OUT_POINTER, /* allocation: the result pointer could not be read */
	LOST_EVENTS,	  /* process event (fork, exec, exit) not delivered: ring buffer full */
	LOST_TARGETS_FULL,  /* child process not followed: no room in the target table */
	LOST_BAD_FREES,	    /* bad frees not recorded: too many different ones */
	LOST_PARTIAL_UNMAP, /* munmap that splits a mapping, or is of too much to search */
	/*
	 * process or mapping event: the kernel passed our program over (user/trace/recursion_misses.h);
	 * counted by the kernel itself
	 */
	LOST_RECURSION,
	/* allocator: its probes came when the program could have called it already */
	LOST_LATE_PROBES,
	LOST_SHORT_CHILDREN, /* child process: it ended before its probes were in */
	LOST_REMOVED_PROBES, /* all for a while: the kernel has taken an object's probes out */
	LOST_GATE_FULL, /* allocation: no room among the samples that the gate knows in the target */
	LOST_PYTHON, /* allocation counted, its Python functions not followed: bpf/python_abi.h */
	LOST_JAVA, /* allocation counted, some of its Java frames not followed or not named: bpf/hotspot_abi.h */
	LOST_SCOPES, /* call of a --scope function not followed: too deep, or no room */
	LOST_V8, /* allocation counted, some of its JavaScript frames not followed or without their line: bpf/v8_abi.h */
	LOST_KEPT_FULL, /* allocation: the process has as many live samples as it may have (--keep-live) */
	LOST_RUBY, /* allocation counted, its Ruby frames not followed: bpf/ruby_abi.h */
	LOST_PHP,  /* the same of PHP's: bpf/php_abi.h */
	LOST_PERL, /* and of Perl's: bpf/perl_abi.h */
	LOST_CAUSES,
};

/* A free that is wrong. One row of `bad_frees` for all of a kind with the same stacks. */
enum bad_free_kind {
	BAD_FREE_DOUBLE = 0, /* the block has been freed before */
	BAD_FREE_INSIDE,     /* of an address inside a live block */
	BAD_FREE_UNKNOWN,    /* of an address that was never allocated */
	BAD_FREE_MISMATCH,   /* by the wrong function: new and free, new[] and delete … */
	BAD_FREE_KINDS,
};

#endif
