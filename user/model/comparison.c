// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/comparison.h"

enum change compared_change(const struct compared_stack *stack)
{
	const struct amount *old = &stack->old, *now = &stack->now;

	if (old->bytes == now->bytes && old->count == now->count)
		return CHANGE_SAME;
	if (!old->count && !old->bytes)
		return CHANGE_NEW;
	if (!now->count && !now->bytes)
		return CHANGE_GONE;
	if (old->bytes != now->bytes)
		return now->bytes > old->bytes ? CHANGE_GREW : CHANGE_SHRANK;
	return now->count > old->count ? CHANGE_GREW : CHANGE_SHRANK;
}

const char *change_name(enum change change)
{
	static const char *const names[] = {
		[CHANGE_SAME] = "same",	    [CHANGE_GREW] = "grew", [CHANGE_NEW] = "new",
		[CHANGE_SHRANK] = "shrank", [CHANGE_GONE] = "gone",
	};

	return names[change];
}

enum presence compared_presence(const struct compared_access *access)
{
	if (!access->old)
		return PRESENCE_NEW;
	return access->now ? PRESENCE_BOTH : PRESENCE_GONE;
}

const char *presence_name(enum presence presence)
{
	static const char *const names[] = {
		[PRESENCE_NEW] = "new",
		[PRESENCE_BOTH] = "both",
		[PRESENCE_GONE] = "gone",
	};

	return names[presence];
}
