/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What gates and guards share. Private to user/patch. */
#ifndef MEMLEAKBPF_PATCH_PATCHES_INTERNAL_H
#define MEMLEAKBPF_PATCH_PATCHES_INTERNAL_H

#include "user/gate/gate.h"
#include "user/gate/nop.h"
#include "user/patch/patches.h"

struct guard_reason;
struct guarded;

struct patches {
	struct patch_options options;
	struct patch_kernel kernel;
	struct gate_nop nop;
	unsigned level; /* patches_set_level() */
	bool turns_off; /* turn.h: another tool, or who said so, has been waited for in vain */
	struct guarded *guarded;      /* list: all that there are */
	struct guard_reason *reasons; /* list: guarded.c */
};

struct patched {
	struct patch_process process;
	struct gate_hold hold;	 /* while it gets its first gates */
	struct guarded *guarded; /* NULL: it has no guards, */
	char reason[REASON_MAX]; /* and why; "": no reason is known */
	uint64_t looked;	 /* image_generation() then */
	bool refused, told;
};

#endif
