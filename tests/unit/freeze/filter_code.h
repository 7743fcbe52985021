/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Seccomp filters written by hand. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_FILTER_CODE_H
#define MEMLEAKBPF_TESTS_FILTER_CODE_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

#define LOAD(field)	  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(how, k, t, f)  BPF_JUMP(BPF_JMP | (how) | BPF_K, k, t, f)
#define RETURN(k)	  BPF_STMT(BPF_RET | BPF_K, k)
#define ALLOW		  RETURN(SECCOMP_RET_ALLOW)
#define REFUSE		  RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ARGUMENT(n, high) ((uint32_t)offsetof(struct seccomp_data, args[n]) + 4 * (high))

static inline int install(const struct sock_filter *code, size_t count)
{
	const struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
