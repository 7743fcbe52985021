// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/skeleton.h"

#include <errno.h>
#include <stdlib.h>

__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"skeleton_no_hold_begin: .incbin \"memleakbpf_no_hold.bpf.o\"\n"
	"skeleton_no_hold_end:\n"
	".popsection\n");
extern char skeleton_no_hold_begin[], skeleton_no_hold_end[];

struct memleakbpf *skeleton_open(bool hold)
{
	struct memleakbpf *skel;
	int err;

	if (hold)
		return memleakbpf__open();
	/* As memleakbpf__open_opts() does it, with other bytes. */
	skel = calloc(1, sizeof(*skel));
	if (!skel)
		return NULL;
	err = memleakbpf__create_skeleton(skel);
	if (!err) {
		skel->skeleton->data = skeleton_no_hold_begin;
		skel->skeleton->data_sz = (size_t)(skeleton_no_hold_end - skeleton_no_hold_begin);
		err = bpf_object__open_skeleton(skel->skeleton, NULL);
	}
	if (!err)
		return skel;
	memleakbpf__destroy(skel);
	errno = -err;
	return NULL;
}
