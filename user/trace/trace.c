// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Loading and unloading. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/page.h"
#include "user/base/starting.h"
#include "user/base/util.h"
#include "user/patch/patches.h"
#include "user/probe/old.h"
#include "user/kernel/feature_machine.h"
#include "user/kernel/link_bin.h"
#include "user/kernel/confine.h"
#include "user/kernel/privilege.h"
#include "user/kernel/probe_event.h"
#include "user/trace/beforehand.h"
#include "user/trace/event_queue.h"
#include "user/patch/gated.h"
#include "user/patch/guarded.h"
#include "user/trace/known_objects.h"
#include "user/trace/later.h"
#include "user/trace/libbpf_messages.h"
#include "user/trace/programs.h"
#include "user/runtime/java/runtime_asker.h"
#include "user/trace/runtime_host.h"
#include "user/trace/read_user.h"
#include "user/trace/refused.h"
#include "user/trace/rooms.h"
#include "user/stacks/sampling.h"
#include "user/trace/scope_programs.h"
#include "user/scopes/scopes.h"
#include "user/trace/sharers.h"
#include "user/trace/spawn.h"
#include "user/stacks/stacks.h"
#include "user/trace/own_calls.h"
#include "user/trace/target.h"
#include "user/trace/target_patches.h"
#include "user/trace/thread_variables.h"
#include "user/unwind/publish_first.h"
#include "user/unwind/publish_bpf.h"

/* What one small target takes, with some to spare. */
#define MIN_FILES 128

/* Different ones, by kind and stacks, of all targets together. */
#define MAX_BAD_FREES 16384

/* 500,000 frees, while a table is read: a second of a busy process. */
#define NOTED_FREES_SIZE (16 << 20)

static int trace_set_map_size(struct bpf_map *map, uint32_t entries)
{
	return bpf_map__set_max_entries(map, entries);
}

/*
 * Kernels before 5.15 only: the queues of bpf/number.h have room for twice as many as programs can
 * run at a time.
 */
static int trace_configure_numbers(struct memleakbpf *skel, uint32_t max_slots)
{
	int cpus = libbpf_num_possible_cpus();
	uint32_t step;

	if (cpus < 0)
		return cpus;
	step = 2 * (uint32_t)cpus;
	skel->rodata->config.number_step = step;
	/* Nobody counts the slots in use there: readers look at all. */
	skel->bss->shared.next_slot = max_slots;
	skel->bss->shared.last_target_id = ABI_TARGET_SLOTS;
	return trace_set_map_size(skel->maps.slot_numbers, step);
}

/* Together the trails of all threads take a 64th of the machine's memory at most. */
static uint32_t trace_trail_threads(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page_size();

	return (uint32_t)(memory / 64 / sizeof(struct unwind_trails));
}

static int trace_configure(struct trace *trace)
{
	const struct trace_options *o = &trace->options;
	struct memleakbpf *skel = trace->skel;
	int cpus = libbpf_num_possible_cpus(), err;

	skel->rodata->config = (struct config){
		.min_size = o->min_size,
		.max_size = o->max_size,
		.older_ns = o->older_ns,
		.sample_bytes = o->sample_bytes,
		.sample_levels = o->sample_levels,
		.max_live_target = o->max_live_target,
		.page_size = (uint32_t)page_size(),
		.max_slots = o->max_stacks,
		.max_frames = o->max_frames,
		.unwind_flags = o->frame_pointers ? UNWIND_FP_ONLY : 0,
		.tool = (uint32_t)getpid(),
		.task_storage = o->task_storage,
		.trail_threads = trace_trail_threads(),
		.managed_later = o->managed_later,
		.loops = o->loops,
		.typed_reads = o->typed_reads,
		.mmap = o->providers.mmap,
		.search_unmapped = o->providers.mmap && o->loops,
		.check_frees = o->check_frees,
		.note_frees = o->copies,
		.own_exec = o->children >= CHILDREN_EXACT,
	};
	if (cpus > 0 && cpus <= RSS_MAX_CPUS && !(o->left_out & LEFT_OUT_AT_END))
		skel->rodata->possible_cpus = (uint32_t)cpus;
	else
		skel->rodata->possible_cpus = 0;
	skel->bss->shared.target_epoch = 1;
	own_calls_configure(&o->providers, skel->bss->own_functions);
	sampling_tables(&skel->rodata->sample_tables);
	err = trace_set_map_size(skel->maps.live, o->max_live);
	err = err ?: trace_set_map_size(skel->maps.stacks, o->max_stacks);
	err = err ?: trace_set_map_size(skel->maps.counters, o->max_stacks + ABI_TARGET_SLOTS);
	err = err ?: trace_set_map_size(skel->maps.slot_infos, o->max_stacks + ABI_TARGET_SLOTS);
	err = err ?: trace_set_map_size(skel->maps.slot_ages, o->max_stacks + ABI_TARGET_SLOTS);
	err = err ?: trace_set_map_size(skel->maps.free_slots, o->max_stacks);
	err = err ?: rooms_configure(trace);
	if (o->old)
		err = err ?: trace_configure_numbers(skel, o->max_stacks);
	err = err ?: scopes_configure(trace);
	if (o->copies)
		err = err ?: trace_set_map_size(skel->maps.noted_frees, NOTED_FREES_SIZE);
	if (o->check_frees) {
		err = err ?: trace_set_map_size(skel->maps.families, o->max_live);
		err = err ?: trace_set_map_size(skel->maps.freed, o->check_frees);
		err = err ?: trace_set_map_size(skel->maps.bad_frees, MAX_BAD_FREES);
	}
	return err;
}

/* With too few descriptors libbpf takes kernel features for missing, and its errors mislead. */
static int trace_check_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= MIN_FILES)
		return 0;
	log_error(
		"only %ju open files are allowed, and one target takes about 105: raise the limit "
		"(ulimit -n 1024)",
		(uintmax_t)limit.rlim_cur);
	return -EMFILE;
}

/* After loading. */
static int trace_prepare_old(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;

	if (!trace->options.old)
		return 0;
	trace->programs.old = old_programs_new();
	if (!trace->programs.old)
		return -ENOMEM;
	for (uint32_t i = 0; i < skel->rodata->config.number_step; i++) {
		if (bpf_map_update_elem(bpf_map__fd(skel->maps.slot_numbers), NULL, &i, BPF_ANY))
			return log_errno(errno, "cannot fill a BPF queue");
	}
	for (uint32_t id = 1; id <= ABI_TARGET_SLOTS; id++) {
		if (bpf_map_update_elem(bpf_map__fd(skel->maps.free_ids), NULL, &id, BPF_ANY))
			return log_errno(errno, "cannot fill a BPF queue");
	}
	return 0;
}

static int trace_open(struct trace *trace)
{
	struct memleakbpf *skel;
	int err;

	skel = trace->skel = skeleton_open(trace->options.children == CHILDREN_EXACT);
	if (!skel)
		return log_errno(errno, "cannot open the BPF programs");
	programs_choose(skel, &trace->options, &trace->programs);
	trace->programs.load = later_load;
	trace->programs.load_ctx = trace;
	/* A name can be taken away when its probe is gone, and the bin's go when the kernel comes to it. */
	trace->programs.link_bin = trace->probe_events ? -EBUSY : link_bin_new();
	if (trace->programs.link_bin < 0)
		log_debug("probes come off one by one: no bpffs of our own (%s)",
			  strerror(-trace->programs.link_bin));
	err = trace_configure(trace) ?: beforehand_make_chunks(trace);
	return err ? log_errno(err, "cannot set the sizes of the BPF maps") : 0;
}

static int trace_load(struct trace *trace)
{
	int err = beforehand_mind_warnings();

	if (err)
		return err;
	libbpf_messages_to_log();
	if (trace->options.typed_reads) {
		refused_without_copies(trace);
		err = read_user_keep();
	}
	return err ?: refused_load(trace, trace_open) ?: trace_prepare_old(trace);
}

/* Nothing is attached yet, and no thread of ours is there. */
static int trace_load_starting(struct trace *trace)
{
	struct starting before;
	int err;

	if (!trace->options.starting)
		return trace_load(trace);
	starting_begin(&before);
	err = trace_load(trace);
	starting_end(&before);
	return err;
}

void trace_started(struct trace *trace)
{
	if (trace)
		trace->options.starting = false;
}

/* The process tracepoints come before any target, so that no fork or exec of one is missed. */
static int trace_attach_process_events(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;
	bool old = trace->options.old, hold = trace->options.children == CHILDREN_EXACT;
	bool raw = trace->options.left_out & LEFT_OUT_TYPES;
	const struct {
		struct bpf_link **link;
		const struct bpf_program *program;
	} events[] = {
		{&skel->links.on_fork, old    ? skel->progs.old_on_fork
				       : hold ? skel->progs.hold_on_fork
				       : raw  ? skel->progs.raw_on_fork
					      : skel->progs.on_fork},
		{&skel->links.on_exec, old    ? skel->progs.old_on_exec
				       : hold ? skel->progs.hold_on_exec
				       : raw  ? skel->progs.raw_on_exec
					      : skel->progs.on_exec},
		{&skel->links.on_exit, raw ? skel->progs.raw_on_exit : skel->progs.on_exit},
		{&skel->links.on_mapping, skel->progs.on_mapping},
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (bpf_program__fd(events[i].program) < 0)
			continue;
		*events[i].link = bpf_program__attach(events[i].program);
		if (!*events[i].link)
			return log_errno(errno,
					 "cannot watch fork, exec, exit and mmap (tracepoints)");
	}
	/* Without it a process that is killed for want of memory ends by SIGKILL, and no more is known. */
	if (bpf_program__fd(skel->progs.on_victim) >= 0)
		skel->links.on_victim = bpf_program__attach(skel->progs.on_victim);
	if (!skel->links.on_victim)
		log_debug("cannot watch the OOM killer: %s", strerror(errno));
	/* Likewise: then nobody knows who has sent the signal. */
	if (bpf_program__fd(skel->progs.on_signal) >= 0)
		skel->links.on_signal = bpf_program__attach(skel->progs.on_signal);
	if (!skel->links.on_signal)
		log_debug("cannot watch signals: %s", strerror(errno));
	return 0;
}

static int trace_watch_fd(struct trace *trace, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(trace->fds.all, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int trace_open_unwinder(struct trace *trace)
{
	const struct memleakbpf *skel = trace->skel;
	struct first_chunks *first = trace->first_chunks;
	const struct unwind_map_fds fds = {
		.chunks = bpf_map__fd(skel->maps.unwind_chunks),
		.rules = bpf_map__fd(skel->maps.unwind_rules),
		.targets = bpf_map__fd(skel->maps.unwind_targets),
		.objects = bpf_map__fd(skel->maps.unwind_objects),
	};

	trace->first_chunks = NULL;
	return unwind_publisher_new_bpf(&fds, first, trace->options.frame_pointers, &trace->unwind);
}

static bool trace_follows(void *ctx, pid_t pid)
{
	const struct trace *trace = ctx;

	return target_by_pid(trace, pid) || spawn_table_has(trace->spawns, pid);
}

/* Ubuntu's setting of 4, and Debian's of 3, want CAP_SYS_ADMIN for any performance event. */
static void trace_check_maps(struct trace *trace)
{
	int err = event_queue_maps_refused(trace->queue);
	char culprit[96] = "performance events";
	struct machine machine;

	if (!err)
		return;
	machine_read(&machine);
	if (machine.perf_event_paranoid > 2)
		snprintf(culprit, sizeof(culprit),
			 "performance events (kernel.perf_event_paranoid is %d)",
			 machine.perf_event_paranoid);
	refused_note(trace, "new_mappings",
		     "what a process maps is seen when its loader says so, or within a second", err,
		     culprit);
}

static int trace_start(struct trace *trace)
{
	int fds[EVENT_QUEUE_FDS], err = target_patches_prepare(trace);

	beforehand_expect_runtime(trace);
	beforehand_sweep_events(trace);
	err = err ?: trace_load_starting(trace);
	err = err ?: runtime_host_new(trace);
	if (!err)
		err = rooms_start(trace);
	if (!err)
		err = event_queue_new(bpf_map__fd(trace->skel->maps.events),
				      bpf_map__fd(trace->skel->maps.copies), trace_follows, trace,
				      &trace->queue);
	if (!err)
		trace_check_maps(trace);
	if (!err)
		err = trace_open_unwinder(trace);
	/* Calls end before their process does. */
	if (!err)
		err = scopes_start(trace);
	if (!err)
		err = trace_attach_process_events(trace);
	if (err)
		return err;
	trace->fds.all = epoll_create1(EPOLL_CLOEXEC);
	trace->fds.ends = epoll_create1(EPOLL_CLOEXEC);
	if (trace->fds.all < 0 || trace->fds.ends < 0)
		return log_errno(errno, "epoll_create1");
	err = sharers_start(trace);
	if (err)
		return err;
	err = trace_watch_fd(trace, trace->fds.ends);
	event_queue_fds(trace->queue, fds);
	for (size_t i = 0; i < ARRAY_SIZE(fds) && !err; i++)
		err = trace_watch_fd(trace, fds[i]);
	return err ? log_errno(err, "epoll_ctl") : 0;
}

/*
 * Inode of the initial PID namespace: PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h,
 * fixed since 3.8.
 */
#define INITIAL_PID_NAMESPACE 0xeffffffcu

/*
 * The programs know processes by their ids in the initial namespace; with others they would count
 * nothing, silently.
 */
static int trace_check_pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	log_error("running inside a PID namespace, where process ids are not those of the kernel; "
		  "run it in the "
		  "host's (docker run --pid=host, hostPID in Kubernetes, nsenter -t 1 -p)");
	return -EOPNOTSUPP;
}

void trace_drop_privileges(struct trace *trace, const struct trace_needs *targets)
{
	/* Mapping code into a process that has a filter takes lifting that. */
	bool lifts =
		targets->suspend_filters && (trace->options.gate || trace->options.guard.period);
	/* New kernels create single uprobes for CAP_SYS_ADMIN only. */
	bool admin = trace->options.attach == ATTACH_SINGLE || trace->options.gate || lifts ||
		     targets->keepers;
	/* SIGUSR2 asks for a verdict at any time. */
	const struct confine_needs needs = {.ptrace = true,
					    .network = trace->options.symbols.debuginfod};
	int err = privilege_drop(admin, targets->new_files);

	if (err)
		log_debug("cannot drop privileges: %s", strerror(-err));
	trace->lifts_filters = lifts;
	err = trace->lifts_filters ? 0 : confine_tool(&needs);
	if (err)
		log_debug("cannot give up system calls: %s", strerror(-err));
}

int trace_new(const struct trace_options *options, const struct trace_callbacks *callbacks,
	      struct trace **out)
{
	int err = trace_check_pid_namespace();
	struct trace *trace;

	err = err ?: trace_check_file_limit();
	if (err)
		return err;
	trace = calloc(1, sizeof(*trace));
	if (!trace)
		return -ENOMEM;
	trace->options = *options;
	trace->callbacks = *callbacks;
	trace->lifts_filters = options->lifts_filters;
	trace->fds.all = -1;
	trace->fds.ends = -1;
	trace->programs.link_bin = -1;
	trace->fds.stats = trace->fds.sharers = -1;
	trace->objects = object_cache_new();
	trace->stacks = stack_table_new();
	trace->spawns = spawn_table_new();
	err = options->ask_runtime ? runtime_asker_new(&trace->asker) : 0;
	if (err) {
		trace_free(trace);
		return err;
	}
	err = -ENOMEM;
	trace->symbolizer = symbolizer_new(&options->symbols);
	if (trace->objects && trace->stacks && trace->spawns && trace->symbolizer)
		err = trace_start(trace);
	if (err) {
		trace_free(trace);
		return err;
	}
	*out = trace;
	return 0;
}

static void trace_free_targets(struct trace *trace)
{
	struct target *target, *next;

	HASH_ITER (hh, trace->targets, target, next) {
		target_unlink(trace, target);
		target_free(trace, target);
	}
	while (trace->ended) {
		target = trace->ended;
		trace->ended = target->next_ended;
		target_free(trace, target);
	}
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->skel) {
		log_progress("removing the probes ...");
		__atomic_store_n(&trace->skel->bss->shared.tool_gone, 1, __ATOMIC_RELAXED);
	}
	trace_free_targets(trace);
	known_objects_free(trace);
	patches_free(trace->patches);
	if (trace->programs.link_bin >= 0)
		close(trace->programs.link_bin);
	if (trace->probe_events)
		probe_events_sweep(true);
	first_chunks_free(trace->first_chunks);
	unwind_publisher_free(trace->unwind);
	event_queue_free(trace->queue);
	rooms_free(trace);
	scopes_free(trace->scopes);
	old_programs_free(trace->programs.old);
	later_free(trace);
	memleakbpf__destroy(trace->skel);
	stack_table_free(trace->stacks);
	runtimes_free(trace->runtimes);
	spawn_table_free(trace->spawns);
	runtime_asker_free(trace->asker);
	symbolizer_free(trace->symbolizer);
	thread_variables_free(trace);
	object_cache_free(trace->objects);
	if (trace->fds.all >= 0)
		close(trace->fds.all);
	if (trace->fds.ends >= 0)
		close(trace->fds.ends);
	if (trace->fds.stats >= 0)
		close(trace->fds.stats);
	if (trace->fds.sharers >= 0)
		close(trace->fds.sharers);
	free(trace);
	log_progress_end();
}

int trace_fd(const struct trace *trace)
{
	return trace->fds.all;
}

const struct missing_parts *trace_missing(const struct trace *trace)
{
	return &trace->missing;
}
