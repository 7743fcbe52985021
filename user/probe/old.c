// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/old.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "user/base/util.h"
#include "user/kernel/unkillable.h"
#include "user/kernel/uprobe.h"

/* Kinds of probes in the objects of one trace: operations times arguments. */
#define COPIES_MAX 256

struct old_programs {
	size_t count;
	struct copy {
		const struct bpf_program *program;
		uint64_t cookie;
		int fd;
	} copies[COPIES_MAX];
};

struct old_programs *old_programs_new(void)
{
	return calloc(1, sizeof(struct old_programs));
}

void old_programs_free(struct old_programs *copies)
{
	if (!copies)
		return;
	for (size_t i = 0; i < copies->count; i++)
		close(copies->copies[i].fd);
	free(copies);
}

/*
 * Puts the cookie where FIXED_COOKIE stands: the 64 bits of a two-part load. False: it stands
 * nowhere.
 */
static bool old_set_cookie(struct bpf_insn *insns, size_t count, uint64_t cookie)
{
	bool found = false;

	for (size_t i = 0; i + 1 < count; i++) {
		if (insns[i].code != (BPF_LD | BPF_IMM | BPF_DW) || insns[i].src_reg ||
		    (uint32_t)insns[i].imm != (uint32_t)ABI_FIXED_COOKIE ||
		    (uint32_t)insns[i + 1].imm != (uint32_t)(ABI_FIXED_COOKIE >> 32))
			continue;
		insns[i].imm = (int32_t)cookie;
		insns[i + 1].imm = (int32_t)(cookie >> 32);
		found = true;
	}
	return found;
}

/*
 * Loads the instructions that libbpf has loaded, with another cookie. Returns a descriptor or
 * -errno.
 */
static int old_load_copy(const struct bpf_program *program, uint64_t cookie)
{
	size_t count = bpf_program__insn_cnt(program);
	_cleanup_free_ struct bpf_insn *insns = malloc(count * sizeof(*insns));
	int fd;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(program), count * sizeof(*insns));
	if (!old_set_cookie(insns, count, cookie))
		return -EINVAL;
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, bpf_program__name(program), "Dual BSD/GPL", insns,
			   count, NULL);
	return fd < 0 ? -errno : fd;
}

static int old_copy_for(struct old_programs *copies, const struct bpf_program *program,
			uint64_t cookie)
{
	int fd;

	for (size_t i = 0; i < copies->count; i++) {
		if (copies->copies[i].program == program && copies->copies[i].cookie == cookie)
			return copies->copies[i].fd;
	}
	if (copies->count == COPIES_MAX)
		return -E2BIG;
	fd = old_load_copy(program, cookie);
	if (fd >= 0)
		copies->copies[copies->count++] = (struct copy){program, cookie, fd};
	return fd;
}

int old_attach(struct old_programs *copies, const struct bpf_program *program, uint64_t cookie,
	       const char *path, uint64_t offset, uint64_t counter, pid_t pid)
{
	int copy = old_copy_for(copies, program, cookie), fd, err = 0;

	if (copy < 0)
		return copy;
	fd = uprobe_open_counted(path, offset, counter, false, pid);
	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, copy)) {
		err = -errno;
		unkillable_close(fd);
	}
	return err ? err : fd;
}

int old_programs_fd(const struct old_programs *copies, size_t i)
{
	return i < copies->count ? copies->copies[i].fd : -1;
}
