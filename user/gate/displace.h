/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A jump into a function that runs already, and the beginning of that function elsewhere. x86_64.
 *
 *     entry  the first instruction, which stays
 *     jump   jmp stub                    over `length` bytes of whole instructions
 *            ...
 *     room   the first instruction again, what the jump displaced, jmp behind the jump
 *
 * The first instruction stays because uprobes of other tools sit on it. When one goes, the kernel
 * puts the file's byte back: in the midst of a jump that would end the target. The instruction has
 * run when the stub is reached. So it must be one that may run twice, or that can be undone. If a
 * function begins with a jump, that jump's target gets ours: leads_beginning().
 */
#ifndef MEMLEAKBPF_GATE_DISPLACE_H
#define MEMLEAKBPF_GATE_DISPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a function that are looked at, and bytes that the room takes, at most. */
#define DISPLACE_CODE_MAX 64
#define DISPLACE_ROOM_MAX 96

#define DISPLACE_JUMP 5 /* bytes of jmp rel32 */

struct displace_request {
	/* The function's bytes from the file: the ones in memory may have probes in them. */
	const uint8_t *code;
	size_t size;	    /* of code: the function's, or as much as there is */
	uint64_t address;   /* of code[0] in the process */
	unsigned arguments; /* so many of the six registers hold arguments */
};

struct displaced {
	uint32_t kept;	 /* bytes of the first instruction: the jump is at this offset */
	uint32_t length; /* bytes that the jump displaces, DISPLACE_JUMP or more */
	/*
	 * The first instruction took so much from the stack pointer: the stub gives it back first.
	 */
	uint32_t undo;
};

/*
 * 0 and *out; or -EOPNOTSUPP with *why, a static string: this function cannot have a jump.
 * displace_is_entered() tells whether other branches lead to the jump's place.
 */
int displace_plan(const struct displace_request *request, struct displaced *out, const char **why);

/*
 * Writes the function's beginning for `address`: a call there calls the function. Returns how many
 * bytes (up to DISPLACE_ROOM_MAX), or -ERANGE: too far from the function.
 */
int displace_write(const struct displace_request *request, const struct displaced *plan,
		   uint64_t address, uint8_t room[DISPLACE_ROOM_MAX]);

/*
 * The same for a function that has a jump to `onward` already: its first instruction, and that
 * jump.
 */
int displace_write_onward(const struct displace_request *request, const struct displaced *plan,
			  uint64_t onward, uint64_t address, uint8_t room[DISPLACE_ROOM_MAX]);

/* jmp from `address` to `target`. 0, or -ERANGE: more than 2 GiB. */
int displace_jump(uint64_t address, uint64_t target, uint8_t jump[DISPLACE_JUMP]);

/* The target of the jump whose bytes stand at `address`. */
uint64_t displace_jump_target(const uint8_t jump[static DISPLACE_JUMP], uint64_t address);

/*
 * Does a direct branch lead to the displaced bytes, and so to the jump or into it, from elsewhere
 * than the function's first instruction? Each offset of the text is tried as the first byte of a
 * branch with a distance of four bytes. So some answers are false alarms. Shorter branches are
 * looked for in request->code. That must be the whole function, or its first 192 bytes if its end
 * is unknown: from further away none reaches. True also without memory to look.
 */
bool displace_is_entered(const struct displace_request *request, const struct displaced *plan,
			 const uint8_t *text, size_t text_size, uint64_t text_address);

#endif
