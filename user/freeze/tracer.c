// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A tracee that does not stop cannot be detached from. But when its tracer ends, the kernel lets go
 * of it whatever its state (kernel/ptrace.c, exit_ptrace()). So the child's end releases everything
 * for certain, and a tracer that stands still itself need only be killed. Nothing of ours has to
 * run for that: a timer of the kernel's sends SIGKILL (timer_create(2)), which also ends stopped or
 * frozen processes.
 */
#include "user/freeze/tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/forkcopy.h"
#include "user/freeze/tracing_child.h"
#include "user/freeze/run_first.h"
#include "user/freeze/stop_refused.h"
#include "user/freeze/text_write.h"
#include "user/freeze/thread_filters.h"
#include "user/freeze/tracees.h"
#include "user/process/proc.h"

/*
 * For a process that is held for as long as the tool runs. We look so often whether the tool runs;
 * so long after the last look the child is killed.
 */
#define BEAT_NS	     (50 * NS_PER_MS)
#define LAST_BEAT_NS NS_PER_S

struct tracer {
	const struct tracer_job *job;
	struct tracees tracees;
	uint64_t start_ns, begun_ns; /* begun: with the present step */
	timer_t killer;
	bool has_killer;
	uint64_t end_ns; /* when it let go; 0: it has not */
	bool by_itself;
	pid_t copy; /* 0: none */
};

/* ---- that it ends, whatever happens ------------------------------------------------------- */

/* 0: never. */
static void tracer_set_killer(struct tracer *tracer, uint64_t at_ns)
{
	if (tracer->has_killer)
		tracing_child_set_killer(tracer->killer, at_ns);
}

static uint64_t tracer_deadline(const struct tracer *tracer)
{
	return tracer->start_ns + tracer->job->hold_ns;
}

/* We run, and may go on holding a process that is ending. */
static void tracer_beat(struct tracer *tracer)
{
	if (!tracer->job->hold_ns)
		tracer_set_killer(tracer, monotonic_ns() + LAST_BEAT_NS);
}

static void tracer_make_copy(struct tracer *tracer, const struct tracer_order *order,
			     struct tracer_answer *answer)
{
	_cleanup_free_ struct call_thread *threads =
		calloc(tracer->tracees.count, sizeof(*threads));
	size_t n = 0;

	for (size_t i = 0; threads && i < tracer->tracees.count; i++) {
		const struct tracee *t = &tracer->tracees.items[i];

		if (!t->asked || t->gone)
			continue;
		threads[n].tid = t->thread.tid;
		threads[n].tls = t->thread.tls;
		memcpy(&threads[n].registers, t->thread.words, sizeof(threads[n].registers));
		n++;
	}
	answer->err = forkcopy_make(tracer->job->pid, &order->code, threads, n, order->deadline_ns,
				    &tracer->copy, answer->reason);
	/*
	 * After a copy that failed, a thread may stand in another stop now: its signal is passed
	 * on.
	 */
	for (size_t i = 0; answer->err && i < tracer->tracees.count; i++) {
		if (tracer->tracees.items[i].asked && !tracer->tracees.items[i].gone)
			tracees_look_at(&tracer->tracees.items[i]);
	}
}

/*
 * A write that has begun must not end halfway: neither with the tool, nor when the process's time
 * is over. A tool that was killed before has begun nothing.
 */
static void tracer_write(struct tracer *tracer, const struct tracer_order *order,
			 struct tracer_answer *answer)
{
	const struct tracer_job *job = tracer->job;

	/* The look at all stacks may take as long as stopping all threads. */
	tracer->begun_ns = monotonic_ns();
	tracer_set_killer(tracer, tracer->begun_ns + NS_PER_S);
	if (!tracing_child_end_with(job->tool, false))
		_exit(1);
	answer->err =
		text_write(&tracer->tracees, order->pieces, order->piece_count, answer->reason);
	if (!tracing_child_end_with(job->tool, true))
		_exit(1);
	/* The grace begins now, if the time is over: otherwise the answer would be lost. */
	if (job->hold_ns && tracer->has_killer)
		tracing_child_set_deadline(tracer->killer, tracer_deadline(tracer));
	tracer_beat(tracer);
}

/* Asks for all threads that stand still, also those of processes that share the memory. */
static void tracer_ask_filters(const struct tracer *tracer, const struct filter_call *call,
			       struct tracer_answer *answer)
{
	bool first = true;

	for (size_t i = 0; !answer->err && i < tracer->tracees.count; i++) {
		const struct tracee *t = &tracer->tracees.items[i];
		unsigned count;

		/* A first thread that has ended before others is neither gone nor stopped. */
		if (t->gone || !t->stopped)
			continue;
		/* Otherwise the answer would be lost: the timer kills us soon after. */
		if (tracer->job->hold_ns && monotonic_ns() > tracer_deadline(tracer)) {
			answer->err = refuse(answer->reason, -ETIMEDOUT,
					     "looking at its threads' seccomp filters takes too "
					     "long");
			break;
		}
		answer->err = thread_filters_allow(t->thread.tid, call, &count, answer->reason);
		if (!answer->err && !first && count != answer->filters)
			answer->err = refuse(answer->reason, -EPERM,
					     "its threads have different seccomp filters");
		answer->filters = count;
		first = false;
	}
}

/* ---- orders and answers ------------------------------------------------------------------- */

/* Have the threads had their time to stop? */
static bool tracer_is_late(void *ctx)
{
	struct tracer *tracer = ctx;
	uint64_t now = monotonic_ns();

	tracer_beat(tracer);
	return now - tracer->begun_ns > tracer->job->max_ns ||
	       (tracer->job->hold_ns && now > tracer_deadline(tracer));
}

/*
 * Must the process be let go now? An ending process must, when the tool does not run: nobody is
 * going to look at it.
 */
static bool tracer_is_time(struct tracer *tracer)
{
	const struct tracer_job *job = tracer->job;
	char state;

	if (job->hold_ns)
		return monotonic_ns() >= tracer_deadline(tracer);
	tracer_beat(tracer);
	state = stop_thread_state(job->tool, job->tool);
	return state == 'T' || state == 't';
}

static void tracer_let_go(struct tracer *tracer, bool by_itself)
{
	if (tracer->end_ns)
		return;
	tracees_release(&tracer->tracees);
	tracer->end_ns = monotonic_ns();
	tracer->by_itself = by_itself;
}

/* How long to wait for an order until the next look. */
static struct timespec tracer_patience(const struct tracer *tracer)
{
	uint64_t now = monotonic_ns(), until = tracer_deadline(tracer);

	if (!tracer->job->hold_ns)
		return ns_timespec(BEAT_NS);
	return ns_timespec(until > now ? until - now : 0);
}

/* False: nobody gives orders any more, or the process has been let go without one. */
static bool tracer_next_order(struct tracer *tracer, struct tracer_order *order)
{
	struct pollfd poll = {.fd = tracer->job->channel, .events = POLLIN};

	while (!tracer->end_ns) {
		struct timespec patience = tracer_patience(tracer);

		if (ppoll(&poll, 1, &patience, NULL) > 0)
			break;
		if (!tracer_is_time(tracer))
			continue;
		tracer_let_go(tracer, true);
		return false;
	}
	return recv(tracer->job->channel, order, sizeof(*order), 0) == sizeof(*order);
}

/* 0 or -ENOMEM. */
static int tracer_write_threads(struct tracer *tracer)
{
	size_t at = tracer->tracees.count * sizeof(struct tracer_thread), size = at;
	_cleanup_free_ char *bytes = NULL;
	struct tracer_thread *to;

	for (size_t i = 0; i < tracer->tracees.count; i++)
		size += tracer->tracees.items[i].thread.word_count * sizeof(uint64_t);
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	to = (struct tracer_thread *)bytes;
	for (size_t i = 0; i < tracer->tracees.count; i++) {
		const struct tracee *t = &tracer->tracees.items[i];
		size_t words = t->thread.words ? t->thread.word_count : 0;

		to[i] = (struct tracer_thread){
			.tid = t->thread.tid,
			.asleep = t->asleep,
			.sp = t->thread.sp,
			.tls = t->thread.tls,
			.switches = t->switches,
			.words_at = at,
			.word_count = words,
		};
		if (words)
			memcpy(bytes + at, t->thread.words, words * sizeof(uint64_t));
		at += words * sizeof(uint64_t);
	}
	return pwrite(tracer->job->threads, bytes, at, 0) == (ssize_t)at ? 0 : -ENOMEM;
}

static int tracer_stop(struct tracer *tracer)
{
	int err;

	tracer->begun_ns = monotonic_ns();
	err = tracees_stop(&tracer->tracees);
	err = err ?: tracees_read_registers(&tracer->tracees);
	if (!err && tracer_write_threads(tracer))
		err = refuse(tracer->tracees.reason, -ENOMEM, "no memory for its registers");
	return err;
}

static void tracer_answer(const struct tracer *tracer, struct tracer_answer *answer)
{
	answer->copy = tracer->copy;
	answer->start_ns = tracer->start_ns;
	answer->end_ns = tracer->end_ns;
	answer->by_itself = tracer->by_itself;
	answer->thread_count = tracer->tracees.count;
	if (send(tracer->job->channel, answer, sizeof(*answer), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void tracer_obey(struct tracer *tracer, const struct tracer_order *order,
			struct tracer_answer *answer)
{
	switch (order->kind) {
	case TRACER_STOP_SLEEPERS:
		tracer->tracees.sleepers = NULL;
		answer->err = tracer_stop(tracer);
		memcpy(answer->reason, tracer->tracees.reason, REASON_MAX);
		break;
	case TRACER_COPY:
		tracer_make_copy(tracer, order, answer);
		break;
	case TRACER_WRITE:
		tracer_write(tracer, order, answer);
		break;
	case TRACER_FILTERS:
		tracer_ask_filters(tracer, &order->call, answer);
		break;
	case TRACER_RELEASE:
		tracer_let_go(tracer, false);
		break;
	}
}

/* ---- the child ---------------------------------------------------------------------------- */

_Noreturn void tracer_run(const struct tracer_job *job)
{
	struct tracer tracer = {.job = job,
				.tracees = {.pid = job->pid,
					    .but = job->but,
					    .ending = !job->hold_ns,
					    .max_ns = job->max_ns,
					    .is_late = tracer_is_late,
					    .ctx = &tracer,
					    .sleepers = job->sleepers}};
	struct tracer_answer answer = {0};
	struct tracer_order order;
	const int kept[] = {
		job->channel,
		job->threads,
		job->sleepers ? job->sleepers->fds[0] : -1,
		job->sleepers ? job->sleepers->fds[1] : -1,
	};

	tracing_child_be_alone(job->tool, kept, ARRAY_SIZE(kept));
	if (job->sleepers)
		registers_layout(&tracer.tracees.layout);
	/* If that fails there are none, as nearly always. */
	proc_sharers(job->pid, &tracer.tracees.sharers, &tracer.tracees.sharer_count);
	/*
	 * Released threads must not keep us from releasing the others: 200 busy ones take 0.3 ms
	 * so, and 187 ms otherwise.
	 */
	run_first(true);
	answer.err = tracing_child_make_killer(&tracer.killer, tracer.tracees.reason);
	tracer.has_killer = !answer.err;
	tracer.start_ns = monotonic_ns();
	if (job->hold_ns)
		tracer_set_killer(&tracer, tracer_deadline(&tracer) + TRACING_CHILD_GRACE_NS);
	tracer_beat(&tracer);
	answer.err = answer.err ?: tracer_stop(&tracer);
	memcpy(answer.reason, tracer.tracees.reason, REASON_MAX);
	if (answer.err)
		tracer_let_go(&tracer, false);
	tracer_answer(&tracer, &answer);
	while ((tracer.copy || !tracer.end_ns) && tracer_next_order(&tracer, &order)) {
		answer = (struct tracer_answer){0};
		tracer_obey(&tracer, &order, &answer);
		tracer_answer(&tracer, &answer);
		if (!tracer.end_ns)
			continue;
		/* The process does not wait for the rest. */
		tracer_set_killer(&tracer, 0);
		run_first(false);
	}
	/* Without an order: this answers the next one. */
	if (tracer.by_itself) {
		answer = (struct tracer_answer){.err = -ECANCELED};
		tracer_answer(&tracer, &answer);
	}
	_exit(0);
}
