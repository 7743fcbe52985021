// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/place_args.h"

void place_args_init(struct place_args *args, const struct place_request *request)
{
	for (unsigned i = 0; i < PLACE_ARGS; i++)
		args->in[i] = (uint8_t)(1u << i);
	args->needed = request->args_read;
	args->may_move = request->args_may_move;
}

bool place_args_write(struct place_args *args, unsigned killed, int from, int to)
{
	struct place_args next = *args;

	for (unsigned i = 0; i < PLACE_ARGS; i++) {
		next.in[i] &= (uint8_t)~killed;
		if (args->may_move && from >= 0 && to >= 0 && args->in[i] & 1u << from)
			next.in[i] |= (uint8_t)(1u << to);
		if (!next.in[i] && args->needed & 1u << i)
			return false;
	}
	*args = next;
	return true;
}

void place_args_store(const struct place_args *args, struct place *out)
{
	for (unsigned i = 0; i < PLACE_ARGS; i++) {
		/*
		 * The argument's own register when it is still there; also for an argument that
		 * nobody reads.
		 */
		if (args->in[i] & 1u << i || !args->in[i])
			out->arg_at[i] = (uint8_t)(i + 1);
		else
			out->arg_at[i] = (uint8_t)__builtin_ffs(args->in[i]);
	}
}
