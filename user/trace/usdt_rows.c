// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/usdt_rows.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/abi.h"
#include "user/base/log.h"
#include "user/probe/probe.h"
#include "user/process/object.h"
#include "user/trace/skeleton.h"

static int usdt_row_of(struct trace *trace, const struct usdt_spec *spec, uint32_t *row)
{
	for (*row = 0; *row < trace->usdt.count; (*row)++) {
		if (!memcmp(&trace->usdt.specs[*row], spec, sizeof(*spec)))
			return 0;
	}
	if (*row == USDT_SPECS)
		return -ENOSPC;
	if (bpf_map_update_elem(bpf_map__fd(trace->skel->maps.usdt_specs), row, spec, BPF_ANY))
		return -errno;
	trace->usdt.specs[trace->usdt.count++] = *spec;
	return 0;
}

int usdt_rows_assign(struct trace *trace, struct probe_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct probe *probe = &set->probes[i];
		uint32_t row;
		int err = usdt_row_of(trace, &probe->fn->note->spec, &row);

		if (err == -ENOSPC) {
			log_warn("%s: its probes %s are not used: this and other files have their "
				 "arguments in too many different places",
				 object_path(set->provider->object), probe->fn->name);
			return err;
		}
		if (err)
			return log_errno(err, "cannot enter the arguments of %s in a BPF map",
					 object_path(set->provider->object));
		probe->cookie =
			(union probe_cookie){.usdt_op = probe->fn->fn->op, .usdt_row = row}.value;
	}
	return 0;
}
