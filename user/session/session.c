// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/proc.h"
#include "user/session/looks.h"
#include "user/session/own_functions.h"
#include "user/session/source_trace.h"
#include "user/target/closure.h"
#include "user/target/scope_spec.h"

/* So many processes without an allocator are named in messages. */
#define UNTRACED_NAMED 10

/* A program has loaded its allocator by then, if it has one. */
#define UNTRACED_NS NS_PER_S

struct session {
	const struct watch_config *config;
	struct trace *trace;
	struct source_trace source;
	struct pipeline *pipeline;
	struct looks *looks; /* --inspect: by target */
	struct own_functions *own;
	struct scope_spec *scopes;
	size_t scope_count;
	pid_t command;	       /* 0: none */
	size_t untraced_count; /* processes without an allocator that have been named */
	bool untraced_command;
	bool attached; /* to some process */
	/* this kernel has frame pointers only; logged once something is traced */
	bool short_stacks;
};

/* Shows it after the snapshot of the same moment. */
static void session_show_inspection(struct session *s, uint32_t target_id, struct inspection *now)
{
	const struct show_config *show = &s->config->show;
	struct output *output = pipeline_output(s->pipeline);
	struct looks *looks = looks_get(&s->looks, target_id);
	int err = looks ? looks_relate(looks, now, show->sort) : -ENOMEM;

	if (err)
		output_fail(output, err);
	else if (s->config->viewer)
		s->config->viewer->inspected(s->config->viewer->ctx, now);
	else
		output_inspection(output, now, show->top);
	if (looks)
		looks_keep(looks, now);
	else
		inspection_free(now);
}

static void session_take(struct session *s, struct target *target,
			 const struct source_occasion *why)
{
	struct inspection *inspection;
	struct snapshot *now;

	if (pipeline_error(s->pipeline) || !target_is_traced(target))
		return;
	if (source_trace_take(&s->source, target, why, &now, &inspection))
		return;
	pipeline_take(s->pipeline, now);
	if (inspection)
		session_show_inspection(s, target_number(target), inspection);
}

static void session_on_attached(void *ctx, struct target *target)
{
	struct session *s = ctx;

	if (s->short_stacks)
		log_warn("stacks are walked by frame pointers on this kernel (5.15 and newer use "
			 "unwind tables): where the code keeps none, callers are missing");
	s->short_stacks = false;
	s->attached = true;
	if (s->config->viewer)
		s->config->viewer->attached(s->config->viewer->ctx, target);
	log_info("attached to %d (%s)%s", target_pid(target), target_comm(target),
		 target_tells(target)
			 ? ", which samples its allocations itself (otel_memory); "
			   "--attach session, multi or single, or --gate, traces functions"
			 : "");
}

/* Takes its last snapshot here, while there is memory to be judged. */
static void session_on_leaving(void *ctx, struct target *target)
{
	session_take(ctx, target, &(struct source_occasion){.leaving = true});
}

static void session_on_ended(void *ctx, struct target *target)
{
	struct session *s = ctx;
	uint32_t number = target_number(target);

	if (!pipeline_has_last(s->pipeline, number))
		session_take(s, target, &(struct source_occasion){0});
	if (s->config->viewer)
		s->config->viewer->ended(s->config->viewer->ctx, target);
	else
		pipeline_forget(s->pipeline, number);
	looks_forget(&s->looks, number);
}

static void session_on_untraced(void *ctx, struct target *target)
{
	struct session *s = ctx;
	const char *further;

	s->untraced_command |= target_pid(target) == s->command;
	if (s->config->trace.attach == ATTACH_USDT) {
		if (target_pid(target) == s->command)
			log_warn("--attach usdt: process %d (%s) mapped no object that tells its "
				 "allocations (probes otel_memory:alloc and :free): nothing of it "
				 "is traced",
				 target_pid(target), target_comm(target));
		return;
	}
	if (s->config->trace.object) {
		/* -O does not mean processes that do not map it; the command was meant. */
		if (target_pid(target) == s->command)
			log_warn("process %d (%s) mapped no object that matches -O %s and has "
				 "allocator functions: nothing of it is traced",
				 target_pid(target), target_comm(target), s->config->trace.object);
		return;
	}
	/* A script may run a thousand such processes. */
	if (++s->untraced_count > UNTRACED_NAMED)
		return;
	further = s->untraced_count == UNTRACED_NAMED ? "; further ones are not named" : "";
	if (target_is_go(target)) {
		log_warn("process %d (%s): " TRACE_GO_TEXT "%s", target_pid(target),
			 target_comm(target), target_pid(target), further);
		return;
	}
	log_warn("process %d (%s): no allocator found in it, so nothing of it is traced (a static, "
		 "stripped or 32-bit program?); name one with -O, --symbols-prefix or --alloc-fn "
		 "and --free-fn%s",
		 target_pid(target), target_comm(target), further);
}

/* A report of all targets that live. */
struct session_round {
	struct session *session;
	struct source_occasion why;
};

static void session_round_take(void *ctx, struct target *target)
{
	const struct session_round *round = ctx;

	session_take(round->session, target, &round->why);
}

static int session_round(struct session *s, struct source_occasion why)
{
	struct session_round round = {s, why};
	int err;

	if (s->attached)
		own_functions_tell(s->own, s->trace, why.final);
	trace_tell_untraced(s->trace, why.final ? 0 : UNTRACED_NS);
	source_trace_begin_round(&s->source);
	output_round(pipeline_output(s->pipeline), true);
	trace_for_each_target(s->trace, session_round_take, &round);
	err = pipeline_round(s->pipeline, why.final);
	return output_round(pipeline_output(s->pipeline), false) ?: err;
}

int session_report(struct session *session, bool final)
{
	return session_round(session, (struct source_occasion){.final = final});
}

int session_report_verdicts(struct session *session)
{
	bool merge = session->config->show.merge;

	if (merge)
		log_warn("SIGUSR2: no verdicts with --merge: each is about one process's memory");
	return session_round(session, (struct source_occasion){.verdict = !merge});
}

int session_report_inspections(struct session *session)
{
	return session_round(session, (struct source_occasion){.verdict = true, .inspect = true});
}

struct pipeline *session_pipeline(struct session *session)
{
	return session->pipeline;
}

struct trace_needs session_needs(const struct watch_config *config)
{
	struct trace_needs needs = {0};

	for (size_t i = 0; i < config->pids.count; i++) {
		pid_t pid = config->pids.pids[i];

		needs.keepers |= proc_memory_id(pid) != pid;
		needs.suspend_filters |= proc_has_filter(pid);
	}
	return needs;
}

static int session_parse_scopes(struct session *s)
{
	const struct string_list *scopes = &s->config->trace.scopes;
	int err = 0;

	s->scopes = calloc(scopes->count + 1, sizeof(*s->scopes));
	if (!s->scopes)
		return -ENOMEM;
	for (size_t i = 0; !err && i < scopes->count; i++) {
		err = scope_spec_parse(scopes->items[i], &s->scopes[i]);
		s->scope_count += !err;
	}
	return err;
}

static int session_start_trace(struct session *s, const struct closure *command)
{
	const struct watch_config *o = s->config;
	const struct trace_callbacks callbacks = {.ctx = s,
						  .attached = session_on_attached,
						  .leaving = session_on_leaving,
						  .ended = session_on_ended,
						  .untraced = session_on_untraced};
	size_t own_count;
	const struct alloc_fn *own = own_functions_items(s->own, &own_count);
	struct trace_options t = {
		.children = o->trace.children,
		.min_size = o->trace.min_size,
		.max_size = o->trace.max_size,
		.older_ns = o->trace.older_ns,
		.sample_bytes = o->sample_bytes,
		.gate = o->trace.gate || o->trace.attach == ATTACH_GATE,
		.gate_only = o->trace.attach == ATTACH_GATE,
		.gate_later = o->viewer && !o->trace.mmap && o->trace.attach != ATTACH_USDT,
		.frame_pointers = o->trace.frame_pointers,
		.native_frames = o->trace.native_frames,
		.ask_runtime = o->trace.ask_runtime,
		.max_frames = o->trace.depth,
		.max_live = o->trace.max_live,
		.max_stacks = o->trace.max_stacks,
		.hold_at_end = o->verdict.wanted,
		.wait_loaded = true,
		.starting = !o->viewer,
		.copies = o->verdict.by_copy,
		.check_frees = o->trace.check_frees,
		.guard = o->trace.guard,
		.figures = o->trace.figures,
		.group_sizes = o->trace.group_sizes,
		.ages = true,
		.ages_seldom = o->viewer != NULL,
		.providers = {.object = o->trace.object,
			      .prefixes = o->trace.symbols_prefixes.items,
			      .custom = own,
			      .custom_count = own_count,
			      .mmap = o->trace.mmap},
		.symbols = o->symbols,
		.scopes = s->scopes,
		.scope_count = s->scope_count,
		.scope_only = o->trace.scope_only,
		.files = command ? command->paths : NULL,
		.file_count = command ? command->count : 0,
	};
	int err = trace_options_choose(&t, o->trace.attach);

	if (err)
		return err;
	if (o->verdict.wanted && !t.hold_at_end)
		log_warn("this kernel cannot hold a process at its end (6.0 can): of one that ends "
			 "itself the last verdict is that of the interval before");
	if (o->verdict.by_copy && !t.copies)
		log_warn("--snapshot=fork: this kernel cannot (5.15 can); processes stand still "
			 "while they are read");
	if (o->trace.check_frees && !t.check_frees)
		log_warn("--check-frees: this kernel cannot (6.0 can); frees are not checked");
	if (figures_traced(&o->trace.figures) && !figures_any(&t.figures))
		log_warn("--lifetimes, --temporary, --peak: this kernel cannot (5.15 can)");
	s->short_stacks = t.old && !o->trace.frame_pointers;
	log_debug("attaching by %s probes", attach_mode_name(t.attach));
	return trace_new(&t, &callbacks, &s->trace);
}

int session_new(const struct watch_config *config, const struct closure *command,
		struct session **out)
{
	const struct pipeline_config reports = {
		.filter = &config->filter,
		.show = &config->show,
		.older_ns = config->trace.older_ns,
		.live = true,
		.verdict = config->verdict.wanted,
		.secret = config->verdict.contents > 0,
		.outcome = config->error_exitcode != 0,
		.viewed = config->viewer != NULL,
	};
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->config = config;
	source_trace_init(&s->source, config);
	err = own_functions_new(&config->trace, &s->own) ?: session_parse_scopes(s);
	if (!err)
		err = pipeline_new(&reports, &s->source.source, &s->pipeline);
	if (!err)
		err = session_start_trace(s, command);
	if (err) {
		session_free(s);
		return err;
	}
	s->source.trace = s->trace;
	*out = s;
	return 0;
}

int session_free(struct session *session)
{
	int err;

	if (!session)
		return 0;
	err = pipeline_free(session->pipeline);
	looks_free(&session->looks);
	source_trace_release(&session->source);
	trace_free(session->trace);
	own_functions_free(session->own);
	for (size_t i = 0; i < session->scope_count; i++)
		scope_spec_release(&session->scopes[i]);
	free(session->scopes);
	free(session);
	return err;
}

struct trace *session_trace(struct session *session)
{
	return session->trace;
}

int session_output_error(const struct session *session)
{
	return pipeline_error(session->pipeline);
}

void session_set_command(struct session *session, pid_t pid)
{
	session->command = pid;
}

/* With a lesser choice a child may end before it is seen: the user did not ask for all children. */
static bool session_wants_children(const struct session *session)
{
	return session->config->trace.children >= CHILDREN_EXACT;
}

int session_status(const struct session *session, int own)
{
	const struct outcome *outcome = pipeline_outcome(session->pipeline);
	int wanted = session->config->error_exitcode;

	if (!wanted)
		return own;
	if (outcome->found_leaks)
		return wanted;
	if (session->untraced_command) {
		log_error("--error-exitcode: nothing of the command was traced");
		return own ? own : 1;
	}
	/* Runtimes with allocators of their own grow like that when all is well. */
	if (outcome->left_unseen)
		log_warn("--error-exitcode: no leak was found in what is traced, but more memory "
			 "than that has come and stayed (\"grew\" in the report)");
	if (outcome->left_heaps)
		log_warn("--error-exitcode: no leak was found in what is traced; a runtime's own "
			 "heap is not (\"heap\" in the report)");
	if (outcome->left_unjudged)
		log_error("--error-exitcode: no leak was found, but not every process has a "
			  "verdict (its "
			  "report says why)");
	if (outcome->left_children && session_wants_children(session))
		log_error("--error-exitcode: no leak was found, but child processes are missing "
			  "(\"lost\" in the report says how many, and why; --children late does "
			  "without them)");
	else if (outcome->left_children)
		log_warn("--error-exitcode: no leak was found, but child processes are missing "
			 "(\"lost\" in the report says how many, and why)");
	if (!outcome->left_unjudged && !(outcome->left_children && session_wants_children(session)))
		return own;
	return own ? own : 1;
}
