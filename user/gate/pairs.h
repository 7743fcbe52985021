/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Allocators that remember by which function a block was made. */
#ifndef MEMLEAKBPF_GATE_PAIRS_H
#define MEMLEAKBPF_GATE_PAIRS_H

/*
 * A sampled operator new is malloc (struct gate_function's `instead`). gperftools' debug allocator,
 * AddressSanitizer's and Scudo end the program when operator delete gets such a block, or can be told
 * to. They are known by the words in which they say so, which a stripped or static one has as well.
 * 1: the object in this file is one, and its operator new must not get a stub; 0: it is none; or
 * -errno: it cannot be read. Reads all of the file.
 */
int gate_pairs_checked(int fd);

#endif
