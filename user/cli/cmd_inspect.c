// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf inspect`: the present heap of a process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/inspect/inspect.h"
#include "user/kernel/confine.h"
#include "user/kernel/privilege.h"
#include "user/kernel/traceable.h"
#include "user/process/proc.h"
#include "user/kernel/caller_file.h"
#include "user/session/inspected_frames.h"
#include "user/session/looks.h"
#include "user/session/loop_events.h"
#include "user/session/output.h"

/* A process to look at, once or again and again. */
struct inspect_target {
	pid_t pid;
	uint64_t start_ticks; /* with the pid it names the process */
	uint64_t program;     /* proc_program() of the last look */
	struct freeze_forks forks;
	struct looks looks;
	bool gone;
};

struct inspect_command {
	const struct inspect_config *config;
	struct output *output;
	/* For looks at living processes, kept from one to the next. */
	struct object_cache *objects;
	struct kept_types *types;
	struct inspect_target *targets;
	size_t target_count;
	bool confined, found_leaks, failed, stop;
	uint64_t looks;
};

/* Gives up what is not needed any more, before we work on the target's memory. */
static void inspect_confine(struct inspect_command *c)
{
	const struct confine_needs needs = {
		.ptrace = true,
		.network = c->config->symbols.debuginfod,
	};

	/*
	 * Not before the first copy: only a process without a filter of system calls can make one
	 * with a filter fork (user/freeze/remote.h).
	 */
	if (c->confined)
		return;
	c->confined = true;
	if (privilege_drop_tracing())
		log_debug("cannot drop privileges");
	if (confine_tool(&needs))
		log_debug("cannot give up system calls");
}

/* ---- one look ----------------------------------------------------------------------------- */

static int inspect_find_target(struct inspect_target *target, char reason[static REASON_MAX])
{
	struct proc_stat stat;
	int err = proc_stat(target->pid, &stat);

	if (!err && target->start_ticks && stat.start_ticks != target->start_ticks)
		err = -ESRCH;
	if (err)
		return refuse(reason, err, "it has ended");
	target->start_ticks = stat.start_ticks;
	return 0;
}

static int inspect_copy_target(struct inspect_command *c, struct inspect_target *target,
			       struct inspect_source *source, char reason[static REASON_MAX])
{
	const struct inspect_copying how = {
		.by_fork = c->config->verdict.by_copy,
		.max_pause_ns = c->config->verdict.max_pause_ns,
		.objects = c->objects,
	};
	int err = inspect_find_target(target, reason);

	log_progress("copying the memory of process %d …", (int)target->pid);
	err = err ?: inspect_copy_process(target->pid, &how, &target->forks, source, reason);
	log_progress_end();
	inspect_confine(c);
	return err;
}

/*
 * 0, also when out of memory: that is logged, and others may go on. -errno: nothing more can be
 * written.
 */
static int inspect_show(struct inspect_command *c, struct inspect_source *source,
			struct inspect_target *target)
{
	struct inspected_frames *frames = inspected_frames_new();
	const struct inspect_options options = {
		.heuristics = c->config->verdict.heuristics,
		.tagged = c->config->verdict.tagged,
		.contents = c->config->verdict.contents,
		.debuginfod = c->config->symbols.debuginfod,
		.frame = frames ? inspected_frames_find : NULL,
		.frame_ctx = frames,
		.types = c->types,
	};
	struct inspection *now = NULL;
	char comm[16];
	pid_t pid = source->pid;
	int err;

	memcpy(comm, source->comm, sizeof(comm));
	log_progress("going through the heap of process %d …", (int)pid);
	err = inspect(source, &options, &now);
	inspected_frames_free(frames);
	log_progress_end();
	err = err ?: looks_relate(&target->looks, now, c->config->show.sort);
	if (err) {
		inspection_free(now);
		c->failed = true;
		log_error("process %d (%.16s): not inspected: there is not enough memory to go "
			  "through "
			  "its blocks (ulimit -v, or the limit of the cgroup)",
			  (int)pid, *comm ? comm : "?");
		return 0;
	}
	now->final = c->stop;
	c->found_leaks |= inspection_leaks(now).count != 0;
	err = output_inspection(c->output, now, c->config->show.top);
	looks_keep(&target->looks, now);
	return err;
}

/* The difference between one program and its successor is no growth. */
static void inspect_note_program(struct inspect_target *target, const struct inspect_source *source)
{
	if (target->program && source->program && target->program != source->program) {
		log_info("process %d has become another program (%.16s): nothing is compared with "
			 "the looks before",
			 (int)target->pid, source->comm);
		looks_keep(&target->looks, NULL);
		target->looks.first_ns = 0;
	}
	target->program = source->program;
}

/*
 * 0, also if the process refuses: that is logged, and others may go on. -errno: nothing more can be
 * written.
 */
static int inspect_look_at(struct inspect_command *c, struct inspect_target *target)
{
	struct inspect_source source;
	char reason[REASON_MAX] = "", comm[16] = "?";
	int err = inspect_copy_target(c, target, &source, reason);

	if (!err) {
		inspect_note_program(target, &source);
		return inspect_show(c, &source, target);
	}
	if (target->looks.before)
		memcpy(comm, target->looks.before->comm, sizeof(comm));
	else
		proc_comm(target->pid, comm);
	target->gone = err == -ESRCH;
	if (target->gone && target->looks.before) {
		log_info("process %d (%.16s) has ended", (int)target->pid, comm);
		return 0;
	}
	c->failed = true;
	log_error("process %d (%.16s): not inspected: %s", (int)target->pid, comm, reason);
	return 0;
}

/* ---- looks -------------------------------------------------------------------------------- */

static int inspect_look(struct inspect_command *c)
{
	bool any = false;
	int err = 0;

	c->looks++;
	c->stop |= c->config->pace.count && c->looks >= c->config->pace.count;
	c->found_leaks = false;
	kept_types_begin_look(c->types);
	for (size_t i = 0; !err && i < c->target_count; i++) {
		if (!c->targets[i].gone)
			err = inspect_look_at(c, &c->targets[i]);
		any |= !c->targets[i].gone;
	}
	c->stop |= !any;
	return err;
}

/* The look at the end would show the same as this one. */
static bool inspect_ends_soon(const struct inspect_command *c, uint64_t end_ns)
{
	return monotonic_ns() + c->config->pace.interval_ns / 2 > end_ns;
}

static int inspect_turn(struct inspect_command *c, const struct loop_events *events,
			uint64_t end_ns)
{
	struct signalfd_siginfo info;
	struct pollfd fds[] = {
		{.fd = events->signals, .events = POLLIN},
		{.fd = events->timer, .events = POLLIN},
	};

	int wait_ms = clock_wait_ms(end_ns);

	if (!wait_ms) {
		c->stop = true;
		return inspect_look(c);
	}
	if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0)
		return errno == EINTR ? 0 : log_errno(errno, "poll");
	while (loop_events_signal(events, &info)) {
		if (info.ssi_signo == SIGUSR1)
			return inspect_look(c);
		if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR2)
			c->stop = true;
	}
	if (c->stop || !loop_events_interval(events) || inspect_ends_soon(c, end_ns))
		return 0;
	return inspect_look(c);
}

static int inspect_go_on(struct inspect_command *c)
{
	const uint64_t end_ns = clock_end_ns(c->config->pace.duration_ns);
	struct loop_events events;
	sigset_t old;
	int err;

	/* A signal may end one look at any time: whoever holds the process lets it go. */
	if (!c->config->pace.interval_ns) {
		signal(SIGPIPE, SIG_IGN);
		return inspect_look(c);
	}
	err = loop_block_signals(&old);
	if (err)
		return log_errno(err, "signals");
	err = loop_events_open(c->config->pace.interval_ns, &events);
	err = err ?: inspect_look(c);
	while (!err && !c->stop)
		err = inspect_turn(c, &events, end_ns);
	loop_events_close(&events);
	return err;
}

static int inspect_add_targets(struct inspect_command *c)
{
	const struct pid_list *pids = &c->config->pids;
	int first = 0;

	c->targets = calloc(pids->count + 1, sizeof(*c->targets));
	if (!c->targets)
		return log_errno(ENOMEM, "inspect");
	for (size_t i = 0; i < pids->count; i++) {
		int err = traceable_check_ptrace(pids->pids[i]);

		first = first ?: err;
		if (!err)
			c->targets[c->target_count++].pid = pids->pids[i];
	}
	c->failed = first != 0;
	return c->target_count ? 0 : first;
}

/* Without these every look is like the first. */
static void inspect_keep(struct inspect_command *c)
{
	if (c->target_count < 2 && !c->config->pace.interval_ns)
		return;
	c->objects = object_cache_new();
	c->types = c->objects ? kept_types_new(KEPT_TYPES_MAX) : NULL;
}

/* ---- core files --------------------------------------------------------------------------- */

static int inspect_core(struct inspect_command *c, FILE *file, const char *path, int root)
{
	const struct inspect_core how = {
		.root_fd = root,
		.debuginfod = c->config->symbols.debuginfod,
	};
	struct inspect_target target = {0};
	struct inspect_source source;
	char reason[REASON_MAX] = "";
	int err = inspect_open_core(fileno(file), path, &how, &source, reason);

	if (err) {
		c->failed = true;
		log_error("%s: not inspected: %s", path, reason);
		return 0;
	}
	err = inspect_show(c, &source, &target);
	looks_keep(&target.looks, NULL);
	return err;
}

/* *fd is an O_PATH descriptor, or stays -1 if none was given. 0 or -errno, logged. */
static int inspect_open_sysroot(const struct inspect_config *config, int *fd)
{
	uint64_t lent = privilege_as_caller();
	int err = 0;

	if (config->sysroot) {
		*fd = open(config->sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = *fd < 0 ? errno : 0;
	}
	privilege_back(lent);
	return err ? log_errno(err, "--sysroot %s", config->sysroot) : 0;
}

/* A core may be anybody's: gives up all that is not needed before the first one is read. */
static void inspect_confine_for_cores(const struct inspect_config *config)
{
	const struct confine_needs needs = {.network = config->symbols.debuginfod};

	if (privilege_drop_thread())
		log_debug("cannot drop privileges");
	if (confine_tool(&needs))
		log_debug("cannot give up system calls");
}

static int inspect_cores(struct inspect_command *c)
{
	const struct inspect_config *config = c->config;
	FILE **files = calloc(config->file_count, sizeof(*files));
	_cleanup_close_ int root = -1;
	int err = files ? inspect_open_sysroot(config, &root) : log_errno(ENOMEM, "inspect");

	for (size_t i = 0; !err && i < config->file_count; i++) {
		files[i] = caller_file_open(config->files[i], "re");
		if (!files[i])
			err = log_errno(errno, "cannot open %s", config->files[i]);
	}
	inspect_confine_for_cores(config);
	c->stop = true;
	for (size_t i = 0; !err && i < config->file_count; i++)
		err = inspect_core(c, files[i], config->files[i], root);
	for (size_t i = 0; files && i < config->file_count; i++) {
		if (files[i])
			fclose(files[i]);
	}
	free(files);
	return err;
}

int cmd_inspect(const union command_config *command)
{
	const struct inspect_config *config = &command->inspect;
	struct inspect_command c = {.config = config};
	int close_err, err = config->file_count ? 0 : inspect_add_targets(&c);

	err = err
		      ?: output_open(&config->show, false, 0, true, config->verdict.contents > 0,
				     &c.output);
	if (!err)
		inspect_keep(&c);
	if (!err)
		err = config->file_count ? inspect_cores(&c) : inspect_go_on(&c);
	for (size_t i = 0; i < c.target_count; i++)
		looks_keep(&c.targets[i].looks, NULL);
	free(c.targets);
	kept_types_free(c.types);
	object_cache_free(c.objects);
	close_err = output_close(c.output);
	if ((err && err != -EPIPE) || (close_err && close_err != -EPIPE) || c.failed)
		return 1;
	return c.found_leaks ? config->error_exitcode : 0;
}
