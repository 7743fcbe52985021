/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognises allocators that remember by which function a block was made. */
#ifndef MEMLEAKBPF_GATE_PAIRS_H
#define MEMLEAKBPF_GATE_PAIRS_H

/*
 * A sampled operator new is malloc (struct gate_function's `instead`). gperftools' debug allocator,
 * AddressSanitizer's and Scudo end the program when operator delete gets such a block, or can be
 * told to. They are known by the words of their messages, which stripped and static files have,
 * too. Reads all of the file. 1: it has such an allocator, whose operator new must not get a stub;
 * 0: it has none; or -errno: it cannot be read.
 */
int gate_pairs_checked(int fd);

#endif
