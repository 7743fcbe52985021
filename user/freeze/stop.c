// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/sleepers_abi.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/freeze/tracer.h"

/* Threads may take this part of the longest pause to stop. */
#define STOP_SHARE 2

struct stop {
	struct tracer_job job;
	pid_t tracer; /* 0: none, it has been buried */
	int channel;
	struct tracer_answer last;
	/* when we saw that the tracer was killed before it had let go; 0: it was not */
	uint64_t lost_ns;
	bool ended;	    /* stop_end() has been called */
	sigset_t unblocked; /* to be unblocked afterwards */

	char *file; /* the tracer's, mapped */
	size_t file_size;
	struct stop_thread *threads;
	size_t count;
	bool *seen;   /* by thread: still asleep, at this look */
	size_t found; /* where the last thread was found: the next one often follows it */
};

/* ---- the tracer --------------------------------------------------------------------------- */

int stop_refuse_left(char reason[static REASON_MAX])
{
	return refuse(reason, -ECANCELED,
		      "memleakbpf itself was stopped, frozen or starved of processor time "
		      "meanwhile, and the process went on before it had been read");
}

/* Takes the tracer's answer to an order, or that there will be no more. */
static int stop_take_answer(struct stop *stop)
{
	ssize_t n;

	do {
		/*
		 * ECONNRESET: the tracer has ended before it read the order; its answer is there.
		 */
		n = recv(stop->channel, &stop->last, sizeof(stop->last), 0);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n != (ssize_t)sizeof(stop->last)) {
		stop->lost_ns = monotonic_ns();
		stop->last.err = -ECANCELED;
	}
	if (stop->lost_ns || stop->last.by_itself)
		return stop_refuse_left(stop->last.reason);
	return stop->last.err;
}

static bool stop_is_held(const struct stop *stop)
{
	return stop->tracer && !stop->lost_ns && !stop->last.end_ns;
}

static int stop_give_order(struct stop *stop, const struct tracer_order *order)
{
	if (!stop_is_held(stop))
		return stop_refuse_left(stop->last.reason);
	/* Where send() fails the tracer has ended, and has perhaps said why. */
	send(stop->channel, order, sizeof(*order), MSG_NOSIGNAL);
	return stop_take_answer(stop);
}

/* The copy goes with the tracer (PTRACE_O_EXITKILL). */
static void stop_bury_tracer(struct stop *stop)
{
	if (!stop->tracer)
		return;
	kill(stop->tracer, SIGKILL);
	while (waitpid(stop->tracer, NULL, 0) < 0 && errno == EINTR)
		;
	stop->tracer = 0;
}

static int stop_make_tracer(struct stop *stop)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return refuse(stop->last.reason, -errno, "there is no socket to its tracer: %s",
			      strerror(errno));
	stop->channel = ends[0];
	stop->job.channel = ends[1];
	stop->tracer = fork();
	if (!stop->tracer)
		tracer_run(&stop->job);
	close(ends[1]);
	if (stop->tracer > 0)
		return 0;
	stop->tracer = 0;
	return refuse(stop->last.reason, -errno, "no process to hold it: %s", strerror(errno));
}

/*
 * Ctrl-Z takes effect when the process has been let go. Our other threads have these signals
 * blocked, or are made while they are blocked.
 */
static void stop_mind_terminal(struct stop *stop)
{
	static const int signals[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	sigset_t block, before;

	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&block, signals[i]);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (!sigismember(&before, signals[i]))
			sigaddset(&stop->unblocked, signals[i]);
	}
}

/* ---- threads ------------------------------------------------------------------------------ */

static void stop_forget_threads(struct stop *stop)
{
	if (stop->file)
		munmap(stop->file, stop->file_size);
	stop->file = NULL;
	free(stop->threads);
	free(stop->seen);
	stop->threads = NULL;
	stop->seen = NULL;
	stop->count = 0;
}

static const struct tracer_thread *stop_told(const struct stop *stop, size_t index)
{
	return (const struct tracer_thread *)stop->file + index;
}

/* Reads the file that the tracer has written. */
static int stop_take_threads(struct stop *stop)
{
	size_t count = stop->last.thread_count;
	off_t size = lseek(stop->job.threads, 0, SEEK_END);

	stop_forget_threads(stop);
	if (size < (off_t)(count * sizeof(struct tracer_thread)))
		return -EIO;
	stop->file_size = (size_t)size;
	stop->file = mmap(NULL, stop->file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			  stop->job.threads, 0);
	if (stop->file == MAP_FAILED)
		stop->file = NULL;
	stop->threads = calloc(count + 1, sizeof(*stop->threads));
	stop->seen = calloc(count + 1, sizeof(*stop->seen));
	if (!stop->file || !stop->threads || !stop->seen)
		return refuse(stop->last.reason, -ENOMEM, "no memory for its registers");
	for (size_t i = 0; i < count; i++) {
		const struct tracer_thread *told = stop_told(stop, i);

		stop->threads[i] = (struct stop_thread){
			.tid = told->tid,
			.sp = told->sp,
			.tls = told->tls,
			.words =
				told->word_count ? (uint64_t *)(stop->file + told->words_at) : NULL,
			.word_count = told->word_count,
		};
	}
	stop->count = count;
	return 0;
}

size_t stop_thread_count(const struct stop *stop)
{
	return stop->count;
}

const struct stop_thread *stop_thread_at(const struct stop *stop, size_t index)
{
	return index < stop->count ? &stop->threads[index] : NULL;
}

size_t stop_asleep_count(const struct stop *stop)
{
	size_t n = 0;

	for (size_t i = 0; i < stop->count; i++)
		n += stop_told(stop, i)->asleep;
	return n;
}

static int stop_mark_sleeper(void *ctx, const struct sleeper *sleeper)
{
	struct stop *stop = ctx;

	for (size_t i = 0; i < stop->count; i++) {
		size_t at = (stop->found + 1 + i) % stop->count;
		const struct tracer_thread *told = stop_told(stop, at);

		if (told->tid != (pid_t)sleeper->tid)
			continue;
		stop->seen[at] = told->switches == sleeper->switches;
		stop->found = at;
		break;
	}
	return 0;
}

bool stop_undisturbed(struct stop *stop)
{
	const struct stop_sleepers *sleepers = stop->job.sleepers;
	size_t awake = 0;

	if (!stop_asleep_count(stop))
		return true;
	memset(stop->seen, 0, stop->count * sizeof(*stop->seen));
	if (sleepers->look(sleepers->ctx, stop->job.pid, false, stop_mark_sleeper, stop))
		return false;
	for (size_t i = 0; i < stop->count; i++)
		awake += stop_told(stop, i)->asleep && !stop->seen[i];
	return !awake;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static int stop_start(struct stop *stop)
{
	int err = 0;

	stop->job.threads = memfd_create("threads", MFD_CLOEXEC);
	if (stop->job.threads < 0)
		err = refuse(stop->last.reason, -errno, "no memory for its registers: %s",
			     strerror(errno));
	stop_mind_terminal(stop);
	err = err ?: stop_make_tracer(stop);
	err = err ?: stop_take_answer(stop);
	return err ?: stop_take_threads(stop);
}

static int stop_begin_any(const struct tracer_job *job, struct stop **out,
			  char reason[static REASON_MAX])
{
	struct stop *stop = calloc(1, sizeof(*stop));
	int err;

	if (!stop)
		return refuse(reason, -ENOMEM, "no memory to stop it");
	stop->job = *job;
	stop->job.tool = getpid();
	stop->channel = -1;
	sigemptyset(&stop->unblocked);
	err = stop_start(stop);
	memcpy(reason, stop->last.reason, REASON_MAX);
	if (err)
		stop_free(stop);
	else
		*out = stop;
	return err;
}

int stop_begin(pid_t pid, uint64_t max_pause_ns, const struct stop_sleepers *sleepers,
	       struct stop **out, char reason[static REASON_MAX])
{
	const struct tracer_job job = {.pid = pid,
				       .max_ns = max_pause_ns / STOP_SHARE,
				       .hold_ns = max_pause_ns,
				       .sleepers = sleepers};

	return stop_begin_any(&job, out, reason);
}

int stop_begin_others(pid_t pid, pid_t but, uint64_t max_pause_ns, struct stop **out,
		      char reason[static REASON_MAX])
{
	const struct tracer_job job = {.pid = pid,
				       .but = but,
				       .max_ns = max_pause_ns / STOP_SHARE,
				       .hold_ns = max_pause_ns};

	return stop_begin_any(&job, out, reason);
}

int stop_begin_ending(pid_t pid, uint64_t max_ns, struct stop **out, char reason[static REASON_MAX])
{
	const struct tracer_job job = {.pid = pid, .max_ns = max_ns};

	return stop_begin_any(&job, out, reason);
}

uint64_t stop_start_ns(const struct stop *stop)
{
	return stop->last.start_ns;
}

int stop_sleepers_too(struct stop *stop, char reason[static REASON_MAX])
{
	const struct tracer_order order = {.kind = TRACER_STOP_SLEEPERS};
	int err = stop_give_order(stop, &order);

	err = err ?: stop_take_threads(stop);
	memcpy(reason, stop->last.reason, REASON_MAX);
	return err;
}

int stop_copy(struct stop *stop, const struct call_code *code, uint64_t deadline_ns, pid_t *copy,
	      char reason[static REASON_MAX])
{
	const struct tracer_order order = {
		.kind = TRACER_COPY, .code = *code, .deadline_ns = deadline_ns};
	int err = stop_give_order(stop, &order);

	memcpy(reason, stop->last.reason, REASON_MAX);
	*copy = err ? 0 : stop->last.copy;
	return err;
}

int stop_write(struct stop *stop, const struct stop_piece *pieces, size_t count,
	       char reason[static REASON_MAX])
{
	struct tracer_order order = {.kind = TRACER_WRITE, .piece_count = count};
	int err;

	if (count > STOP_PIECES_MAX)
		return refuse(reason, -EINVAL, "%zu pieces of code are too many at once", count);
	memcpy(order.pieces, pieces, count * sizeof(*pieces));
	err = stop_give_order(stop, &order);
	memcpy(reason, stop->last.reason, REASON_MAX);
	return err;
}

int stop_ask_filters(struct stop *stop, const struct filter_call *call, unsigned *filters,
		     char reason[static REASON_MAX])
{
	const struct tracer_order order = {.kind = TRACER_FILTERS, .call = *call};
	int err = stop_asleep_count(stop)
			  ? refuse(stop->last.reason, -EINVAL, "some of its threads sleep")
			  : stop_give_order(stop, &order);

	memcpy(reason, stop->last.reason, REASON_MAX);
	*filters = err ? 0 : stop->last.filters;
	return err;
}

uint64_t stop_end(struct stop *stop)
{
	const struct tracer_order order = {.kind = TRACER_RELEASE};

	if (!stop->ended) {
		stop->ended = true;
		if (stop_is_held(stop))
			stop_give_order(stop, &order);
		/* The tracer's end lets go of threads in any state; a copy needs its tracer. */
		if (!stop->last.copy || stop->lost_ns)
			stop_bury_tracer(stop);
		pthread_sigmask(SIG_UNBLOCK, &stop->unblocked, NULL);
	}
	return (stop->lost_ns ?: stop->last.end_ns) - stop->last.start_ns;
}

uint64_t stop_left_ns(const struct stop *stop)
{
	uint64_t over = stop->last.start_ns + stop->job.hold_ns;

	if (!stop->lost_ns)
		return stop->last.by_itself ? stop->last.end_ns : UINT64_MAX;
	/* Its timer killed the tracer, later than that. */
	return stop->job.hold_ns && stop->lost_ns > over ? over : 0;
}

void stop_free(struct stop *stop)
{
	if (!stop)
		return;
	stop_end(stop);
	stop_bury_tracer(stop);
	stop_forget_threads(stop);
	if (stop->channel >= 0)
		close(stop->channel);
	if (stop->job.threads >= 0)
		close(stop->job.threads);
	free(stop);
}
