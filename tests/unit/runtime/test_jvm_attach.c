// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A process that does as HotSpot does when somebody wants to talk, or otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/java/jvm_attach.h"

#define ITS_USER 12345 /* with root's rights */

static const char command[] = "1\0jcmd\0Compiler.perfmap\0\0";

enum does {
	DOES_ANSWER,
	DOES_LISTEN_BEFORE, /* as one that was asked before */
	DOES_REFUSE,	    /* to do what it is told */
	DOES_NOT_HANDLE,    /* SIGQUIT */
	DOES_NOT_LISTEN,
	DOES_NOT_ANSWER,
	DOES_NOT_END, /* its answer */
	DOES_TRICKLE,
	DOES_EXIT,
};

struct jvm_case {
	enum does does;
	bool in_chroot;
	int err;
	const char *reason;
};

struct fake {
	pid_t pid;
	int to, from;
	char directory[32]; /* its root, "" or where it is */
};

/* ---- the process ---------------------------------------------------------------------------- */

static volatile sig_atomic_t quits;

static void on_quit(int signal)
{
	(void)signal;
	quits = 1;
}

static void fake_name(char path[64], const char *kind, pid_t pid)
{
	snprintf(path, 64, "/tmp/.%s%d", kind, (int)pid);
}

static int fake_listen(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char path[64];

	fake_name(path, "java_pid", getpid());
	snprintf(at.sun_path, sizeof(at.sun_path), "%s.tmp", path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) || listen(fd, 5) ||
	    rename(at.sun_path, path))
		_exit(10);
	return fd;
}

/* Says on its output whether it was this command. */
static void fake_serve(int listener, enum does does)
{
	char got[256], junk[4096] = "0\n";
	int fd = accept(listener, NULL, NULL);
	size_t len = 0;

	while (fd >= 0 && len < sizeof(command)) {
		ssize_t n = read(fd, got + len, sizeof(got) - len);

		if (n <= 0)
			_exit(11);
		len += (size_t)n;
	}
	dprintf(STDOUT_FILENO,
		len == sizeof(command) && !memcmp(got, command, len) ? "asked\n" : "junk\n");
	if (does == DOES_NOT_ANSWER)
		pause();
	if (does == DOES_REFUSE)
		dprintf(fd, "1\njava.lang.Nope: \033[2J what?\nmore\n");
	else if (does == DOES_ANSWER || does == DOES_LISTEN_BEFORE)
		dprintf(fd, "0\nCommand executed successfully\n");
	while (does == DOES_NOT_END && send(fd, junk, sizeof(junk), MSG_NOSIGNAL) > 0)
		;
	while (does == DOES_TRICKLE && send(fd, junk, 1, MSG_NOSIGNAL) > 0)
		poll(NULL, 0, 1);
	close(fd);
}

static _Noreturn void fake_run(const struct jvm_case *c, const char *root)
{
	struct sigaction action = {.sa_handler = on_quit};
	int listener = -1;
	struct stat st;
	char path[64];
	sigset_t quit, none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (*root && (chroot(root) || chdir("/")))
		_exit(12);
	if (!geteuid() && (setgid(ITS_USER) || setuid(ITS_USER)))
		_exit(13);
	if (c->does != DOES_NOT_HANDLE)
		sigaction(SIGQUIT, &action, NULL);
	if (c->does == DOES_LISTEN_BEFORE)
		listener = fake_listen();
	sigemptyset(&quit);
	sigemptyset(&none);
	sigaddset(&quit, SIGQUIT);
	sigprocmask(SIG_BLOCK, &quit, NULL);
	dprintf(STDOUT_FILENO, "ready\n");
	while (listener < 0 && !quits)
		sigsuspend(&none);
	fake_name(path, "attach_pid", getpid());
	if (listener < 0 && (stat(path, &st) || st.st_uid != geteuid() || st.st_gid != getegid()))
		_exit(14);
	if (c->does == DOES_EXIT)
		_exit(0);
	if (listener < 0 && c->does != DOES_NOT_LISTEN)
		listener = fake_listen();
	if (listener >= 0)
		fake_serve(listener, c->does);
	for (;;)
		pause();
}

static void expect_line(int fd, const char *expected)
{
	char line[64];
	size_t len = 0;

	while (len < sizeof(line) - 1 && read(fd, line + len, 1) == 1 && line[len] != '\n')
		len++;
	line[len] = '\0';
	assert_string_equal(line, expected);
}

static struct fake fake_start(const struct jvm_case *c)
{
	struct fake fake = {.directory = ""};
	char tmp[64];
	int out[2];

	if (c->in_chroot) {
		strcpy(fake.directory, "/tmp/test_jvm.XXXXXX");
		assert_non_null(mkdtemp(fake.directory));
		assert_int_equal(chmod(fake.directory, 0755), 0);
		snprintf(tmp, sizeof(tmp), "%s/tmp", fake.directory);
		assert_int_equal(mkdir(tmp, 0), 0);
		assert_int_equal(chmod(tmp, 01777), 0);
	}
	assert_int_equal(pipe(out), 0);
	fake.pid = fork();
	assert_true(fake.pid >= 0);
	if (!fake.pid) {
		dup2(out[1], STDOUT_FILENO);
		fake_run(c, fake.directory);
	}
	close(out[1]);
	fake.from = out[0];
	expect_line(fake.from, "ready");
	return fake;
}

static void fake_path(const struct fake *fake, const char *kind, char path[64])
{
	snprintf(path, 64, "%s/tmp/.%s%d", fake->directory, kind, (int)fake->pid);
}

/* It must have been alive until now, and nobody has left anything beside what it made. */
static void fake_stop(struct fake *fake, bool ends)
{
	char path[64], tmp[64];
	int status;

	if (!ends) {
		assert_int_equal(waitpid(fake->pid, &status, WNOHANG), 0);
		kill(fake->pid, SIGKILL);
	}
	assert_int_equal(waitpid(fake->pid, &status, 0), fake->pid);
	if (ends)
		assert_int_equal(status, 0);
	fake_path(fake, "attach_pid", path);
	assert_int_equal(access(path, F_OK), -1);
	fake_path(fake, "java_pid", path);
	unlink(path);
	close(fake->from);
	if (*fake->directory) {
		snprintf(tmp, sizeof(tmp), "%s/tmp", fake->directory);
		assert_int_equal(rmdir(tmp), 0);
		assert_int_equal(rmdir(fake->directory), 0);
	}
}

/* ---- asking --------------------------------------------------------------------------------- */

struct told {
	int err;
	uid_t uid;
	char reason[REASON_MAX];
};

/* As long as a busy machine needs: what is to come comes. */
#define PATIENCE_MS 20000

static struct told ask_for(pid_t pid, unsigned listen_ms, unsigned answer_ms)
{
	const struct jvm_asking asking = {listen_ms, answer_ms};
	struct told told = {0};
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		told.err = jvm_ask_perfmap(pid, &asking, told.reason);
		told.uid = geteuid();
		_exit(write(fds[1], &told, sizeof(told)) != (ssize_t)sizeof(told));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(fds[0], &told, sizeof(told)), sizeof(told));
	close(fds[0]);
	close(fds[1]);
	return told;
}

static struct told ask(pid_t pid)
{
	return ask_for(pid, PATIENCE_MS, PATIENCE_MS);
}

static void check_told(const struct told *told, int err, const char *reason)
{
	if (told->err != err || !strstr(told->reason, reason))
		fail_msg("%d (%s), not %d (%s)", told->err, told->reason, err, reason);
	for (const char *c = told->reason; *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
}

static void check_case(const struct jvm_case *c)
{
	struct fake fake = fake_start(c);
	/* What never comes is waited for in full. */
	bool unanswered = c->does == DOES_NOT_ANSWER || c->does == DOES_TRICKLE;
	struct told told = ask_for(fake.pid, c->does == DOES_NOT_LISTEN ? 100 : PATIENCE_MS,
				   unanswered ? 100 : PATIENCE_MS);

	check_told(&told, c->err, c->reason);
	if (!geteuid())
		assert_int_equal(told.uid, ITS_USER);
	if (c->does == DOES_ANSWER || c->does == DOES_LISTEN_BEFORE)
		expect_line(fake.from, "asked");
	fake_stop(&fake, c->does == DOES_EXIT);
}

static void as_it_answers(void **state)
{
	static const struct jvm_case cases[] = {
		{DOES_ANSWER, false, 0, ""},
		{DOES_LISTEN_BEFORE, false, 0, ""},
		{DOES_REFUSE, false, -EPROTO, "\"java.lang.Nope: ?[2J what?\""},
		{DOES_NOT_HANDLE, false, -EOPNOTSUPP, "no handler for SIGQUIT"},
		{DOES_NOT_LISTEN, false, -ETIME, "does not begin to listen"},
		{DOES_NOT_ANSWER, false, -ETIME, "does not answer within 100 ms"},
		{DOES_TRICKLE, false, -ETIME, "does not answer within 100 ms"},
		{DOES_NOT_END, false, -E2BIG, "does not end"},
		{DOES_EXIT, false, -ESRCH, "it has ended"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_case(&cases[i]);
}

static void in_another_root(void **state)
{
	static const struct jvm_case there = {DOES_ANSWER, true, 0, ""};

	(void)state;
	if (geteuid()) {
		print_message("needs root\n");
		skip();
	}
	check_case(&there);
}

/* Where it would listen is something else: not to be followed, nor to be talked to. */
static void somebody_elses_socket(void **state)
{
	static const struct jvm_case silent = {DOES_NOT_LISTEN, false, 0, ""};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct fake fake = fake_start(&silent);
	struct pollfd asked = {.fd = listener, .events = POLLIN};
	char path[64], other[80];
	struct told told;

	(void)state;
	fake_path(&fake, "java_pid", path);
	snprintf(other, sizeof(other), "%s.other", path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", other);
	assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	if (!geteuid())
		assert_int_equal(chown(other, ITS_USER, ITS_USER), 0);
	/* A link to it. */
	assert_int_equal(symlink(other, path), 0);
	told = ask(fake.pid);
	check_told(&told, -EPERM, "is not a socket of user");
	assert_int_equal(unlink(path), 0);
	/* Itself, of the right user. */
	assert_int_equal(rename(other, path), 0);
	told = ask(fake.pid);
	check_told(&told, -EPERM, "listens at /tmp/.java_pid");
	if (!geteuid()) {
		assert_int_equal(chown(path, 0, 0), 0);
		told = ask(fake.pid);
		check_told(&told, -EPERM, "is not a socket of user 12345");
	}
	/* No question came; a connection that was closed at once is no harm. */
	while (poll(&asked, 1, 0) == 1) {
		int fd = accept(listener, NULL, NULL);
		char byte;

		assert_int_equal(read(fd, &byte, 1), 0);
		close(fd);
	}
	close(listener);
	unlink(path);
	/* A file, of any kind. */
	close(open(path, O_CREAT | O_WRONLY, 0666));
	told = ask(fake.pid);
	check_told(&told, -EPERM, "is not a socket of user");
	fake_stop(&fake, false);
}

/* Left there by an earlier process of that id: nobody listens. */
static void socket_of_nobody(void **state)
{
	static const struct jvm_case there = {DOES_ANSWER, false, 0, ""};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct fake fake = fake_start(&there);
	char path[64];
	struct told told;

	(void)state;
	fake_path(&fake, "java_pid", path);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	close(listener);
	if (!geteuid())
		assert_int_equal(chown(path, ITS_USER, ITS_USER), 0);
	told = ask(fake.pid);
	check_told(&told, 0, "");
	expect_line(fake.from, "asked");
	fake_stop(&fake, false);
}

static void nobody(void **state)
{
	struct told told;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	told = ask(pid);
	check_told(&told, -ESRCH, "no such process");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_answers),
		cmocka_unit_test(in_another_root),
		cmocka_unit_test(somebody_elses_socket),
		cmocka_unit_test(socket_of_nobody),
		cmocka_unit_test(nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
