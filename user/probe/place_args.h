/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which argument registers hold which arguments, while a walk goes forward from a function's entry.
 * Internal to place_*.c.
 */
#ifndef MEMLEAKBPF_PROBE_PLACE_ARGS_H
#define MEMLEAKBPF_PROBE_PLACE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/probe/place.h"

#define PLACE_ARGS 6

struct place_args {
	/* bit m of in[n]: the register of argument m + 1 holds argument n + 1 */
	uint8_t in[PLACE_ARGS];
	unsigned needed; /* bits as in place_request.args_read */
	bool may_move;
};

void place_args_init(struct place_args *args, const struct place_request *request);

/*
 * Notes that an instruction overwrites the registers of `killed` (a mask). When from and to are not
 * negative, it copies register `from` whole to `to`, which is among the killed. False, and nothing
 * changed, if an argument that the handler reads would be lost.
 */
bool place_args_write(struct place_args *args, unsigned killed, int from, int to);

/* Stores where each argument is. */
void place_args_store(const struct place_args *args, struct place *out);

#endif
