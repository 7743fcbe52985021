// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How to talk to a JVM, N being its id in its own pid namespace:
 *
 * - The file .attach_pidN in the target's /tmp says that somebody wants to talk.
 * - SIGQUIT has the JVM look for that file.
 * - From then on the JVM listens at .java_pidN there.
 *
 * Anything there may be somebody else's. So only directories are followed, and the listener has to
 * be the process itself.
 */
#include "user/runtime/java/jvm_attach.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/process/proc.h"

#define JVM_ANSWER_MAX (64u << 10)

struct jvm {
	pid_t pid, inner_pid;
	uid_t uid;
	gid_t gid;
	int pidfd, tmp_fd;
	char trigger[32], socket[32]; /* names in tmp_fd */
};

static int jvm_read_ids(struct jvm *jvm)
{
	_cleanup_free_ char *uids = NULL, *gids = NULL;
	unsigned uid, gid;

	jvm->inner_pid = proc_ns_pid(jvm->pid);
	if (jvm->inner_pid <= 0 || proc_status_field(jvm->pid, "Uid", &uids) ||
	    proc_status_field(jvm->pid, "Gid", &gids) || sscanf(uids, "%*u %u", &uid) != 1 ||
	    sscanf(gids, "%*u %u", &gid) != 1)
		return -ESRCH;
	jvm->uid = uid;
	jvm->gid = gid;
	snprintf(jvm->trigger, sizeof(jvm->trigger), ".attach_pid%d", (int)jvm->inner_pid);
	snprintf(jvm->socket, sizeof(jvm->socket), ".java_pid%d", (int)jvm->inner_pid);
	return 0;
}

/* The directory /tmp, as the target sees it. */
static int jvm_open_tmp(struct jvm *jvm)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_DIRECTORY,
		.resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT,
	};
	_cleanup_close_ int root_fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)proc_memory_id(jvm->pid));
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	jvm->tmp_fd = (int)syscall(SYS_openat2, root_fd, "/tmp", &how, sizeof(how));
	return jvm->tmp_fd < 0 ? -errno : 0;
}

static bool jvm_has_ended(const struct jvm *jvm)
{
	struct pollfd ended = {.fd = jvm->pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) != 0;
}

static int jvm_become_user(const struct jvm *jvm)
{
	if (geteuid() == jvm->uid && getegid() == jvm->gid)
		return 0;
	if (setgroups(0, NULL) || setresgid(jvm->gid, jvm->gid, jvm->gid) ||
	    setresuid(jvm->uid, jvm->uid, jvm->uid))
		return -errno;
	return 0;
}

static int jvm_open(struct jvm *jvm, char reason[static REASON_MAX])
{
	int err;

	jvm->pidfd = (int)syscall(SYS_pidfd_open, jvm->pid, 0);
	err = jvm->pidfd < 0 ? -errno : jvm_read_ids(jvm);
	if (err)
		return refuse(reason, err, "there is no such process any more");
	err = jvm_open_tmp(jvm);
	if (jvm_has_ended(jvm))
		return refuse(reason, -ESRCH, "it has ended");
	if (err)
		return refuse(reason, err, "cannot open its directory /tmp: %s", strerror(-err));
	err = jvm_become_user(jvm);
	return err ? refuse(reason, err,
			    "cannot act as its user, %u: %s (CAP_SETUID and CAP_SETGID are needed)",
			    (unsigned)jvm->uid, strerror(-err))
		   : 0;
}

static int jvm_remaining_ms(uint64_t deadline)
{
	uint64_t now = monotonic_ns();

	return now < deadline ? (int)((deadline - now) / NS_PER_MS) + 1 : 0;
}

/* 0; -ETIME; -ESRCH: the target has ended. */
static int jvm_wait(const struct jvm *jvm, int fd, short events, uint64_t deadline)
{
	struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = jvm->pidfd, .events = POLLIN}};
	int n;

	do {
		int left = jvm_remaining_ms(deadline);

		/* Something may come all the time. */
		if (!left)
			return -ETIME;
		n = poll(fds, 2, left);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ETIME;
	return fds[0].revents ? 0 : -ESRCH;
}

static int jvm_refuse_wait(int err, const char *what, unsigned ms, char reason[static REASON_MAX])
{
	if (err == -ESRCH)
		return refuse(reason, err, "it has ended");
	return refuse(reason, err, "it %s within %u ms", what, ms);
}

/* A descriptor of the connection, or -ENOENT: nobody listens there yet. */
static int jvm_connect(const struct jvm *jvm, char reason[static REASON_MAX])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int at = -1, fd = -1;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	struct stat st;

	at = openat(jvm->tmp_fd, jvm->socket, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0 || fstat(at, &st))
		return -ENOENT;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != jvm->uid)
		return refuse(reason, -EPERM, "/tmp/%s is not a socket of user %u", jvm->socket,
			      (unsigned)jvm->uid);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return refuse(reason, -errno, "no socket: %s", strerror(errno));
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", at);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return errno == ECONNREFUSED
			       ? -ENOENT
			       : refuse(reason, -errno, "cannot connect to /tmp/%s: %s",
					jvm->socket, strerror(errno));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid != jvm->pid)
		return refuse(reason, -EPERM, "process %d listens at /tmp/%s", (int)peer.pid,
			      jvm->socket);
	return TAKE_FD(fd);
}

static bool jvm_handles_quit(const struct jvm *jvm)
{
	_cleanup_free_ char *caught = NULL;

	return !proc_status_field(jvm->pid, "SigCgt", &caught) &&
	       strtoull(caught, NULL, 16) >> (SIGQUIT - 1) & 1;
}

/* Waits until it listens. The connection, or -errno. */
static int jvm_await_listener(const struct jvm *jvm, const struct jvm_asking *asking, int watch,
			      char reason[static REASON_MAX])
{
	uint64_t deadline = monotonic_ns() + asking->listen_ms * NS_PER_MS;
	char events[4096];
	int err;

	for (;;) {
		int fd = jvm_connect(jvm, reason);

		if (fd != -ENOENT)
			return fd;
		err = jvm_wait(jvm, watch, POLLIN, deadline);
		if (err)
			break;
		while (read(watch, events, sizeof(events)) > 0)
			;
	}
	return jvm_refuse_wait(
		err, "does not begin to listen (with -XX:+DisableAttachMechanism it never does)",
		asking->listen_ms, reason);
}

static int jvm_wake(const struct jvm *jvm, const struct jvm_asking *asking,
		    char reason[static REASON_MAX])
{
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), file = -1;
	char path[32];
	int fd;

	if (!jvm_handles_quit(jvm))
		return refuse(reason, -EOPNOTSUPP,
			      "it has no handler for SIGQUIT (-Xrs, or it has just begun), which "
			      "would end it");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", jvm->tmp_fd);
	if (watch < 0 || inotify_add_watch(watch, path, IN_CREATE | IN_MOVED_TO) < 0)
		return refuse(reason, -errno, "cannot watch its directory /tmp: %s",
			      strerror(errno));
	/* One that is there is somebody's who asks as well. */
	file = openat(jvm->tmp_fd, jvm->trigger,
		      O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 && errno != EEXIST)
		return refuse(reason, -errno, "cannot create /tmp/%s: %s", jvm->trigger,
			      strerror(errno));
	if (syscall(SYS_pidfd_send_signal, jvm->pidfd, SIGQUIT, NULL, 0))
		fd = refuse(reason, -errno, "cannot send it SIGQUIT: %s", strerror(errno));
	else
		fd = jvm_await_listener(jvm, asking, watch, reason);
	if (file >= 0)
		unlinkat(jvm->tmp_fd, jvm->trigger, 0);
	return fd;
}

/* The whole answer, ended by NUL; -errno. */
static int jvm_read_answer(const struct jvm *jvm, int fd, const struct jvm_asking *asking,
			   char *answer, char reason[static REASON_MAX])
{
	uint64_t deadline = monotonic_ns() + asking->answer_ms * NS_PER_MS;
	size_t len = 0;

	for (;;) {
		int err = jvm_wait(jvm, fd, POLLIN, deadline);
		ssize_t n;

		if (err)
			return jvm_refuse_wait(err, "does not answer", asking->answer_ms, reason);
		n = read(fd, answer + len, JVM_ANSWER_MAX - len);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return refuse(reason, -errno, "its answer cannot be read: %s",
				      strerror(errno));
		len += (size_t)n;
		if (len == JVM_ANSWER_MAX)
			return refuse(reason, -E2BIG, "its answer does not end");
		answer[len] = '\0';
		if (!n)
			return 0;
	}
}

/* "0\n" and what the command has printed, or another status and why. */
static int jvm_judge_answer(char *answer, char reason[static REASON_MAX])
{
	char *text = strchr(answer, '\n');

	if (text && !strncmp(answer, "0\n", 2))
		return 0;
	text = text ? text + 1 : answer;
	text[strcspn(text, "\n")] = '\0';
	for (char *c = text; *c; c++)
		*c = isprint((unsigned char)*c) ? *c : '?';
	return refuse(reason, -EPROTO,
		      "it answers \"%.100s\" (Compiler.perfmap is in JDK 17 and later)", text);
}

static int jvm_command(const struct jvm *jvm, int fd, const struct jvm_asking *asking,
		       char reason[static REASON_MAX])
{
	/* The version, the command and its three arguments. */
	static const char command[] = "1\0jcmd\0Compiler.perfmap\0\0";
	_cleanup_free_ char *answer = malloc(JVM_ANSWER_MAX + 1);
	int err;

	if (!answer)
		return refuse(reason, -ENOMEM, "out of memory");
	if (send(fd, command, sizeof(command), MSG_NOSIGNAL) != (ssize_t)sizeof(command))
		return refuse(reason, -EIO, "it does not take the command: %s", strerror(errno));
	err = jvm_read_answer(jvm, fd, asking, answer, reason);
	return err ?: jvm_judge_answer(answer, reason);
}

int jvm_ask_perfmap(pid_t pid, const struct jvm_asking *asking, char reason[static REASON_MAX])
{
	struct jvm jvm = {.pid = pid, .pidfd = -1, .tmp_fd = -1};
	_cleanup_close_ int fd = -1;
	int err = jvm_open(&jvm, reason);

	if (!err) {
		fd = jvm_connect(&jvm, reason);
		if (fd == -ENOENT)
			fd = jvm_wake(&jvm, asking, reason);
		err = fd < 0 ? fd : jvm_command(&jvm, fd, asking, reason);
	}
	cleanup_close(&jvm.pidfd);
	cleanup_close(&jvm.tmp_fd);
	return err;
}
