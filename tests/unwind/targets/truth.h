/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ground truth for stacks: libtruth.so's malloc stands before libc's, and while a thread has armed
 * it, every call prints
 *   truth SEQUENCE PC PC …
 * with the return addresses that libgcc's backtrace() finds, from malloc's caller outwards. Each
 * such call goes through truth_probe(size, sequence), which is where tests/unwind/harness.c
 * attaches, so both see the same call.
 */
#ifndef MEMLEAKBPF_TESTS_UNWIND_TRUTH_H
#define MEMLEAKBPF_TESTS_UNWIND_TRUTH_H

#ifdef __cplusplus
extern "C" {
#endif

/* Prints "ready" and waits for a line on standard input: by then whoever watches has attached. */
void truth_ready(void);

void truth_arm(void);	 /* this thread's allocations print from now on */
void truth_disarm(void); /* and no longer */

/* Ends the process with success once all has been printed. */
void truth_done(void) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
