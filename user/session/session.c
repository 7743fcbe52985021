// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/session.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "user/analysis/leaks.h"
#include "user/analysis/rank.h"
#include "user/analysis/stack_trends.h"
#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/session/merged.h"
#include "user/session/output.h"
#include "user/session/suppressions.h"
#include "user/session/judge.h"
#include "user/process/memory.h"

/* So many processes without an allocator are named. */
#define UNTRACED_NAMED 10

/* A program has loaded its allocator by then, if it has one. */
#define UNTRACED_NS NS_PER_S

struct session {
	const struct watch_config *config;
	struct trace *trace;
	struct output *output;
	struct suppressions *suppressions; /* NULL: none */
	struct merged *merged;		   /* NULL: each process has its own reports */
	struct alloc_fn *custom;
	size_t custom_count;
	pid_t command;	       /* 0: none */
	size_t untraced_count; /* processes without an allocator that have been named */
	bool untraced_command;
	bool found_leaks, unjudged;
	bool short_stacks; /* this kernel has frame pointers only; said once something is traced */
	bool verdict_now;  /* while a report with verdicts is made that was asked for */
	bool leaving;	   /* while a target is held at its end */
	bool final;	   /* while the last snapshots of living targets are printed */
};

/* What is there under the pid now is the target only while it lives. */
static void read_memory(const struct session *s, struct snapshot *now)
{
	if (now->exited || now->execed)
		return;
	proc_memory(now->pid, &now->memory.rss, &now->memory.anon);
	if (s->config->show.format->wants_pss)
		proc_pss(now->pid, &now->memory.pss);
}

/*
 * A snapshot's process; with target NULL the snapshot is a program's sum, whose stacks are of
 * several.
 */
static int symbolize(struct session *s, struct target *target, struct stack *stack)
{
	if (!target)
		target = merged_target(s->merged, stack);
	/* Those that have ended have left the frames of theirs. */
	return target ? trace_symbolize(s->trace, target, stack) : 0;
}

static int symbolize_all(struct session *s, struct target *target, struct snapshot *now)
{
	int err = 0;

	for (size_t i = 0; !err && i < now->stack_count; i++)
		err = symbolize(s, target, &now->stacks[i]);
	return err;
}

static void print_snapshot(struct session *s, struct target *target, struct snapshot *now,
			   struct stack_trends *trends)
{
	size_t room =
		s->config->show.top < now->stack_count ? s->config->show.top : now->stack_count;
	_cleanup_free_ struct stack **top = calloc(room ? room : 1, sizeof(*top));
	size_t n = 0;
	int err = top ? 0 : -ENOMEM;

	if (!err && s->config->show.format->wants_all)
		err = symbolize_all(s, target, now);
	if (!err) {
		if (s->config->show.sort == RANK_GROWTH)
			stack_trends_judge_all(trends, now);
		n = rank_top(now, s->config->show.sort, top, room);
	}
	for (size_t i = 0; !err && i < n; i++) {
		stack_trends_judge(trends, top[i]);
		err = symbolize(s, target, top[i]);
	}
	if (err)
		output_fail(s->output, err);
	else
		output_snapshot(s->output, now, (const struct stack *const *)top, n);
}

/* Patterns are about names: what is live must have its own. Without them nothing is suppressed. */
static void suppress(struct session *s, struct target *target, struct snapshot *now)
{
	bool wanted = suppress_wanted(&s->config->filter, s->config->error_exitcode != 0,
				      s->suppressions, now);
	int err = 0;

	for (size_t i = 0; wanted && !err && i < now->stack_count; i++) {
		if (now->stacks[i].live.count)
			err = symbolize(s, target, &now->stacks[i]);
	}
	for (size_t i = 0; !err && i < now->bad_free_count; i++)
		err = trace_symbolize_bad_free(s->trace, target, &now->bad_frees[i]);
	err = err
		      ?: suppress_snapshot(&s->config->filter, s->config->error_exitcode != 0,
					   s->suppressions, now);
	if (err)
		log_errno(err, "suppressions are not applied");
}

/* What is kept of a target from one snapshot to the next. */
struct history {
	struct snapshot *last; /* NULL: none yet */
	struct stack_trends *trends;
	bool reported; /* for the last time, while it was held at its end */
};

/* NULL when out of memory. */
static struct history *history_of(struct target *target)
{
	void **data = target_user_data(target);
	struct history *history = *data;

	if (history)
		return history;
	history = calloc(1, sizeof(*history));
	if (!history)
		return NULL;
	history->trends = stack_trends_new();
	if (!history->trends) {
		free(history);
		return NULL;
	}
	*data = history;
	return history;
}

static void forget_history(void *ctx, struct target *target)
{
	struct history *history = *target_user_data(target);

	(void)ctx;
	if (!history)
		return;
	snapshot_free(history->last);
	stack_trends_free(history->trends);
	free(history);
	*target_user_data(target) = NULL;
}

/*
 * Of a last snapshot: is what is left a leak? Without the verdict that was asked for nobody knows.
 */
static void judge(struct session *s, const struct snapshot *now)
{
	for (size_t i = 0; i < now->bad_free_count; i++)
		s->found_leaks |= !now->bad_frees[i].suppressed;
	if (!s->config->verdict.wanted || now->verdict.state == VERDICT_TAKEN)
		s->found_leaks |= leaks_of(now).count != 0;
	else
		s->unjudged |= now->live.count && !now->execed;
}

/* Now, or as a part of its program's sum. */
static void show(struct session *s, struct target *target, struct snapshot *now,
		 struct stack_trends *trends)
{
	int err;

	if (!s->merged) {
		print_snapshot(s, target, now, trends);
		return;
	}
	if (now->exited || now->execed) {
		err = symbolize_all(s, target, now);
		err = err ?: merged_add_ended(s->merged, now);
	} else {
		err = merged_add(s->merged, target, now);
	}
	if (err)
		output_fail(s->output, err);
}

static int show_sum(void *ctx, struct snapshot *sum, struct stack_trends *trends)
{
	struct session *s = ctx;

	suppress(s, NULL, sum);
	print_snapshot(s, NULL, sum, trends);
	snapshot_free(sum);
	return 0;
}

static void report_target(void *ctx, struct target *target)
{
	struct session *s = ctx;
	struct history *history = history_of(target);
	struct snapshot **last = history ? &history->last : NULL;
	struct snapshot *now;
	int err;

	if (!history) {
		log_error("no memory for a snapshot");
		return;
	}
	if (output_error(s->output) || !target_is_traced(target))
		return;
	if (s->config->verdict.wanted || s->verdict_now)
		err = verdict_snapshot(s->trace, target, s->config, &now);
	else
		err = trace_snapshot(s->trace, target, &now);
	if (err)
		return;
	now->final |= s->final || s->leaving;
	now->exited |= s->leaving;
	read_memory(s, now);
	rank_delta(now, *last);
	rank_total(now);
	if (stack_trends_update(history->trends, now))
		log_debug("no memory for the trends of all stacks");
	suppress(s, target, now);
	show(s, target, now, history->trends);
	if (now->final)
		judge(s, now);
	snapshot_free(*last);
	*last = now;
}

static void on_attached(void *ctx, struct target *target)
{
	struct session *s = ctx;

	if (s->short_stacks)
		log_warn("stacks are walked by frame pointers on this kernel (5.15 and newer use "
			 "unwind tables): where the code keeps none, callers are missing");
	s->short_stacks = false;
	log_info("attached to %d (%s)", target_pid(target), target_comm(target));
}

/* Its last snapshot is taken here, while there is memory to be judged. */
static void on_leaving(void *ctx, struct target *target)
{
	struct history *history = history_of(target);
	struct session *s = ctx;

	if (!history)
		return;
	s->leaving = true;
	report_target(ctx, target);
	s->leaving = false;
	history->reported = true;
}

static void on_ended(void *ctx, struct target *target)
{
	const struct history *history = *target_user_data(target);

	if (!history || !history->reported)
		report_target(ctx, target);
	forget_history(ctx, target);
}

static void on_untraced(void *ctx, struct target *target)
{
	struct session *s = ctx;

	s->untraced_command |= target_pid(target) == s->command;
	if (s->config->trace.object) {
		/* What does not map it is not meant, but the command is. */
		if (target_pid(target) == s->command)
			log_warn("process %d (%s) mapped no object that matches -O %s and has "
				 "allocator functions: nothing of it is traced",
				 target_pid(target), target_comm(target), s->config->trace.object);
		return;
	}
	/* A script may run a thousand such. */
	if (++s->untraced_count > UNTRACED_NAMED)
		return;
	log_warn("process %d (%s): no allocator found in it, so nothing of it is traced (a static, "
		 "stripped or 32-bit program?); name one with -O, --symbols-prefix or --alloc-fn "
		 "and --free-fn%s",
		 target_pid(target), target_comm(target),
		 s->untraced_count == UNTRACED_NAMED ? "; further ones are not named" : "");
}

int session_report(struct session *session, bool final)
{
	trace_tell_untraced(session->trace, final ? 0 : UNTRACED_NS);
	session->final = final;
	trace_for_each_target(session->trace, report_target, session);
	if (session->merged && !output_error(session->output)) {
		int err = merged_report(session->merged, final, show_sum, session);

		if (err)
			output_fail(session->output, err);
	}
	return output_error(session->output);
}

int session_report_verdicts(struct session *session)
{
	int err;

	if (session->merged)
		log_warn("SIGUSR2: no verdicts with --merge: each is about one process's memory");
	session->verdict_now = !session->merged;
	err = session_report(session, false);
	session->verdict_now = false;
	return err;
}

static int parse_custom(struct session *s)
{
	const struct watch_config *o = s->config;
	int err = 0;

	s->custom =
		calloc(o->trace.alloc_fns.count + o->trace.free_fns.count + 1, sizeof(*s->custom));
	if (!s->custom)
		return -ENOMEM;
	for (size_t i = 0; !err && i < o->trace.alloc_fns.count; i++) {
		err = alloc_fn_parse_alloc(o->trace.alloc_fns.items[i],
					   &s->custom[s->custom_count]);
		s->custom_count += !err;
	}
	for (size_t i = 0; !err && i < o->trace.free_fns.count; i++) {
		err = alloc_fn_parse_free(o->trace.free_fns.items[i], &s->custom[s->custom_count]);
		s->custom_count += !err;
	}
	return err;
}

static int start_trace(struct session *s)
{
	const struct watch_config *o = s->config;
	const struct trace_callbacks callbacks = {.ctx = s,
						  .attached = on_attached,
						  .leaving = on_leaving,
						  .ended = on_ended,
						  .untraced = on_untraced};
	struct trace_options t = {
		.children = o->trace.children,
		.min_size = o->trace.min_size,
		.max_size = o->trace.max_size,
		.older_ns = o->trace.older_ns,
		.sample_bytes = o->sample_bytes,
		.frame_pointers = o->trace.frame_pointers,
		.max_frames = o->trace.depth,
		.max_live = o->trace.max_live,
		.max_stacks = o->trace.max_stacks,
		.hold_at_end = o->verdict.wanted,
		.wait_loaded = true,
		.copies = o->verdict.by_copy,
		.check_frees = o->trace.check_frees,
		.ages = true,
		.providers = {.object = o->trace.object,
			      .prefixes = o->trace.symbols_prefixes.items,
			      .custom = s->custom,
			      .custom_count = s->custom_count,
			      .mmap = o->trace.mmap},
		.symbols = o->symbols,
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
	s->short_stacks = t.old && !o->trace.frame_pointers;
	log_debug("attaching by %s probes", attach_mode_name(t.attach));
	return trace_new(&t, &callbacks, &s->trace);
}

int session_new(const struct watch_config *config, struct session **out)
{
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->config = config;
	err = parse_custom(s);
	if (!err && config->show.merge) {
		s->merged = merged_new();
		err = s->merged ? 0 : -ENOMEM;
	}
	if (!err)
		err = suppress_open(&config->filter, &s->suppressions);
	if (!err)
		err = output_open(&config->show, config->filter.leak_only, config->trace.older_ns,
				  true, &s->output);
	if (!err)
		err = start_trace(s);
	if (err) {
		session_free(s);
		return err;
	}
	*out = s;
	return 0;
}

int session_free(struct session *session)
{
	int err;

	if (!session)
		return 0;
	err = output_close(session->output);
	if (session->trace)
		trace_for_each_target(session->trace, forget_history, session);
	trace_free(session->trace);
	merged_free(session->merged);
	suppress_close(session->suppressions);
	for (size_t i = 0; i < session->custom_count; i++)
		alloc_fn_release(&session->custom[i]);
	free(session->custom);
	free(session);
	return err;
}

struct trace *session_trace(struct session *session)
{
	return session->trace;
}

int session_output_error(const struct session *session)
{
	return output_error(session->output);
}

bool session_found_leaks(const struct session *session)
{
	return session->found_leaks;
}

bool session_left_unjudged(const struct session *session)
{
	return session->unjudged;
}

void session_set_command(struct session *session, pid_t pid)
{
	session->command = pid;
}

bool session_left_command(const struct session *session)
{
	return session->untraced_command;
}
