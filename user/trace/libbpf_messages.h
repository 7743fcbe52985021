/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TRACE_LIBBPF_MESSAGES_H
#define MEMLEAKBPF_TRACE_LIBBPF_MESSAGES_H

/*
 * What libbpf has to say goes to the log from now on: its warnings with -v, the rest with -vv. What
 * a warning means for the user is for the caller of libbpf to say.
 */
void libbpf_messages_to_log(void);

/* Which part of an object the kernel has refused. libbpf says it in its messages only. */
struct libbpf_refusal {
	char program[64], map[64]; /* "": not that */
	int error;		   /* -errno; 0: nothing was refused */
	char complaint[128];	   /* the verifier's; "": it has not come to that */
};

/* Before a load in this thread, */
void libbpf_refusal_forget(void);
/* and after it has failed. Valid until the next one. */
const struct libbpf_refusal *libbpf_refusal_last(void);

#endif
