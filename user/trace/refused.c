// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/refused.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"
#include "user/trace/libbpf_messages.h"
#include "user/trace/skeleton.h"

#define REFUSED_THREADS(constant, name, text) " " #name "_threads"

/* ---- what is done instead ----------------------------------------------------------------- */

static bool refused_leave_out(struct trace_options *options, uint32_t part)
{
	bool first = !(options->left_out & part);

	options->left_out |= part;
	return first;
}

static bool without_holding(struct trace_options *options)
{
	bool held = options->children == CHILDREN_EXACT;

	if (held)
		options->children = CHILDREN_LATE;
	return held;
}

static bool without_ends(struct trace_options *options)
{
	bool held = options->hold_at_end;

	options->hold_at_end = false;
	return held;
}

static bool without_loaded(struct trace_options *options)
{
	bool waits = options->wait_loaded;

	options->wait_loaded = false;
	return waits;
}

static bool without_mapping(struct trace_options *options)
{
	return refused_leave_out(options, LEFT_OUT_MAPPING);
}

static bool without_walks(struct trace_options *options)
{
	return refused_leave_out(options, LEFT_OUT_WALKS);
}

static bool without_clock(struct trace_options *options)
{
	/* A copy's moment is told by the clock as well. */
	options->ages = options->copies = false;
	return refused_leave_out(options, LEFT_OUT_CLOCK);
}

static bool without_memory_at_end(struct trace_options *options)
{
	return refused_leave_out(options, LEFT_OUT_AT_END);
}

static bool without_victims(struct trace_options *options)
{
	return refused_leave_out(options, LEFT_OUT_VICTIM);
}

static bool without_signals(struct trace_options *options)
{
	return refused_leave_out(options, LEFT_OUT_SIGNALS);
}

static bool without_types(struct trace_options *options)
{
	return refused_leave_out(options, LEFT_OUT_TYPES);
}

static bool without_sessions(struct trace_options *options)
{
	bool session = options->attach == ATTACH_SESSION;

	if (session)
		options->attach = ATTACH_MULTI;
	return session;
}

static bool without_task_storage(struct trace_options *options)
{
	bool had = options->task_storage && !options->scope_count;

	options->task_storage &= !had;
	return had;
}

/* It is tried once more when the runtime is there, and what it costs is said then. */
static bool without_runtimes_now(struct trace_options *options)
{
	bool now = options->managed_now;

	options->managed_now = false;
	return now;
}

static bool without_usdt(struct trace_options *options)
{
	bool wanted = options->usdt == TRACE_USDT_FOUND;

	if (wanted)
		options->usdt = TRACE_USDT_NEVER;
	return wanted;
}

static bool without_later_gate(struct trace_options *options)
{
	bool later = options->gate_later && !options->gate;

	options->gate_later &= !later;
	return later;
}

/* ---- the table ---------------------------------------------------------------------------- */

static const struct refused_row rows[] = {
	{
		.what = "exact_children",
		.programs = "hold_on_fork hold_on_exec",
		.maps = "holds",
		.purpose = "children that wait for their probes",
		.instead = without_holding,
		.costs = "children are traced from when they are seen, not from their first "
			 "instruction",
	},
	{
		.what = "verdict_at_end",
		.programs = "on_leave",
		.purpose = "processes that are looked at as they end",
		.instead = without_ends,
		.costs = "a process that ends itself has no verdict of its end",
	},
	{
		.what = "loaded_libraries",
		.programs = "on_loaded",
		.purpose = "libraries that wait for their probes",
		.instead = without_loaded,
		.costs = "allocators in libraries that a process loads get their probes some "
			 "milliseconds late",
	},
	{
		.what = "mappings_at_once",
		.programs = "on_mapping",
		.purpose = "code that takes the place of other code",
		.instead = without_mapping,
		.costs = "stacks through a library that has just taken the place of another may "
			 "be wrong for some milliseconds",
	},
	{
		.what = "walks",
		.programs = "live_ages scoped_live_ages live_sweep",
		.purpose = "looks at all live blocks inside the kernel",
		.instead = without_walks,
		.costs = "memleakbpf itself takes longer to tell the ages of blocks",
	},
	{
		.what = "ages",
		.programs = "live_clock_read",
		.purpose = "the kernel's clock",
		.instead = without_clock,
		.costs = REFUSED_NO_CLOCK,
	},
	{
		.what = "memory_at_end",
		.programs = "on_exit",
		.maps = "ruler as_number",
		.judged = true,
		.copies = true,
		.purpose = "what a process has in memory at its end",
		.instead = without_memory_at_end,
		.costs = "what a process has in memory at its end is not known",
	},
	{
		.what = "oom_killer",
		.programs = "on_victim",
		.copies = true,
		.purpose = "processes that the kernel ends for want of memory",
		.instead = without_victims,
		.costs = "of a process that ends by SIGKILL is not known whether the OOM killer "
			 "ended it",
	},
	{
		.what = "signal_senders",
		.programs = "on_signal",
		.purpose = "who sends a signal that ends a process",
		.instead = without_signals,
		.costs = "of a process that a signal ends is not known who has sent it",
	},
	{
		.what = "typed_tracepoints",
		.programs = "on_fork on_exec on_exit",
		.purpose = "fork, exec and exit",
		.instead = without_types,
	},
	{
		.what = "sessions",
		.programs = "alloc_session figures_alloc_session scoped_alloc_session",
		.purpose = "entry and return of a function by one probe",
		.instead = without_sessions,
	},
	{
		.what = "task_storage",
		.programs = "",
		.maps = "thread_storage thread_trails" RUNTIME_LANGUAGES(REFUSED_THREADS),
		.purpose = "what is known of each thread",
		.instead = without_task_storage,
		.costs = "each probe walks its stack anew, and stacks have no functions of Java, "
			 "Python, JavaScript, Ruby, PHP and Perl",
	},
	{
		.what = "told_samples",
		.programs = "usdt_free figures_usdt_free scoped_usdt_free old_usdt_alloc "
			    "old_usdt_free",
		.copies = true,
		.purpose = "processes that tell of their samples themselves",
		.instead = without_usdt,
		.costs = "what a process tells of its samples itself is not heard",
	},
	{
		.what = "later_gate",
		.programs = "gate_alloc gate_free gate_kept figures_gate_alloc figures_gate_free "
			    "figures_gate_kept scoped_gate_alloc scoped_gate_free scoped_gate_kept",
		.purpose = "the gate",
		.instead = without_later_gate,
		.costs = "no process can be given a gate later",
	},
	{
		.what = "runtime_frames",
		.programs = "managed_enter managed_session managed_gate figures_managed_enter "
			    "figures_managed_session figures_managed_gate scoped_managed_enter "
			    "scoped_managed_session scoped_managed_gate",
		.purpose = "functions of runtimes",
		.instead = without_runtimes_now,
	},
	/* Without these there is nothing. */
	{
		.what = "allocators",
		.programs = "alloc_enter alloc_leave alloc_return free_enter on_unwind "
			    "figures_alloc_enter figures_alloc_leave figures_alloc_return "
			    "figures_free_enter scoped_alloc_enter scoped_alloc_leave "
			    "scoped_alloc_return scoped_free_enter "
			    "old_alloc_enter old_free_enter old_on_unwind "
			    "managed_enter managed_session managed_gate figures_managed_enter "
			    "figures_managed_session figures_managed_gate scoped_managed_enter "
			    "scoped_managed_session scoped_managed_gate",
		.maps = "live stacks counters slot_infos target_stats targets threads events "
			"copies "
			"unwind_chunks unwind_rules free_slots free_ids slot_numbers",
		.purpose = "probes on allocators",
	},
	{
		.what = "mmap",
		.programs = "unmap_enter old_unmap_enter figures_unmap_enter scoped_unmap_enter",
		.purpose = "probes on mmap (--mmap)",
	},
	{
		.what = "processes",
		.programs = "raw_on_fork raw_on_exec raw_on_exit old_on_fork old_on_exec",
		.purpose = "fork, exec and exit",
	},
	{
		.what = "check_frees",
		.programs = "on_named checked_free_enter figures_checked_free_enter "
			    "scoped_checked_free_enter",
		.maps = "families freed bad_frees",
		.purpose = "bad frees (--check-frees)",
	},
	{
		.what = "guard",
		.programs = "guard_probed guard_fault",
		.maps = "guard_rows guard_blocks guard_saids bad_accesses",
		.purpose = "guarded blocks (--guard)",
	},
	{
		.what = "scopes",
		.programs = "scope_entered scope_returned scope_jumped scope_thread_exits "
			    "scope_thread_execs",
		.maps = "scope_stacks scope_nodes scope_threads",
		.purpose = "calls of functions (--scope)",
	},
};

const struct refused_row *refused_rows(size_t *count)
{
	*count = ARRAY_SIZE(rows);
	return rows;
}

static bool refused_is_one_of(const char *name, const char *names)
{
	size_t length = name ? strlen(name) : 0;

	for (const char *at = names; length && at && (at = strstr(at, name)); at += length) {
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	}
	return false;
}

bool refused_row_has(const struct refused_row *row, const char *program, const char *map)
{
	return refused_is_one_of(program, row->programs) || refused_is_one_of(map, row->maps);
}

/* ---- loading ------------------------------------------------------------------------------ */

void refused_choose(struct memleakbpf *skel, const struct trace_options *options)
{
	const struct {
		uint32_t part;
		struct bpf_program *program;
	} parts[] = {
		{LEFT_OUT_WALKS, skel->progs.live_ages},
		{LEFT_OUT_WALKS, skel->progs.scoped_live_ages},
		{LEFT_OUT_WALKS, skel->progs.live_sweep},
		{LEFT_OUT_CLOCK, skel->progs.live_clock_read},
		{LEFT_OUT_MAPPING, skel->progs.on_mapping},
		{LEFT_OUT_VICTIM, skel->progs.on_victim},
		{LEFT_OUT_SIGNALS, skel->progs.on_signal},
		{LEFT_OUT_TYPES, skel->progs.on_fork},
		{LEFT_OUT_TYPES, skel->progs.on_exec},
		{LEFT_OUT_TYPES, skel->progs.on_exit},
	};
	bool raw = options->left_out & LEFT_OUT_TYPES;
	bool old_usdt = options->old && options->usdt != TRACE_USDT_NEVER;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (options->left_out & parts[i].part)
			bpf_program__set_autoload(parts[i].program, false);
	}
	bpf_program__set_autoload(skel->progs.raw_on_fork, raw);
	bpf_program__set_autoload(skel->progs.raw_on_exec, raw);
	bpf_program__set_autoload(skel->progs.raw_on_exit, raw);
	bpf_program__set_autoload(skel->progs.old_usdt_alloc, old_usdt);
	bpf_program__set_autoload(skel->progs.old_usdt_free, old_usdt);
}

/* "on_loaded: Invalid argument (invalid func unknown#32767)" */
static void refused_why(char *why, size_t size, const struct libbpf_refusal *refusal)
{
	const char *name = *refusal->program ? refusal->program : refusal->map;

	if (*refusal->complaint)
		snprintf(why, size, "%s: %s (%.80s)", name, strerror(-refusal->error),
			 refusal->complaint);
	else
		snprintf(why, size, "%s: %s", name, strerror(-refusal->error));
}

static const struct refused_row *refused_instead(struct trace_options *options,
						 const struct libbpf_refusal *refusal)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].instead && (!rows[i].judged || *refusal->complaint) &&
		    refused_row_has(&rows[i], refusal->program, refusal->map) &&
		    rows[i].instead(options))
			return &rows[i];
	}
	return NULL;
}

static const char *refused_purpose(const struct libbpf_refusal *refusal)
{
	const char *purpose = NULL;

	/* The last that names it says what cannot be done without. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (refused_row_has(&rows[i], refusal->program, refusal->map))
			purpose = rows[i].purpose;
	}
	return purpose;
}

static int refused_explain(int err, const struct libbpf_refusal *refusal)
{
	char missing[PRIVILEGE_TEXT_MAX], why[MISSING_WHY];
	const char *purpose = refused_purpose(refusal);

	if ((err == -EPERM || err == -EACCES) && privilege_missing(missing)[0])
		return log_errno(err,
				 "loading BPF programs needs %s; run as root (sudo), or with "
				 "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE",
				 missing);
	if (err == -ENOMEM || err == -E2BIG)
		return log_errno(err,
				 "no memory for the BPF maps; lower --max-live or --max-stacks");
	if (!refusal->error)
		return log_errno(err, "cannot load the BPF programs (`memleakbpf doctor --try` "
				      "says what this kernel refuses; -vv shows why)");
	refused_why(why, sizeof(why), refusal);
	log_error("this kernel refuses %s, which is needed for %s (`memleakbpf doctor` says more)",
		  why, purpose ? purpose : "tracing");
	return err;
}

static void refused_unload(struct trace *trace)
{
	memleakbpf__destroy(trace->skel);
	trace->skel = NULL;
	if (trace->programs.link_bin >= 0)
		close(trace->programs.link_bin);
	trace->programs.link_bin = -1;
}

void refused_note(struct trace *trace, const char *what, const char *costs, int err,
		  const char *culprit)
{
	const struct missing_part *part =
		missing_add(&trace->missing, what, costs, "%s: %s", culprit, strerror(-err));

	if (part)
		log_info("this kernel refuses %s: %s", part->why, part->costs);
}

void refused_without_copies(struct trace *trace)
{
	static const char why[] = "copies of the kernel's memory, as lockdown=confidentiality does";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct missing_part *part = NULL;

		if (rows[i].copies && rows[i].instead(&trace->options))
			part = missing_add(&trace->missing, rows[i].what, rows[i].costs, "%s", why);
		if (part)
			log_info("this kernel refuses %s: %s", part->why, part->costs);
	}
}

/* It is left out, and said so. False: nothing can be done instead. */
static bool refused_step_down(struct trace *trace, int err, const struct libbpf_refusal *refusal)
{
	const struct missing_part *part = NULL;
	char missing[PRIVILEGE_TEXT_MAX], why[MISSING_WHY];
	const struct refused_row *row;

	/* Whatever fails then says nothing about the kernel. */
	if (!refusal->error || ((err == -EPERM || err == -EACCES) && privilege_missing(missing)[0]))
		return false;
	row = refused_instead(&trace->options, refusal);
	if (!row)
		return false;
	refused_why(why, sizeof(why), refusal);
	if (row->costs)
		part = missing_add(&trace->missing, row->what, row->costs, "%s", why);
	if (part)
		log_info("this kernel refuses %s: %s", part->why, part->costs);
	else
		log_debug("this kernel refuses %s: %s is done without", why, row->what);
	return true;
}

int refused_load(struct trace *trace, int (*open)(struct trace *trace))
{
	for (;;) {
		const struct libbpf_refusal *refusal = libbpf_refusal_last();
		int err = open(trace);

		if (err)
			return err;
		libbpf_refusal_forget();
		err = memleakbpf__load(trace->skel);
		if (!err)
			return 0;
		if (!refused_step_down(trace, err, refusal))
			return refused_explain(err, refusal);
		refused_unload(trace);
	}
}
