// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A target whose dynamic loader has mapped libraries, at the start of a program or by dlopen,
 * before any of their code has run. One of them may be an unknown allocator. User space learns of
 * the mapping by a record, and takes some milliseconds to put probes in. The thread waits for that,
 * so that the allocator's first call is seen.
 *
 * The loader calls this function for debuggers, which have their breakpoint there. It is
 * _dl_debug_state of glibc's and musl's loaders (the debugger interface of SVR4, r_brk in
 * <link.h>).
 */
#include "bpf/loss.h"
#include "bpf/own_stack.h"
#include "bpf/regs.h"
#include "bpf/unwind_abi.h"
#include "bpf/wait.h"

#define MAX_LIBRARIES 1024

/*
 * Files that have their probes in all targets, or need none. A program that maps no others does not
 * wait. User space fills it in; a file that it cannot enter makes programs wait.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct unwind_object_key);
	__type(value, uint8_t);
} known_files SEC(".maps");

/* The members that we read of struct r_debug and struct link_map of <link.h>. */
struct debugger_view {
	uint64_t version, libraries, r_brk;
	uint32_t state; /* 0 is RT_CONSISTENT: all is mapped */
};
struct library {
	uint64_t base, name, dynamic, next;
};

struct library_walk {
	uint64_t at;
	bool unknown;
};

static long read_file(struct task_struct *task, struct vm_area_struct *vma, void *arg)
{
	struct unwind_object_key *key = arg;
	struct file *file = vma->vm_file;

	(void)task;
	if (file) {
		key->ino = file->f_inode->i_ino;
		key->dev = file->f_inode->i_sb->s_dev;
	}
	return 0;
}

/* 1: enough. */
static long look_at_library(uint32_t i, struct library_walk *walk)
{
	struct unwind_object_key key = {};
	struct library library;

	(void)i;
	if (!walk->at)
		return 1;
	walk->unknown =
		bpf_copy_from_user(&library, sizeof(library), (void *)walk->at) ||
		bpf_find_vma(bpf_get_current_task_btf(), library.dynamic, read_file, &key, 0);
	/* The vdso has no file. */
	if (key.ino && !bpf_map_lookup_elem(&known_files, &key))
		walk->unknown = true;
	walk->at = library.next;
	return walk->unknown;
}

/* Goes by the target's word, which only decides whether it waits. */
static __always_inline bool maps_unknown_files(uint64_t first)
{
	struct library_walk walk = {.at = first};

	bpf_loop(MAX_LIBRARIES, look_at_library, &walk, 0);
	return walk.unknown || walk.at;
}

static __always_inline void wait_until_handled(const struct pt_regs *ctx, uint32_t target_id,
					       uint32_t tgid)
{
	uint64_t now = bpf_ktime_get_ns();
	struct process_event event = {
		.header = {.type = EVENT_LOADED, .target_id = target_id, .time_ns = now},
		.pid = tgid,
	};
	struct wait wait = {
		.task = kernel_current_task(),
		.until_ns = now + (config.own_exec ? WAIT_EXACT_NS : WAIT_LATE_NS),
		.sp = regs_sp(ctx),
		.handled_ns = now,
	};

	/*
	 * Only wakes the tool: the events to handle are in its buffers. It is reading a full one.
	 */
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	wait_for_tool(&wait);
}

SEC("uprobe.s")
int on_loaded(struct pt_regs *ctx)
{
	union probe_cookie cookie = {.value = bpf_get_attach_cookie(ctx)};
	uint32_t tgid = bpf_get_current_pid_tgid() >> 32, id;
	struct target_info *target = bpf_map_lookup_elem(&targets, &tgid);
	struct debugger_view view = {};
	struct target_stats *stats;

	use_own_stack();
	if (!target || target->flags & TARGET_VFORK)
		return 0;
	id = target->id;
	stats = target_stats_of(id);
	if (cookie.debugger_view &&
	    bpf_copy_from_user(&view, sizeof(view), (void *)(regs_ip(ctx) + cookie.debugger_view)))
		view = (struct debugger_view){};
	if (view.state)
		return 0;
	/* Without --children exact each process has probes of its own. */
	if (tool_answers() &&
	    (!config.own_exec || !view.libraries || maps_unknown_files(view.libraries)))
		wait_until_handled(ctx, id, tgid);
	if (stats)
		stats->loaded_ns = bpf_ktime_get_ns();
	return 0;
}
