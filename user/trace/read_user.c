// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/read_user.h"

#include <pthread.h>
#include <stddef.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/base/log.h"
#include "user/base/util.h"

/* The cookie: a section of one's own is without libbpf's flags. */
enum { READ_USER_USUAL, READ_USER_SLEEPS };

static int read_user_undo(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	struct bpf_insn *insns = (struct bpf_insn *)bpf_program__insns(program);

	if (cookie == READ_USER_SLEEPS)
		opts->prog_flags |= BPF_F_SLEEPABLE;
	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg)
			continue;
		/* What copied the kernel's memory is never reached: config.typed_reads. */
		if (insns[i].imm == BPF_FUNC_probe_read)
			insns[i].imm = BPF_FUNC_probe_read_user;
		else if (insns[i].imm == BPF_FUNC_probe_read_str)
			insns[i].imm = BPF_FUNC_probe_read_user_str;
	}
	return 0;
}

static int read_user_registered;

/* For good: programs point to it as long as they are there. */
static void read_user_register(void)
{
	static const struct {
		const char *section;
		enum bpf_prog_type type;
		long cookie;
	} sections[] = {
		{"uprobe", BPF_PROG_TYPE_KPROBE, READ_USER_USUAL},
		{"uretprobe", BPF_PROG_TYPE_KPROBE, READ_USER_USUAL},
		{"uprobe.s", BPF_PROG_TYPE_KPROBE, READ_USER_SLEEPS},
		{"perf_event", BPF_PROG_TYPE_PERF_EVENT, READ_USER_USUAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(sections) && read_user_registered >= 0; i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = sections[i].cookie,
			    .prog_prepare_load_fn = read_user_undo);

		read_user_registered = libbpf_register_prog_handler(sections[i].section,
								    sections[i].type, 0, &opts);
	}
}

int read_user_keep(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_user_register);
	return read_user_registered < 0
		       ? log_errno(read_user_registered, "libbpf's program handlers")
		       : 0;
}
