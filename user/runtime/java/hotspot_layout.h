/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where HotSpot has its compiled code and what it knows of it: by the tables that libjvm.so exports, read from the process. No
 * offset is written down here, so that a JVM without one of those needed is refused, and none is misread.
 */
#ifndef MEMLEAKBPF_RUNTIME_HOTSPOT_LAYOUT_H
#define MEMLEAKBPF_RUNTIME_HOTSPOT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime/hotspot_abi.h"
#include "user/base/reason.h"
#include "user/runtime/java/hotspot.h"

/* The target's memory: how many bytes could be read. */
struct hotspot_memory {
	size_t (*read)(void *ctx, uint64_t address, void *to, size_t size);
	void *ctx;
};

bool hotspot_read(const struct hotspot_memory *memory, uint64_t address, void *to, size_t size);
bool hotspot_read_word(const struct hotspot_memory *memory, uint64_t address, uint64_t *word);

#define HOTSPOT_NOWHERE UINT64_MAX /* an offset, or an address: this JVM has none */

/* Offsets in bytes, addresses of variables, sizes. */
struct hotspot_layout {
	uint32_t version; /* 8, 11, 17 … */
	/* variables */
	uint64_t heaps, heap, interpreter, major, flags, flag_count;
	/* members */
	uint64_t list_length, list_data;
	uint64_t heap_memory, heap_segments, heap_shift, space_low, space_high;
	uint64_t queue_buffer, queue_limit;
	uint64_t blob_name, blob_frame_size, blob_code_begin, blob_code_offset;
	uint64_t blob_data_offset, blob_mutable, blob_relocation_size;
	uint64_t compile_id, nmethod_method, metadata_offset, pcs_offset, pcs_end_offset;
	uint64_t scopes_begin, scopes_offset, immutable;
	uint64_t pc_offset, pc_scope;
	uint64_t method_const, const_pool, const_whole, const_code_size, const_name,
		const_signature, const_flags;
	uint64_t pool_holder, pool_source, class_source, class_name, symbol_length, symbol_body;
	uint64_t flag_name, flag_address;
	/* types */
	uint64_t block_size, const_size, pool_size, pc_size, flag_size;
};

/*
 * 0, or one of these:
 *
 * - -EAGAIN: the process has not got so far that its tables can be read. There is a reason where
 *   other bytes stand in their place
 * - -ENOTSUP, with the reason
 */
int hotspot_layout_read(const struct hotspot_symbols *symbols, uint64_t bias,
			const struct hotspot_memory *memory, struct hotspot_layout *out,
			char reason[static REASON_MAX]);

/*
 * What the programs have to know, of the process as it is now. 0, -EAGAIN: it has no heaps of code yet, all else is there;
 * -ENOTSUP with the reason.
 */
int hotspot_row_read(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
		     struct hotspot_row *out, char reason[static REASON_MAX]);

#endif
