// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/detach.h"

#include "user/trace/skeleton.h"

void trace_detach(struct trace *trace, struct attachment *attachment)
{
	uint32_t *hands_full = &trace->skel->bss->shared.hands_full;

	/* Where there is a bin, nobody waits for that. */
	__atomic_store_n(hands_full, trace->programs.link_bin < 0, __ATOMIC_RELEASE);
	attachment_free(attachment);
	__atomic_store_n(hands_full, 0, __ATOMIC_RELEASE);
}
