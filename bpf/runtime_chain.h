/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs that follow runtimes have in common. */
#ifndef MEMLEAKBPF_BPF_RUNTIME_CHAIN_H
#define MEMLEAKBPF_BPF_RUNTIME_CHAIN_H

#include "bpf/bpf_maps.h"
#include "bpf/runtime_abi.h"

/* Tells user space what a new stack is in, once all that its calls name has been told. 0, or -1: there is no room. */
static __always_inline int runtime_chain_tell(struct runtime_chain_event *chain, uint32_t target_id)
{
	uint64_t size = sizeof(*chain) - sizeof(chain->calls) +
			sizeof(chain->calls[0]) * (uint64_t)chain->count;

	chain->header.type = EVENT_RUNTIME_CHAIN;
	chain->header.target_id = target_id;
	chain->header.time_ns = bpf_ktime_get_ns();
	if (size > sizeof(*chain))
		size = sizeof(*chain);
	return bpf_ringbuf_output(&events, chain, size, 0) ? -1 : 0;
}

#endif
