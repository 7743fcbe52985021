/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Symbols with and without sizes, padding between them, nesting. Data directives only: the same on every machine. */
	.text
	.globl	sized_one
	.type	sized_one, %function
	.balign	64
sized_one:
	.zero	16
	.size	sized_one, 16

	.balign	64
	.globl	outer_symbol
	.type	outer_symbol, %function
outer_symbol:
	.zero	16
	.globl	inner_symbol
	.type	inner_symbol, %function
inner_symbol:
	.zero	8
	.size	inner_symbol, 8
	.zero	8
	.size	outer_symbol, 32

	.balign	64
	.globl	unsized_symbol
unsized_symbol:
	.zero	24
	.globl	sized_two
	.type	sized_two, %function
sized_two:
inside_sized_two:
	.zero	8
label_in_sized_two:
	.zero	8
	.size	sized_two, 16
	.zero	16

	.section .text.last, "ax", %progbits
	.zero	16
	.section .note.GNU-stack, "", %progbits
