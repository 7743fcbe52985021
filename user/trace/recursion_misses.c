// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/recursion_misses.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/lost_cause.h"
#include "user/base/log.h"
#include "user/trace/skeleton.h"
#include "user/trace/state.h"

uint64_t recursion_misses_of_program(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size)) {
		log_debug("cannot read how often a program was passed over: %s", strerror(errno));
		return 0;
	}
	return info.recursion_misses;
}

uint64_t recursion_misses_of(const struct bpf_object *object)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, object)
	{
		if (bpf_program__expected_attach_type(program) == BPF_TRACE_RAW_TP &&
		    bpf_program__fd(program) >= 0)
			sum += recursion_misses_of_program(bpf_program__fd(program));
	}
	return sum;
}

void recursion_misses_update(const struct trace *trace)
{
	uint64_t *to = &trace->skel->bss->shared.lost[LOST_RECURSION];

	__atomic_store_n(to, recursion_misses_of(trace->skel->obj), __ATOMIC_RELAXED);
}
