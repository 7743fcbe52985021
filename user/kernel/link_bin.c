// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/link_bin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/mount.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/kernel/unkillable.h"

#define NAME "link"

int link_bin_new(void)
{
	int context = (int)syscall(SYS_fsopen, "bpf", FSOPEN_CLOEXEC), bin = -1, err;

	if (context < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		bin = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	err = -errno;
	close(context);
	return bin < 0 ? err : bin;
}

void link_bin_drop(int bin, int link)
{
	char path[64];
	union bpf_attr attr = {.pathname = (uintptr_t)path, .bpf_fd = (uint32_t)link};

	if (link < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/" NAME, bin);
	if (bin < 0 || syscall(SYS_bpf, BPF_OBJ_PIN, &attr, sizeof(attr))) {
		unkillable_close(link);
		return;
	}
	/* The bin's file still refers to the link. */
	close(link);
	unlinkat(bin, NAME, 0);
}
