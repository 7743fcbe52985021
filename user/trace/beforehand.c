// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/beforehand.h"

#include <errno.h>

#include <bpf/libbpf.h>

#include "user/base/log.h"
#include "user/kernel/feature_machine.h"
#include "user/kernel/probe_event.h"
#include "user/runtime/runtime.h"
#include "user/trace/skeleton.h"
#include "user/unwind/publish_first.h"

/*
 * Before 6.1 the kernel warns (once, and without reason here: uprobes may allocate) of tracing
 * programs whose maps take memory as they fill. Where a warning is the end of the machine, that
 * must not be.
 */
int beforehand_mind_warnings(void)
{
	struct machine machine;

	machine_read(&machine);
	if (machine.panic_on_warn <= 0 || machine_kernel_at_least(&machine, 6, 1))
		return 0;
	log_error("kernel.panic_on_warn is set, and kernels before 6.1 warn when BPF maps may "
		  "grow, which "
		  "would bring this machine down; clear it while tracing (sysctl "
		  "kernel.panic_on_warn=0)");
	return -EPERM;
}

/* Where there are none it is made as the other maps are. */
int beforehand_make_chunks(struct trace *trace)
{
	if (!trace->first_chunks)
		trace->first_chunks = first_chunks_begin();
	return trace->first_chunks ? bpf_map__reuse_fd(trace->skel->maps.unwind_chunks,
						       first_chunks_map(trace->first_chunks))
				   : 0;
}

/* To open the object once more, when the command is about to begin, would take 30 ms. */
void beforehand_expect_runtime(struct trace *trace)
{
	struct trace_options *o = &trace->options;

	for (size_t i = 0; o->managed_later && !o->managed_now && i < o->file_count; i++) {
		struct object *object;
		const char *instead;

		if (object_cache_open(trace->objects, o->files[i], &object))
			continue;
		o->managed_now = runtime_managed_language(runtime_of(object)) &&
				 !runtime_not_followed(runtime_of(object), &instead);
		object_unref(object);
	}
	o->files = NULL;
	o->file_count = 0;
}

/* Where what was tried was an event of tracefs, all single probes are such. */
void beforehand_sweep_events(struct trace *trace)
{
	if (trace->options.attach != ATTACH_SINGLE)
		return;
	probe_events_sweep(false);
	trace->probe_events = probe_events_sweep(true);
	if (trace->probe_events)
		log_debug("single probes are events of tracefs");
}
