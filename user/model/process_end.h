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
	END_SOME_MEMORY,    /* whose is not known; with a limit that was reached, if one was */
	END_CAUSES,
};

struct process_end {
	uint64_t cause;	  /* enum end_cause */
	uint64_t code;	  /* END_EXIT: the status; else the signal's number */
	uint64_t limit;	  /* of memory: in bytes; 0: unknown */
	char cgroup[256]; /* whose limit; "": unknown */
	/*
	 * END_SIGNAL, END_CORE: the process that has sent the signal, 0 where it was the kernel, or is not known;
	 * and how, enum end_sent
	 */
	uint64_t sender, sent;
	char sender_comm[16]; /* its name; "": unknown */
};

/* Numbers are those of recordings. */
enum end_sent {
	END_SENT,	 /* by that process */
	END_SENT_ITSELF, /* by the process itself */
	END_SENT_AGAIN,	 /* by the process itself, after that other one had sent it */
	END_SENTS,
};

/* "exit", …, as JSON has them; NULL: unknown. */
const char *process_end_name(uint64_t cause);

#define PROCESS_END_TEXT_MAX 400

/* "exited with status 3", "was killed by SIGSEGV, and dumped core"; "exited" where nothing is known. Returns buf. */
char *process_end_text(const struct process_end *end, char buf[static PROCESS_END_TEXT_MAX]);

#endif
