// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `memleakbpf doctor`: what this kernel and machine allow, what that means, and what to do about
 * it.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "user/base/json_writer.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/cli/doctor_target.h"
#include "user/probe/plan.h"
#include "user/kernel/feature_machine.h"

/* Newer than some libcs' headers; linux/capability.h of 5.8. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif

#define NAME_WIDTH 24

enum state {
	STATE_OK,
	STATE_NOTE,    /* works, and something is worth knowing */
	STATE_MISSING, /* optional, and not there */
	STATE_FAILED,  /* needed, and not there */
};

struct feature_item {
	enum feature feature;
	const char *name;
	bool needed;
	const char *without; /* what its absence means */
	const char *remedy;
};

static const struct feature_item feature_items[] = {
	{FEATURE_BPF, "BPF programs", true, "nothing can be traced",
	 "run as root (sudo), outside of containers, or with CAP_BPF and CAP_PERFMON"},
	{FEATURE_BTF, "kernel types (BTF)", true,
	 "the BPF programs cannot be fitted to this kernel",
	 "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, as those of the distributions are"},
	{FEATURE_RINGBUF, "ring buffer", true, "new stacks cannot be reported",
	 "use Linux 5.8 or newer"},
	{FEATURE_TASK_EVENTS, "fork, exec and exit", true, "processes cannot be followed",
	 "use Linux 5.8 or newer with CONFIG_DEBUG_INFO_BTF=y"},
	{FEATURE_MAP_ITERATOR, "map iterators", true, "ages of blocks cannot be told",
	 "use Linux 5.8 or newer with CONFIG_DEBUG_INFO_BTF=y"},
	{FEATURE_THREAD_ITERATOR, "thread iterators", false,
	 "--verdict ends epoll_wait and three other waits with EINTR, as any stop does",
	 "use Linux 6.1 or newer"},
	{FEATURE_FIND_VMA, "bpf_find_vma", false,
	 "a stack through code that was mapped a moment ago may be cut short",
	 "use Linux 5.17 or newer"},
	{FEATURE_TASK_STORAGE, "task storage", false, "each probe takes about 20 ns longer",
	 "use Linux 5.12 or newer"},
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

static void print_item(enum state state, const char *name, const char *detail)
{
	static const char *const words[] = {
		[STATE_OK] = "ok",
		[STATE_NOTE] = "note",
		[STATE_MISSING] = "missing",
		[STATE_FAILED] = "FAILED",
	};

	if (detail && detail[0])
		printf("  %-8s %-*s %s\n", words[state], NAME_WIDTH, name, detail);
	else
		printf("  %-8s %s\n", words[state], name);
}

static void print_advice(const char *meaning, const char *remedy)
{
	printf("  %8s   without it: %s\n", "", meaning);
	printf("  %8s   what to do: %s\n", "", remedy);
}

/* True when all that is needed is there. */
static bool print_features(struct features *features)
{
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(feature_items); i++) {
		const struct feature_item *item = &feature_items[i];

		if (features_have(features, item->feature)) {
			print_item(STATE_OK, item->name, NULL);
			continue;
		}
		print_item(item->needed ? STATE_FAILED : STATE_MISSING, item->name,
			   features_why(features, item->feature));
		print_advice(item->without, item->remedy);
		all &= !item->needed;
		if (item->feature == FEATURE_BPF) {
			/* Whatever else fails now says nothing about the kernel. */
			print_item(STATE_NOTE, "everything else",
				   "cannot be tried without BPF programs");
			return false;
		}
	}
	return all;
}

static void print_privileges(const struct machine *m)
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
	print_item(bpf && m->initial_userns ? STATE_OK : STATE_FAILED, "privileges",
		   text[0] ? text + 1 : "none");
	if (!bpf || !m->initial_userns)
		print_advice("nothing can be traced", "run as root (sudo) outside of containers, "
						      "or with CAP_BPF and CAP_PERFMON");
	else if (!ptrace && !admin)
		print_advice("only processes of your own user can be traced", "add CAP_SYS_PTRACE");
	if (!bpf && m->perf_event_paranoid != MACHINE_UNKNOWN) {
		snprintf(text, sizeof(text), "kernel.perf_event_paranoid is %d",
			 m->perf_event_paranoid);
		print_item(STATE_NOTE, "performance events", text);
	}
}

static void print_lockdown(const struct machine *m, bool verbose)
{
	switch (m->lockdown) {
	case LOCKDOWN_CONFIDENTIALITY:
		print_item(STATE_FAILED, "kernel lockdown", "confidentiality");
		print_advice("BPF programs may not read memory",
			     "boot with lockdown=integrity, or with Secure Boot off");
		break;
	case LOCKDOWN_INTEGRITY:
		print_item(STATE_OK, "kernel lockdown", "integrity: tracing is allowed");
		break;
	case LOCKDOWN_NONE:
		print_item(STATE_OK, "kernel lockdown", "none");
		break;
	case LOCKDOWN_UNKNOWN:
		if (verbose)
			print_item(STATE_OK, "kernel lockdown", "none that could be seen");
		break;
	}
}

static void print_machine(const struct machine *m, bool verbose)
{
	char text[160];

	print_lockdown(m, verbose);
	if (m->bpf_jit == 0) {
		print_item(STATE_NOTE, "BPF compiler (JIT)",
			   "off: every probe costs several times more");
		printf("  %8s   what to do: sysctl net.core.bpf_jit_enable=1\n", "");
	} else if (verbose) {
		print_item(STATE_OK, "BPF compiler (JIT)",
			   m->bpf_jit == MACHINE_UNKNOWN ? "unknown" : "on");
	}
	if (m->memlock_matters && m->memlock != UINT64_MAX &&
	    !machine_has_capability(m, CAP_SYS_RESOURCE)) {
		snprintf(text, sizeof(text), "%" PRIu64 " KiB for all maps (kernels before 5.11)",
			 m->memlock / 1024);
		print_item(STATE_NOTE, "locked memory", text);
		printf("  %8s   what to do: ulimit -l unlimited, as root\n", "");
	}
	if (m->ptrace_scope == 3) {
		print_item(STATE_NOTE, "Yama ptrace_scope",
			   "3: memory of processes cannot be read");
		printf("  %8s   names in the vdso will be missing; only a reboot can lower it\n",
		       "");
	}
	if (m->debuginfod_urls)
		print_item(STATE_OK, "debuginfod", m->debuginfod_urls);
	else if (verbose)
		print_item(STATE_NOTE, "debuginfod",
			   "DEBUGINFOD_URLS is not set: installed debug files only");
}

/* True when tracing is possible. */
static bool print_verdict(struct features *features, const struct machine *m, bool have_needed)
{
	struct attach_plan plan;

	if (!have_needed || m->lockdown == LOCKDOWN_CONFIDENTIALITY) {
		printf("Tracing is not possible: see FAILED above.\n");
		return false;
	}
	attach_plan(features, &plan);
	if (!plan.possible) {
		printf("Tracing is not possible: no kind of uprobe works.\n");
		return false;
	}
	printf("Tracing is possible: --attach %s%s.\n", attach_mode_name(plan.best),
	       plan.old ? ", with stacks by frame pointers" : "");
	return true;
}

/* The needed features that are there; what else fails without BPF programs is not tried. */
static bool have_needed(struct features *features)
{
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(feature_items) && all; i++)
		all = !feature_items[i].needed || features_have(features, feature_items[i].feature);
	return all;
}

static void put_features(struct json *to, struct features *features)
{
	json_object(to, "features");
	for (size_t i = 0; i < ARRAY_SIZE(feature_items); i++) {
		const char *name = feature_items[i].name;
		bool have = features_have(features, feature_items[i].feature);

		json_object(to, name + strspn(name, " "));
		json_bool(to, "have", have);
		if (!have)
			json_text(to, "why", features_why(features, feature_items[i].feature));
		json_end(to);
	}
	json_end(to);
}

/* True when tracing is possible. */
static bool print_json(struct features *features, const struct machine *m)
{
	bool possible = have_needed(features) && m->lockdown != LOCKDOWN_CONFIDENTIALITY;
	struct attach_plan plan;
	struct json to;

	attach_plan(features, &plan);
	possible = possible && plan.possible;
	json_begin(&to, stdout, JSON_ALONE);
	json_object(&to, NULL);
	json_number(&to, "version", 1);
	json_text(&to, "kernel", m->release);
	json_text(&to, "machine", m->architecture);
	json_bool(&to, "tracing", possible);
	if (possible)
		json_text(&to, "attach", attach_mode_name(plan.best));
	json_array(&to, "modes");
	for (unsigned mode = 0; mode < ATTACH_MODES; mode++) {
		if (plan.works[mode])
			json_text(&to, NULL, attach_mode_name(mode));
	}
	json_end(&to);
	json_text(&to, "stack", plan.old ? "fp" : "dwarf");
	put_features(&to, features);
	json_end(&to);
	putchar('\n');
	return possible;
}

/* True when tracing is possible. */
static bool print_text(struct features *features, const struct machine *m, bool verbose)
{
	bool possible;

	printf("memleakbpf %s, Linux %s %s\n", MEMLEAKBPF_VERSION, m->release, m->architecture);
	print_privileges(m);
	possible = print_features(features);
	print_machine(m, verbose);
	return print_verdict(features, m, possible);
}

int cmd_doctor(const union command_config *command)
{
	const struct doctor_config *config = &command->doctor;
	bool verbose = config->verbose, possible;
	struct features *features = features_new();
	struct machine machine;

	if (!features)
		return log_errno(ENOMEM, "doctor") ? 1 : 0;
	machine_read(&machine);
	possible = config->format->findings == EXPORT_OBJECT
			   ? print_json(features, &machine)
			   : print_text(features, &machine, verbose);
	features_free(features);
	for (size_t i = 0; i < config->pids.count; i++) {
		if (doctor_target(config->pids.pids[i], verbose))
			possible = false;
	}
	if (fflush(stdout) || ferror(stdout)) {
		log_errno(errno ? errno : EIO, "cannot write to standard output");
		return 1;
	}
	return possible ? 0 : 1;
}
