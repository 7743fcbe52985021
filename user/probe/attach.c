// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/probe/attach.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/probe/old.h"
#include "user/kernel/link_bin.h"
#include "user/kernel/unkillable.h"
#include "user/kernel/uprobe.h"
#include "user/probe/probe.h"
#include "user/process/object.h"

/*
 * Newer than Debian 12's headers; values of the kernel's user API (enum bpf_attach_type,
 * linux/bpf.h).
 */
#define TRACE_UPROBE_MULTI   48
#define TRACE_UPROBE_SESSION 57
#define UPROBE_MULTI_RETURN  1u

/* One link takes the probes of all functions of an object, or of all their returns. */
#define PROBES_MAX 8192

struct attachment {
	int link_bin;
	size_t count;
	int fds[]; /* links, and descriptors of old_attach(): closing them takes the probes off */
};

static const char *const mode_names[] = {
	[ATTACH_SESSION] = "session", [ATTACH_MULTI] = "multi", [ATTACH_SINGLE] = "single",
	[ATTACH_AUTO] = "auto",	      [ATTACH_USDT] = "usdt",	[ATTACH_GATE] = "gate",
};

const char *attach_mode_name(enum attach_mode mode)
{
	return mode_names[mode];
}

static void attach_prepare_program(struct bpf_program *program, bool used, enum attach_mode mode,
				   uint32_t type)
{
	bpf_program__set_autoload(program, used);
	bpf_program__set_expected_attach_type(program, mode == ATTACH_SINGLE ? 0 : type);
}

void attach_prepare(enum attach_mode mode, const struct attach_programs *programs)
{
	bool session = mode == ATTACH_SESSION, gate = programs->gate && !programs->gate_later;

	attach_prepare_program(programs->alloc_enter, !session, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->alloc_leave, !session, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->alloc_session, session, mode, TRACE_UPROBE_SESSION);
	attach_prepare_program(programs->alloc_return, true, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->free_enter, true, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->unmap_enter, true, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->on_unwind, true, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->on_named, programs->named, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->on_leave, programs->leave, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->on_loaded, programs->loaded, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->usdt_free, programs->usdt, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->gate_alloc, gate, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->gate_free, gate, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->gate_kept, gate, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->guard_probed, programs->guard, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->scope_entered, programs->scopes, mode, TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->scope_returned, programs->scopes, mode,
			       TRACE_UPROBE_MULTI);
	attach_prepare_program(programs->scope_jumped, programs->scopes, mode, TRACE_UPROBE_MULTI);
}

/* The probes of one role, as the arrays that the kernel wants. */
struct probe_list {
	unsigned long offsets[PROBES_MAX], counters[PROBES_MAX];
	uint64_t cookies[PROBES_MAX];
	uint32_t count;
	bool counted; /* some have a counter */
};

static int attach_fill_list(struct probe_list *list, const struct probe_set *set,
			    enum probe_role role)
{
	list->count = 0;
	list->counted = false;
	for (size_t i = 0; i < set->count; i++) {
		if (set->probes[i].role != role)
			continue;
		if (list->count == PROBES_MAX)
			return -E2BIG;
		list->counters[list->count] = set->probes[i].semaphore;
		list->counted |= set->probes[i].semaphore != 0;
		list->offsets[list->count] = set->probes[i].offset;
		list->cookies[list->count++] = set->probes[i].cookie;
	}
	return 0;
}

/* struct link_create.uprobe_multi of union bpf_attr, kernel >= 6.6. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};
_Static_assert(sizeof(struct link_create_uprobe_multi) == 64, "layout of union bpf_attr");

/* Returns the program's descriptor, or -errno. Loads the program if it is not loaded yet. */
static int attach_program_fd(const struct attach_programs *p, const struct bpf_program *program)
{
	int fd = bpf_program__fd(program);

	return fd < 0 && p->load ? p->load(p->load_ctx, program) : fd;
}

static int attach_multi_link(int program, uint32_t type, uint32_t flags, const char *path,
			     const struct probe_list *list, pid_t pid)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = (uint32_t)program,
		.attach_type = type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)list->offsets,
		.ref_ctr_offsets = list->counted ? (uintptr_t)list->counters : 0,
		.cookies = (uintptr_t)list->cookies,
		.count = list->count,
		.multi_flags = flags,
		.pid = (uint32_t)pid,
	};

	return (int)unkillable_syscall(SYS_bpf, BPF_LINK_CREATE, (long)&attr, sizeof(attr), 0, 0);
}

static int attach_add_multi(struct attachment *a, const struct attach_programs *p,
			    const struct bpf_program *program, uint32_t type, uint32_t flags,
			    const char *path, const struct probe_list *list, pid_t pid)
{
	int fd = attach_program_fd(p, program);

	if (fd >= 0)
		fd = attach_multi_link(fd, type, flags, path, list, pid);
	if (fd < 0)
		return fd;
	a->fds[a->count++] = fd;
	return 0;
}

/*
 * Makes a link that keeps the event alive; without cookies (before 5.15) returns the event itself.
 */
static int attach_single_link(int program, int event, bool cookies, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int link;

	if (!cookies)
		return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ? -errno : event;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, &opts);
	if (link >= 0)
		close(event);
	return link;
}

static int attach_add_single(struct attachment *a, const struct attach_programs *p,
			     const struct bpf_program *program, bool at_return, const char *path,
			     const struct probe_list *list, pid_t pid)
{
	int program_fd = attach_program_fd(p, program);

	if (program_fd < 0)
		return program_fd;
	for (uint32_t i = 0; i < list->count; i++) {
		int event = uprobe_open_counted(path, list->offsets[i], list->counters[i],
						at_return, pid),
		    fd;

		if (event < 0)
			return event;
		fd = attach_single_link(program_fd, event, !p->old, list->cookies[i]);
		if (fd < 0) {
			unkillable_close(event);
			return fd;
		}
		a->fds[a->count++] = fd;
	}
	return 0;
}

static int attach_add_old(struct attachment *a, struct old_programs *old,
			  const struct bpf_program *program, const char *path,
			  const struct probe_list *list, pid_t pid)
{
	for (uint32_t i = 0; i < list->count; i++) {
		int fd = old_attach(old, program, list->cookies[i], path, list->offsets[i],
				    list->counters[i], pid);

		if (fd < 0)
			return fd;
		a->fds[a->count++] = fd;
	}
	return 0;
}

/* Does the program read its cookie? The others are the same on all kernels. */
static bool attach_needs_cookie(const struct attach_programs *p, const struct bpf_program *program)
{
	return program == p->alloc_enter || program == p->free_enter || program == p->on_unwind ||
	       program == p->usdt_alloc || program == p->usdt_free;
}

static int attach_add_entries(struct attachment *a, const struct attach_programs *p,
			      const struct bpf_program *program, const char *path,
			      const struct probe_list *list, pid_t pid)
{
	return p->old && attach_needs_cookie(p, program)
		       ? attach_add_old(a, p->old, program, path, list, pid)
		       : attach_add_single(a, p, program, false, path, list, pid);
}

static const struct bpf_program *attach_entry(const struct attach_programs *p, enum probe_role role)
{
	const struct bpf_program *const entries[PROBE_ROLES] = {
		[PROBE_ALLOC] = p->alloc_enter,	       [PROBE_ALLOC_ENTRY] = p->alloc_enter,
		[PROBE_RETURN_SITE] = p->alloc_return, [PROBE_FREE] = p->free_enter,
		[PROBE_UNMAP] = p->unmap_enter,	       [PROBE_UNWIND] = p->on_unwind,
		[PROBE_LEAVE] = p->on_leave,	       [PROBE_NAMED] = p->on_named,
		[PROBE_LOADED] = p->on_loaded,	       [PROBE_USDT_ALLOC] = p->usdt_alloc,
		[PROBE_USDT_FREE] = p->usdt_free,      [PROBE_SCOPE] = p->scope_entered,
		[PROBE_SCOPE_TAIL] = p->scope_jumped,  [PROBE_SCOPE_RETURN] = p->scope_returned,
	};

	return entries[role];
}

static int attach_add_role(struct attachment *a, enum attach_mode mode,
			   const struct attach_programs *p, enum probe_role role, const char *path,
			   const struct probe_list *list, pid_t pid)
{
	const struct bpf_program *entry = attach_entry(p, role);
	bool returns = role == PROBE_ALLOC;
	int err;

	if (!list->count)
		return 0;
	if (mode == ATTACH_SESSION && returns)
		return attach_add_multi(a, p, p->alloc_session, TRACE_UPROBE_SESSION, 0, path, list,
					pid);
	/*
	 * Returns first: a call entered between the two then has no pending entry and is ignored,
	 * not left open.
	 */
	if (mode == ATTACH_SINGLE) {
		err = returns ? attach_add_single(a, p, p->alloc_leave, true, path, list, pid) : 0;
		return err ? err : attach_add_entries(a, p, entry, path, list, pid);
	}
	err = returns ? attach_add_multi(a, p, p->alloc_leave, TRACE_UPROBE_MULTI,
					 UPROBE_MULTI_RETURN, path, list, pid)
		      : 0;
	return err ? err : attach_add_multi(a, p, entry, TRACE_UPROBE_MULTI, 0, path, list, pid);
}

/* Loads all programs before the first probe, so that no time passes between two probes. */
static int attach_load(enum attach_mode mode, const struct attach_programs *p,
		       const struct probe_set *set)
{
	int fd = 0;

	for (size_t i = 0; p->load && fd >= 0 && i < set->count; i++) {
		if (mode != ATTACH_SESSION || set->probes[i].role != PROBE_ALLOC)
			fd = attach_program_fd(p, attach_entry(p, set->probes[i].role));
	}
	return fd < 0 ? fd : 0;
}

int attach_probes(enum attach_mode mode, const struct attach_programs *programs,
		  const struct probe_set *set, pid_t pid, struct attachment **out)
{
	/*
	 * Frees first: if we see a block's allocation we must see its free as well. The other way
	 * round it is only an unknown free.
	 */
	static const enum probe_role order[] = {
		PROBE_FREE,	    PROBE_UNMAP,       PROBE_UNWIND,	 PROBE_LEAVE,
		PROBE_NAMED,	    PROBE_RETURN_SITE, PROBE_ALLOC,	 PROBE_ALLOC_ENTRY,
		PROBE_LOADED,	    PROBE_USDT_FREE,   PROBE_USDT_ALLOC, PROBE_SCOPE_TAIL,
		PROBE_SCOPE_RETURN, PROBE_SCOPE};
	const struct object *object = set->provider->object;
	_cleanup_free_ struct probe_list *list = malloc(sizeof(*list));
	size_t room = 2 * set->count + PROBE_ROLES;
	struct attachment *a = calloc(1, sizeof(*a) + room * sizeof(a->fds[0]));
	int err = 0;

	if (!list || !a) {
		free(a);
		return -ENOMEM;
	}
	a->link_bin = programs->link_bin;
	err = attach_load(mode, programs, set);
	for (size_t i = 0; !err && i < ARRAY_SIZE(order); i++) {
		err = attach_fill_list(list, set, order[i]);
		if (!err)
			err = attach_add_role(a, mode, programs, order[i], object_fd_path(object),
					      list, pid);
	}
	if (!err) {
		*out = a;
		return 0;
	}
	attachment_free(a);
	if (err == -ESRCH || (pid && kill(pid, 0) && errno == ESRCH))
		return -ESRCH;
	return log_errno(err, "cannot attach %s probes to %s%s", attach_mode_name(mode),
			 object_path(object),
			 (err == -EACCES || err == -EPERM) && mode == ATTACH_SINGLE
				 ? "; on this kernel single uprobes need CAP_SYS_ADMIN"
				 : "");
}

/* Adds one program's probes, in one link where the kernel has such. */
static int attach_add_told(struct attachment *a, enum attach_mode mode,
			   const struct attach_programs *p, const struct bpf_program *program,
			   const char *path, const struct probe_list *list)
{
	if (!list->count)
		return 0;
	return mode == ATTACH_SINGLE
		       ? attach_add_single(a, p, program, false, path, list, 0)
		       : attach_add_multi(a, p, program, TRACE_UPROBE_MULTI, 0, path, list, 0);
}

int attach_told(enum attach_mode mode, const struct attach_programs *programs,
		const struct told_probe *probes, size_t count, const char *path,
		struct attachment **out)
{
	/* Ends first: see attach_probes(). */
	const struct bpf_program *const order[] = {programs->gate_free, programs->gate_kept,
						   programs->gate_alloc, programs->guard_probed};
	_cleanup_free_ struct probe_list *list = malloc(sizeof(*list));
	struct attachment *a = calloc(1, sizeof(*a) + count * sizeof(a->fds[0]));
	int err = count > PROBES_MAX ? -E2BIG : 0;

	if (!list || !a) {
		free(a);
		return -ENOMEM;
	}
	a->link_bin = programs->link_bin;
	for (size_t i = 0; programs->load && !err && i < count; i++) {
		int fd = attach_program_fd(programs, probes[i].program);

		err = fd < 0 ? fd : 0;
	}
	for (size_t i = 0; !err && i < ARRAY_SIZE(order); i++) {
		list->count = 0;
		list->counted = false;
		for (size_t j = 0; j < count; j++) {
			if (probes[j].program != order[i])
				continue;
			list->counters[list->count] = 0;
			list->offsets[list->count] = probes[j].offset;
			list->cookies[list->count++] = probes[j].cookie;
		}
		err = attach_add_told(a, mode, programs, order[i], path, list);
	}
	if (err) {
		attachment_free(a);
		return err;
	}
	*out = a;
	return 0;
}

void attachment_free(struct attachment *attachment)
{
	if (!attachment)
		return;
	for (size_t i = attachment->count; i-- > 0;)
		link_bin_drop(attachment->link_bin, attachment->fds[i]);
	free(attachment);
}
