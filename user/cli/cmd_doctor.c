// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `memleakbpf doctor`: what this kernel and machine allow, what that means, and what to do about
 * it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/base/json_writer.h"
#include "user/base/linkage.h"
#include "user/base/log.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/cli/doctor_breakpoints.h"
#include "user/cli/doctor_gate.h"
#include "user/cli/doctor_kernel.h"
#include "user/cli/doctor_target.h"
#include "user/cli/doctor_try.h"
#include "user/probe/plan.h"
#include "user/kernel/confine.h"
#include "user/kernel/feature_machine.h"
#include "user/kernel/probe_event.h"
#include "user/kernel/privilege.h"

#define NAME_WIDTH 24

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE,	/* works, and something is worth knowing */
	DOCTOR_MISSING, /* optional, and not there */
	DOCTOR_FAILED,	/* needed, and not there */
};

struct doctor_feature {
	enum feature feature;
	const char *name;
	bool needed;
	const char *without; /* what its absence means */
	const char *remedy;
};

/* In the order of the trials: without the first nothing else works. */
static const struct doctor_feature doctor_features[] = {
	{FEATURE_BPF, "BPF programs", true, "nothing can be traced",
	 "run as root (sudo), outside of containers, or with CAP_BPF and CAP_PERFMON"},
	{FEATURE_BTF, "kernel types (BTF)", true,
	 "the BPF programs cannot be fitted to this kernel",
	 "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are"},
	{FEATURE_RINGBUF, "ring buffer", true, "new stacks cannot be reported",
	 "use Linux 5.8 or newer"},
	{FEATURE_TASK_EVENTS, "fork, exec and exit", false,
	 "raw tracepoints stand in; children are not held at their start",
	 "use a kernel with CONFIG_DEBUG_INFO_BTF=y"},
	{FEATURE_THREAD_ITERATOR, "thread iterators", false,
	 "--verdict ends epoll_wait and three other waits with EINTR, as any stop does",
	 "use Linux 6.1 or newer"},
	{FEATURE_FIND_VMA, "bpf_find_vma", false,
	 "a stack through code that was mapped a moment ago may be cut short",
	 "use Linux 5.17 or newer"},
	{FEATURE_LOOP, "bpf_loop", false, "a start takes some 20 ms longer",
	 "use Linux 5.17 or newer"},
	{FEATURE_TAIL_CALL, "tail calls", false,
	 "a start takes longer: what follows runtimes is loaded at once",
	 "use Linux 5.10 or newer (6.0 on aarch64), with the BPF JIT"},
	{FEATURE_READ_KERNEL, "reading the kernel's memory", false,
	 "what a process has in memory at its end, the OOM killer and told samples are not seen",
	 "boot with lockdown=integrity, or with Secure Boot off"},
	{FEATURE_TASK_STORAGE, "task storage", false,
	 "each probe takes about 20 ns longer, no functions of Python, Java and the like, no "
	 "--scope",
	 "use Linux 5.12 or newer"},
	{FEATURE_TASK_WORK, "work given to tasks", false,
	 "a command's children are traced from when they are seen, not from their first "
	 "instruction",
	 "use Linux 6.18 or newer"},
	{FEATURE_UPROBE, "single uprobes", false, "--attach single is not available",
	 "use a kernel with CONFIG_UPROBE_EVENTS=y; new ones ask for CAP_SYS_ADMIN"},
	{FEATURE_UPROBE_COOKIE, "  with a cookie", false,
	 "stacks are walked by frame pointers; where code keeps none, callers are missing",
	 "use Linux 5.15 or newer"},
	{FEATURE_UPROBE_SLEEPS, "  that may wait", false,
	 "with --verdict, a process that ends itself has no verdict of its end",
	 "use Linux 6.0 or newer"},
	{FEATURE_UPROBE_MULTI, "multi-uprobe links", false,
	 "attaching and detaching take longer, a tenth of a second per probe",
	 "use Linux 6.6 or newer"},
	{FEATURE_UPROBE_MULTI_PID, "  filtered by process", false,
	 "single uprobes are used instead", "use Linux 6.10 or newer"},
	{FEATURE_UPROBE_SESSION, "uprobe sessions", false,
	 "a call that is not wanted pays for its return probe as well", "use Linux 6.13 or newer"},
};

/* The findings, and what follows from them. */
struct doctor {
	struct features *features;
	struct machine machine;
	struct attach_plan plan;
	struct doctor_gate gate;
	struct doctor_kernel kernel;
	struct doctor_try tried; /* with try_load */
	bool try_load;
	bool have_needed; /* of the features */
	bool possible;	  /* to trace */
	bool verbose;
};

/* ---- the judgement ------------------------------------------------------------------------ */

/* Without BPF programs all else fails, and is not tried. */
static bool doctor_have_needed(struct features *features)
{
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(doctor_features) && all; i++)
		all = !doctor_features[i].needed ||
		      features_have(features, doctor_features[i].feature);
	return all;
}

static void doctor_judge(struct doctor *d)
{
	machine_read(&d->machine);
	d->have_needed = doctor_have_needed(d->features);
	attach_plan(d->features, ATTACH_AUTO, &d->plan);
	/* Of what was tried. */
	probe_events_sweep(true);
	d->possible = d->have_needed && d->plan.possible;
	doctor_gate_read(&d->machine, d->plan.old, &d->gate);
	doctor_kernel_read(d->features, &d->kernel);
	if (!d->try_load)
		return;
	doctor_try_load(&d->tried);
	d->possible = !d->tried.err;
}

/* ---- for people --------------------------------------------------------------------------- */

static void doctor_print_item(enum doctor_state state, const char *name, const char *detail)
{
	static const char *const words[] = {
		[DOCTOR_OK] = "ok",
		[DOCTOR_NOTE] = "note",
		[DOCTOR_MISSING] = "missing",
		[DOCTOR_FAILED] = "FAILED",
	};

	if (detail && detail[0])
		printf("  %-8s %-*s %s\n", words[state], NAME_WIDTH, name, detail);
	else
		printf("  %-8s %s\n", words[state], name);
}

/*
 * The remedy goes by the kernel's answer. A refusal is no lack: a newer kernel, or another
 * configuration, would refuse the same.
 */
static const char *doctor_remedy(const struct features *features, const struct doctor_feature *item)
{
	char missing[PRIVILEGE_TEXT_MAX];
	int err = features_error(features, item->feature);

	if ((err != -EPERM && err != -EACCES) || item->feature == FEATURE_BPF)
		return item->remedy;
	if (privilege_missing(missing)[0] || !privilege_admin())
		return "run as root (sudo), outside of containers: it is refused, and not lacking";
	return "it is refused, and not lacking: by a security module, lockdown or a patch of this "
	       "kernel, which its log or its distributor may name";
}

static void doctor_print_advice(const char *meaning, const char *remedy)
{
	printf("  %8s   without it: %s\n", "", meaning);
	printf("  %8s   what to do: %s\n", "", remedy);
}

static void doctor_print_features(struct features *features)
{
	for (size_t i = 0; i < ARRAY_SIZE(doctor_features); i++) {
		const struct doctor_feature *item = &doctor_features[i];

		if (features_have(features, item->feature)) {
			doctor_print_item(DOCTOR_OK, item->name, NULL);
			continue;
		}
		doctor_print_item(item->needed ? DOCTOR_FAILED : DOCTOR_MISSING, item->name,
				  features_why(features, item->feature));
		doctor_print_advice(item->without, doctor_remedy(features, item));
		if (item->feature == FEATURE_BPF) {
			/* Other failures now say nothing about the kernel. */
			doctor_print_item(DOCTOR_NOTE, "everything else",
					  "cannot be tried without BPF programs");
			return;
		}
	}
}

static void doctor_print_gate(const struct doctor_gate *gate)
{
	char text[160];

	if (!gate->have) {
		doctor_print_item(DOCTOR_MISSING, "gate", gate->why);
		printf("  %8s   without it: with -s as well, each call of the allocator is a "
		       "trap\n",
		       "");
		if (gate->remedy)
			printf("  %8s   what to do: %s\n", "", gate->remedy);
		return;
	}
	doctor_gate_text(gate, text, sizeof(text));
	doctor_print_item(DOCTOR_OK, "gate", text);
	if (*gate->no_guards)
		doctor_print_item(DOCTOR_MISSING, "guards", gate->no_guards);
	else
		doctor_print_item(DOCTOR_OK, "guards", "--guard, where a process can have a gate");
	for (size_t i = 0; i < DOCTOR_GATE_NOTES && gate->notes[i]; i++)
		doctor_print_item(DOCTOR_NOTE, "  gate", gate->notes[i]);
}

static void doctor_print_kernel(const struct doctor_kernel *kernel)
{
	char text[64];

	doctor_kernel_text(kernel, text, sizeof(text));
	if (*text)
		doctor_print_item(DOCTOR_OK, "kernel memory", text);
	else
		doctor_print_item(DOCTOR_MISSING, "kernel memory", kernel->why);
	if (!*text)
		printf("  %8s   without it: memleakbpf kernel is a survey alone, without stacks\n",
		       "");
	if (!kernel->caches)
		doctor_print_item(DOCTOR_NOTE, "  caches",
				  "/proc/slabinfo is not for us: caches are not told apart");
	if (kernel->lines)
		doctor_print_item(DOCTOR_NOTE, "  lines",
				  "/proc/allocinfo counts by line of source, without probes");
	if (!kernel->names)
		doctor_print_item(DOCTOR_NOTE, "  names",
				  "the kernel hides its addresses: functions have no names");
}

static void doctor_print_privileges(const struct machine *m)
{
	bool admin = machine_has_capability(m, CAP_SYS_ADMIN);
	bool bpf = admin ||
		   (machine_has_capability(m, CAP_BPF) && machine_has_capability(m, CAP_PERFMON));
	bool ptrace = machine_has_capability(m, CAP_SYS_PTRACE);
	char text[160];

	snprintf(text, sizeof(text), "%s%s%s%s%s", admin ? " CAP_SYS_ADMIN" : "",
		 machine_has_capability(m, CAP_BPF) ? " CAP_BPF" : "",
		 machine_has_capability(m, CAP_PERFMON) ? " CAP_PERFMON" : "",
		 ptrace ? " CAP_SYS_PTRACE" : "",
		 m->initial_userns ? ""
				   : " (of a container's user namespace: without effect here)");
	doctor_print_item(bpf && m->initial_userns ? DOCTOR_OK : DOCTOR_FAILED, "privileges",
			  text[0] ? text + 1 : "none");
	if (!bpf || !m->initial_userns)
		doctor_print_advice("nothing can be traced",
				    "run as root (sudo) outside of containers, "
				    "or with CAP_BPF and CAP_PERFMON");
	else if (!ptrace && !admin)
		doctor_print_advice("only processes of your own user can be traced",
				    "add CAP_SYS_PTRACE");
	if (!bpf && m->perf_event_paranoid != MACHINE_UNKNOWN) {
		snprintf(text, sizeof(text), "kernel.perf_event_paranoid is %d",
			 m->perf_event_paranoid);
		doctor_print_item(DOCTOR_NOTE, "performance events", text);
	}
}

static void doctor_print_lockdown(const struct machine *m, bool verbose)
{
	switch (m->lockdown) {
	case LOCKDOWN_CONFIDENTIALITY:
		doctor_print_item(DOCTOR_NOTE, "kernel lockdown",
				  "confidentiality: BPF programs may not copy the kernel's memory");
		break;
	case LOCKDOWN_INTEGRITY:
		doctor_print_item(DOCTOR_OK, "kernel lockdown", "integrity: tracing is allowed");
		break;
	case LOCKDOWN_NONE:
		doctor_print_item(DOCTOR_OK, "kernel lockdown", "none");
		break;
	case LOCKDOWN_UNKNOWN:
		if (verbose)
			doctor_print_item(DOCTOR_OK, "kernel lockdown", "none that could be seen");
		break;
	}
}

static void doctor_print_machine(const struct machine *m, bool verbose)
{
	char text[160];

	doctor_print_lockdown(m, verbose);
	if (m->bpf_jit == 0) {
		doctor_print_item(DOCTOR_NOTE, "BPF compiler (JIT)",
				  "off: every probe costs several times more");
		printf("  %8s   what to do: sysctl net.core.bpf_jit_enable=1\n", "");
	} else if (verbose) {
		doctor_print_item(DOCTOR_OK, "BPF compiler (JIT)",
				  m->bpf_jit == MACHINE_UNKNOWN ? "unknown" : "on");
	}
	if (m->memlock_matters && m->memlock != UINT64_MAX &&
	    !machine_has_capability(m, CAP_SYS_RESOURCE)) {
		snprintf(text, sizeof(text), "%" PRIu64 " KiB for all maps (kernels before 5.11)",
			 m->memlock / 1024);
		doctor_print_item(DOCTOR_NOTE, "locked memory", text);
		printf("  %8s   what to do: ulimit -l unlimited, as root\n", "");
	}
	if (m->ptrace_scope == 3) {
		doctor_print_item(DOCTOR_NOTE, "Yama ptrace_scope",
				  "3: memory of processes cannot be read");
		printf("  %8s   names in the vdso will be missing; only a reboot can lower it\n",
		       "");
	}
	for (const char *const *line = linkage_lacks(); *line; line++)
		doctor_print_item(DOCTOR_NOTE, "static program, without", *line);
	if (linkage_static())
		return;
	if (m->debuginfod_urls)
		doctor_print_item(DOCTOR_OK, "debuginfod", m->debuginfod_urls);
	else if (verbose)
		doctor_print_item(DOCTOR_NOTE, "debuginfod",
				  "DEBUGINFOD_URLS is not set: installed debug files only");
}

#define BREAKPOINTS_SHOWN 8

/* Missing rights, or memory, are no finding. */
static void doctor_print_breakpoints(bool verbose)
{
	struct doctor_breakpoint_list list;

	if (doctor_find_breakpoints(&list)) {
		doctor_free_breakpoints(&list);
		return;
	}
	for (size_t i = 0; i < list.count && i < BREAKPOINTS_SHOWN; i++) {
		const struct doctor_breakpoints *b = &list.items[i];

		if (!i)
			doctor_print_item(DOCTOR_NOTE, "breakpoints in the code of", NULL);
		printf("  %8s     process %d (", "", b->pid);
		text_put_name(stdout, b->comm);
		printf("): %zu in ", b->count);
		text_put_name(stdout, b->path);
		printf(", the first at 0x%" PRIx64 "\n", b->first);
	}
	if (list.count > BREAKPOINTS_SHOWN)
		printf("  %8s     and %zu more\n", "", list.count - BREAKPOINTS_SHOWN);
	if (list.count)
		printf("  %8s   each costs a trap when it is come to. A tracer or debugger that "
		       "runs\n"
		       "  %8s   has them there; where there is none a killed one has left them:\n"
		       "  %8s   what to do: start the process anew\n",
		       "", "", "");
	else if (verbose)
		doctor_print_item(DOCTOR_OK, "no breakpoints in code",
				  list.unread ? "of processes that we may look at" : NULL);
	doctor_free_breakpoints(&list);
}

static void doctor_print_conclusion(const struct doctor *d)
{
	if (d->try_load && !d->possible)
		printf("Tracing is not possible: the programs cannot be loaded.\n");
	else if (!d->have_needed && !d->try_load)
		printf("Tracing is not possible: see FAILED above.\n");
	else if (!d->possible)
		printf("Tracing is not possible: no kind of uprobe works.\n");
	else
		printf("Tracing is possible: --attach %s%s.\n", attach_mode_name(d->plan.best),
		       d->plan.old ? ", with stacks by frame pointers" : "");
}

static void doctor_print_text(const struct doctor *d)
{
	const struct machine *m = &d->machine;

	printf("memleakbpf %s, Linux %s %s\n", MEMLEAKBPF_VERSION, m->release, m->architecture);
	doctor_print_privileges(m);
	doctor_print_features(d->features);
	if (d->possible)
		doctor_print_gate(&d->gate);
	doctor_print_kernel(&d->kernel);
	if (d->try_load)
		doctor_try_print(&d->tried);
	doctor_print_machine(m, d->verbose);
	doctor_print_breakpoints(d->verbose);
	doctor_print_conclusion(d);
}

/* ---- for programs ------------------------------------------------------------------------- */

static void doctor_put_features(struct json *to, struct features *features)
{
	json_object(to, "features");
	for (size_t i = 0; i < ARRAY_SIZE(doctor_features); i++) {
		const char *name = doctor_features[i].name;
		bool have = features_have(features, doctor_features[i].feature);

		json_object(to, name + strspn(name, " "));
		json_bool(to, "have", have);
		if (!have)
			json_text(to, "why", features_why(features, doctor_features[i].feature));
		json_end(to);
	}
	json_end(to);
}

static void doctor_put_gate(struct json *to, const struct doctor_gate *gate)
{
	json_object(to, "gate");
	json_bool(to, "have", gate->have);
	if (gate->have) {
		json_text(to, "nop", gate->nop.name);
		json_bool(to, "optimised", gate->nop.optimised);
		json_number(to, "hit_ns", gate->nop.hit_ns);
		json_bool(to, "guards", !*gate->no_guards);
	} else {
		json_text(to, "why", gate->why);
	}
	if (gate->notes[0]) {
		json_array(to, "notes");
		for (size_t i = 0; i < DOCTOR_GATE_NOTES && gate->notes[i]; i++)
			json_text(to, NULL, gate->notes[i]);
		json_end(to);
	}
	json_end(to);
}

static void doctor_put_breakpoints(struct json *to)
{
	struct doctor_breakpoint_list list;

	if (!doctor_find_breakpoints(&list) && list.count) {
		json_array(to, "breakpoints");
		for (size_t i = 0; i < list.count; i++) {
			json_object(to, NULL);
			json_number(to, "pid", (uint64_t)list.items[i].pid);
			json_text(to, "comm", list.items[i].comm);
			json_text(to, "path", list.items[i].path);
			json_number(to, "count", list.items[i].count);
			json_end(to);
		}
		json_end(to);
	}
	doctor_free_breakpoints(&list);
}

/* Lists what this program lacks if it is a static one. */
static void doctor_put_lacks(struct json *to)
{
	if (!linkage_static())
		return;
	json_array(to, "static_without");
	for (const char *const *line = linkage_lacks(); *line; line++)
		json_text(to, NULL, *line);
	json_end(to);
}

static void doctor_print_json(const struct doctor *d)
{
	struct json to;

	json_begin(&to, stdout, JSON_ALONE);
	json_object(&to, NULL);
	json_number(&to, "version", 1);
	json_text(&to, "kernel", d->machine.release);
	json_text(&to, "machine", d->machine.architecture);
	json_bool(&to, "tracing", d->possible);
	if (d->possible)
		json_text(&to, "attach", attach_mode_name(d->plan.best));
	json_array(&to, "modes");
	for (unsigned mode = 0; mode < ATTACH_MODES; mode++) {
		if (attach_mode_works(d->features, mode))
			json_text(&to, NULL, attach_mode_name(mode));
	}
	json_end(&to);
	json_text(&to, "stack", d->plan.old ? "fp" : "dwarf");
	doctor_put_features(&to, d->features);
	doctor_put_gate(&to, &d->gate);
	doctor_kernel_put(&to, &d->kernel);
	doctor_put_lacks(&to);
	if (d->try_load)
		doctor_try_put(&to, &d->tried);
	doctor_put_breakpoints(&to);
	json_end(&to);
	putchar('\n');
}

int cmd_doctor(const union command_config *command)
{
	const struct doctor_config *config = &command->doctor;
	struct doctor d = {.features = features_new(),
			   .verbose = config->verbose,
			   .try_load = config->try_load};
	bool all_well;

	if (!d.features)
		return log_errno(ENOMEM, "doctor") ? 1 : 0;
	doctor_judge(&d);
	if (config->format->findings == EXPORT_OBJECT)
		doctor_print_json(&d);
	else
		doctor_print_text(&d);
	features_free(d.features);
	all_well = d.possible;
	/* From here on we read strangers' files. */
	if (config->pids.count &&
	    (privilege_drop(false, false) || confine_tool(&(struct confine_needs){0})))
		log_debug("cannot drop privileges");
	for (size_t i = 0; i < config->pids.count; i++) {
		if (doctor_target(config->pids.pids[i], d.verbose))
			all_well = false;
	}
	if (fflush(stdout) || ferror(stdout)) {
		log_errno(errno ? errno : EIO, "cannot write to standard output");
		return 1;
	}
	return all_well ? 0 : 1;
}
