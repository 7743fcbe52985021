/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_REGISTERS_KEPT_H
#define MEMLEAKBPF_TESTS_REGISTERS_KEPT_H

#include <stdint.h>

/* Computes for a while; not 0: bits of registers that had not kept what was put into them. */
#if defined(__x86_64__)
/* Registers that keep what they have for as long as nobody meddles. */
static inline void registers_changed(uint64_t *bad_out, uint64_t *bad_vector_out)
{
	uint64_t bad = 0, bad_vector = 0;

	__asm__ volatile("mov $0x1111111111111111, %%rbx; mov $0x2222222222222222, %%r12;"
			 "mov $0x3333333333333333, %%r13; mov $0x4444444444444444, %%r14;"
			 "mov $0x5555555555555555, %%r15; mov $0x6666666666666666, %%r10;"
			 "movq %%rbx, %%xmm3; movq %%r12, %%xmm9; movq %%r13, %%xmm15;"
			 "mov $200000, %%rcx; 1: pause; dec %%rcx; jnz 1b;"
			 "mov $0x1111111111111111, %%rax; xor %%rbx, %%rax; or %%rax, %0;"
			 "mov $0x2222222222222222, %%rax; xor %%r12, %%rax; or %%rax, %0;"
			 "mov $0x3333333333333333, %%rax; xor %%r13, %%rax; or %%rax, %0;"
			 "mov $0x4444444444444444, %%rax; xor %%r14, %%rax; or %%rax, %0;"
			 "mov $0x5555555555555555, %%rax; xor %%r15, %%rax; or %%rax, %0;"
			 "mov $0x6666666666666666, %%rax; xor %%r10, %%rax; or %%rax, %0;"
			 "movq %%xmm3, %%rax; xor %%rbx, %%rax; or %%rax, %1;"
			 "movq %%xmm9, %%rax; xor %%r12, %%rax; or %%rax, %1;"
			 "movq %%xmm15, %%rax; xor %%r13, %%rax; or %%rax, %1;"
			 : "+r"(bad), "+r"(bad_vector)
			 :
			 : "rax", "rbx", "rcx", "r10", "r12", "r13", "r14", "r15", "xmm3", "xmm9",
			   "xmm15", "cc");
	*bad_out = bad;
	*bad_vector_out = bad_vector;
}
#else
static inline void registers_changed(uint64_t *bad_out, uint64_t *bad_vector_out)
{
	*bad_out = *bad_vector_out = 0;
}
#endif

#endif
