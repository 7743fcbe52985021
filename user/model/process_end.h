/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a process has ended. */
#ifndef MEMLEAKBPF_MODEL_PROCESS_END_H
#define MEMLEAKBPF_MODEL_PROCESS_END_H

#include <stdint.h>

/* Numbers are those of recordings. */
enum end_cause {
	END_UNKNOWN, /* unknown, or it has not ended */
	END_EXIT,
	END_SIGNAL,
	END_CORE, /* by a signal, and its memory was dumped */
	/* The kernel killed it because memory ran out: */
	END_MEMORY_LIMIT,   /* its control group's, or that of one above */
	END_MACHINE_MEMORY, /* the machine's */
	END_SOME_MEMORY,    /* whose is not known */
	END_CAUSES,
};

struct process_end {
	uint64_t cause; /* enum end_cause */
	uint64_t code;	/* END_EXIT: the status; else the signal's number */
	uint64_t limit; /* END_MEMORY_LIMIT: in bytes; 0: unknown */
	char cgroup
		[256]; /* END_MEMORY_LIMIT: whose limit; "": unknown. Recordings do not have it */
};

/* "exit", …, as JSON has them; NULL: unknown. END_SOME_MEMORY is "signal" there: no more is known. */
const char *process_end_name(uint64_t cause);

#define PROCESS_END_TEXT_MAX 400

/* "exited with status 3", "was killed by SIGSEGV, and dumped core"; "exited" where nothing is known. Returns buf. */
char *process_end_text(const struct process_end *end, char buf[static PROCESS_END_TEXT_MAX]);

#endif
