// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/java/runtime_asker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/runtime/java/jvm_attach.h"

/* In the middle of a collection a JVM neither listens nor answers. */
#define ASK_LISTEN_MS 1000
#define ASK_ANSWER_MS 2000
#define ASK_MS	      (ASK_LISTEN_MS + ASK_ANSWER_MS + 1000)

/* Between two questions to a target, in durations of one. */
#define ASK_REST 20

struct asker_question {
	uint64_t number;
	pid_t pid;
};

struct asker_answer {
	uint64_t number;
	int err;
	char reason[REASON_MAX];
};

struct runtime_asker {
	pid_t pid;
	int fd;
	uint64_t number; /* of the last question */
};

/* ---- the process ---------------------------------------------------------------------------- */

static _Noreturn void asker_answer(const struct asker_question *question)
{
	static const struct jvm_asking asking = {ASK_LISTEN_MS, ASK_ANSWER_MS};
	struct asker_answer answer = {.number = question->number};

	answer.err = jvm_ask_perfmap(question->pid, &asking, answer.reason);
	_exit(write(STDIN_FILENO, &answer, sizeof(answer)) != (ssize_t)sizeof(answer));
}

/*
 * Ends when nobody can ask any more. A question that is under way is asked to its end, so nothing
 * is left in the target's /tmp. Signals to the tool's process group do not come here.
 */
static _Noreturn void asker_run(int fd)
{
	struct asker_question question;

	dup2(fd, STDIN_FILENO);
	syscall(SYS_close_range, STDOUT_FILENO, ~0u, 0);
	setpgid(0, 0);
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "asking-runtimes");
	while (read(STDIN_FILENO, &question, sizeof(question)) == (ssize_t)sizeof(question)) {
		if (!fork())
			asker_answer(&question);
	}
	_exit(0);
}

int runtime_asker_new(struct runtime_asker **out)
{
	struct runtime_asker *asker = calloc(1, sizeof(*asker));
	int fds[2], err;

	if (!asker)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
		free(asker);
		return log_errno(err, "--ask-runtime: no socket");
	}
	asker->fd = fds[0];
	asker->pid = fork();
	if (!asker->pid)
		asker_run(fds[1]);
	err = asker->pid < 0 ? -errno : 0;
	close(fds[1]);
	if (err) {
		runtime_asker_free(asker);
		return log_errno(err, "--ask-runtime: cannot make a process");
	}
	*out = asker;
	return 0;
}

void runtime_asker_free(struct runtime_asker *asker)
{
	if (!asker)
		return;
	close(asker->fd);
	while (asker->pid > 0 && waitpid(asker->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(asker);
}

/* ---- who asks ------------------------------------------------------------------------------- */

static int asker_await(const struct runtime_asker *asker, struct asker_answer *answer)
{
	uint64_t deadline = monotonic_ns() + ASK_MS * NS_PER_MS, now;

	while ((now = monotonic_ns()) < deadline) {
		struct pollfd fd = {.fd = asker->fd, .events = POLLIN};

		if (poll(&fd, 1, (int)((deadline - now) / NS_PER_MS) + 1) <= 0)
			continue;
		if (recv(asker->fd, answer, sizeof(*answer), MSG_DONTWAIT) !=
		    (ssize_t)sizeof(*answer))
			return -EPIPE;
		/* An earlier one may have come too late. */
		if (answer->number == asker->number)
			return 0;
	}
	return -ETIME;
}

static int asker_ask(struct runtime_asker *asker, pid_t pid, char reason[static REASON_MAX])
{
	const struct asker_question question = {.number = ++asker->number, .pid = pid};
	struct asker_answer answer;
	int err;

	if (send(asker->fd, &question, sizeof(question), MSG_NOSIGNAL) < 0)
		return refuse(reason, -errno, "nobody is there to ask: %s", strerror(errno));
	err = asker_await(asker, &answer);
	if (err)
		return refuse(reason, err, "no answer: %s", strerror(-err));
	memcpy(reason, answer.reason, REASON_MAX);
	reason[REASON_MAX - 1] = '\0';
	return answer.err;
}

static bool asker_has_jvm(const struct runtimes *runtimes, const struct runtime_target *target)
{
	const struct runtime_host *host = &runtimes->host;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		const struct image_range *range = image_range_at(target->image, i);
		const struct runtime_object *known = host->object(host->ctx, range->object, false);

		if (known && known->runtime == RUNTIME_JVM)
			return true;
	}
	return false;
}

void runtime_ask(struct runtime_asker *asker, const struct runtimes *runtimes,
		 struct runtime_target *target)
{
	struct target_asked *asked = &target->asked;
	uint64_t start = monotonic_ns();
	char reason[REASON_MAX] = "";
	int err;

	if (!asker || asked->refused || !target->image || target->ended ||
	    !asker_has_jvm(runtimes, target) ||
	    (asked->last_ns && start - asked->last_ns < ASK_REST * asked->took_ns))
		return;
	err = asker_ask(asker, target->pid, reason);
	asked->last_ns = monotonic_ns();
	asked->took_ns = asked->last_ns - start;
	asked->refused = err != 0;
	if (err)
		log_warn("process %d (%s): the JVM has written no perf map: %s; it is not asked "
			 "again",
			 target->pid, target->comm, reason);
	else
		log_debug("process %d (%s): the JVM has written a perf map, in %.1f ms",
			  target->pid, target->comm, (double)asked->took_ns / NS_PER_MS);
}
