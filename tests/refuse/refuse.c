// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * refuse RULE... -- COMMAND...: runs COMMAND, and refuses it what the rules name, as a kernel or a
 * security module does that lacks one thing.
 *
 * The kernel asks this process about each bpf() and perf_event_open() of COMMAND and its children
 * (seccomp user notification, Linux 5.5). It reads their arguments from COMMAND's memory. It needs
 * no BPF and no special kernel, and it touches nothing else on the machine.
 *
 *     name:PROGRAM                          a program of that name is loaded
 *     program:TYPE[:ATTACH_TYPE[:NAME]]     ... of that kind; NAME: of an iterator or tracepoint
 *     sleepable                             ... that may sleep
 *     map:TYPE                              a map is made
 *     helper:NAME, kfunc:NAME               a program calls it, where the verifier comes to that
 *     call:COMMAND[:ATTACH_TYPE]            any other command of bpf(); link_create has a type
 *     perf:TYPE                             a performance event is opened; "uprobe": of that source
 *
 * A rule may end in "=EINVAL" or the like: EPERM is what it is refused with otherwise. "-" is any
 * type. Types, helpers and commands have names of linux/bpf.h in small letters, or numbers.
 *
 * At the end it says on standard error how often each rule was met. Its exit status is COMMAND's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define RULES	     16
#define ANY	     UINT32_MAX
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A number that no helper has: the verifier refuses a call of it where it comes to it. */
#define NO_HELPER 0x7fff
/* libbpf writes this in the place of a function that the kernel lacks. */
#define NO_KFUNC 0

/* Between two looks whether somebody who asked has been killed meanwhile. */
#define TICK_US 200000

/* Newer than Debian 12's headers. */
#define UPROBE_MULTI   48
#define UPROBE_SESSION 57

enum rule_kind {
	RULE_NAME,
	RULE_PROGRAM,
	RULE_SLEEPABLE,
	RULE_MAP,
	RULE_HELPER,
	RULE_KFUNC,
	RULE_CALL,
	RULE_PERF,
	RULE_KINDS
};

static const char *const rule_kinds[RULE_KINDS] = {
	[RULE_NAME] = "name", [RULE_PROGRAM] = "program", [RULE_SLEEPABLE] = "sleepable",
	[RULE_MAP] = "map",   [RULE_HELPER] = "helper",	  [RULE_KFUNC] = "kfunc",
	[RULE_CALL] = "call", [RULE_PERF] = "perf",
};

struct rule {
	enum rule_kind kind;
	uint32_t type, attach, btf_id;
	char name[BPF_OBJ_NAME_LEN];
	int error;    /* of errno.h */
	unsigned met; /* times */
	const char *text;
};

struct refusals {
	struct rule rules[RULES];
	size_t count;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("refuse: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

/* ---- names -------------------------------------------------------------------------------- */

struct name {
	const char *name;
	uint32_t number;
};

#define HELPER(x)                \
	{                        \
#x, BPF_FUNC_##x \
	}
static const struct name helpers[] = {__BPF_FUNC_MAPPER(HELPER)};
#undef HELPER

static const struct name calls[] = {
	{"prog_test_run", BPF_PROG_TEST_RUN},
	{"obj_get_info_by_fd", BPF_OBJ_GET_INFO_BY_FD},
	{"btf_load", BPF_BTF_LOAD},
	{"map_freeze", BPF_MAP_FREEZE},
	{"map_lookup_batch", BPF_MAP_LOOKUP_BATCH},
	{"map_delete_batch", BPF_MAP_DELETE_BATCH},
	{"link_create", BPF_LINK_CREATE},
	{"enable_stats", BPF_ENABLE_STATS},
	{"iter_create", BPF_ITER_CREATE},
	{"link_detach", BPF_LINK_DETACH},
	{"raw_tracepoint_open", BPF_RAW_TRACEPOINT_OPEN},
};

static const struct name attach_types[] = {
	{"trace_uprobe_multi", UPROBE_MULTI},
	{"trace_uprobe_session", UPROBE_SESSION},
};

static const struct name events[] = {
	{"hardware", PERF_TYPE_HARDWARE},
	{"software", PERF_TYPE_SOFTWARE},
	{"tracepoint", PERF_TYPE_TRACEPOINT},
	{"breakpoint", PERF_TYPE_BREAKPOINT},
};

static bool name_find(const struct name *names, size_t count, const char *name, uint32_t *out)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i].name, name)) {
			*out = names[i].number;
			return true;
		}
	}
	return false;
}

static bool libbpf_find(const char *(*text_of)(uint32_t), const char *name, uint32_t *out)
{
	for (uint32_t i = 0; i < 256; i++) {
		const char *text = text_of(i);

		if (text && !strcmp(text, name)) {
			*out = i;
			return true;
		}
	}
	return false;
}

static const char *program_type(uint32_t type)
{
	return libbpf_bpf_prog_type_str(type);
}

static const char *map_type(uint32_t type)
{
	return libbpf_bpf_map_type_str(type);
}

static const char *attach_type(uint32_t type)
{
	return libbpf_bpf_attach_type_str(type);
}

/* Its number is this kernel's own. */
static bool uprobe_source(uint32_t *number)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	bool found = f && fscanf(f, "%u", number) == 1;

	if (f)
		fclose(f);
	return found;
}

/* NULL: any. A number, or a name of that kind. */
static uint32_t number_of(enum rule_kind kind, const char *text)
{
	char *end;
	uint32_t number = 0;
	bool found = false;

	if (!text || !strcmp(text, "-"))
		return ANY;
	number = (uint32_t)strtoul(text, &end, 0);
	if (*text && !*end)
		return number;
	if (kind == RULE_PROGRAM)
		found = libbpf_find(program_type, text, &number);
	else if (kind == RULE_MAP)
		found = libbpf_find(map_type, text, &number);
	else if (kind == RULE_HELPER)
		found = name_find(helpers, COUNT(helpers), text, &number);
	else if (kind == RULE_CALL)
		found = name_find(calls, COUNT(calls), text, &number);
	else if (kind == RULE_PERF && !strcmp(text, "uprobe"))
		found = uprobe_source(&number);
	else if (kind == RULE_PERF)
		found = name_find(events, COUNT(events), text, &number);
	if (!found)
		die("no %s %s", rule_kinds[kind], text);
	return number;
}

static uint32_t attach_of(const char *text)
{
	char *end;
	uint32_t number;

	if (!text || !strcmp(text, "-"))
		return ANY;
	number = (uint32_t)strtoul(text, &end, 0);
	if ((*text && !*end) || name_find(attach_types, COUNT(attach_types), text, &number) ||
	    libbpf_find(attach_type, text, &number))
		return number;
	die("no attach type %s", text);
}

/* Iterators and kfuncs are functions, tracepoints are types. */
static uint32_t btf_id_of(const char *name)
{
	static const char *const forms[] = {"btf_trace_", "bpf_iter_", ""};
	struct btf *btf = btf__load_vmlinux_btf();
	char form[128];
	int id = -ENOENT;

	for (size_t i = 0; btf && id < 0 && i < COUNT(forms); i++) {
		uint32_t kind = i ? BTF_KIND_FUNC : BTF_KIND_TYPEDEF;

		snprintf(form, sizeof(form), "%s%s", forms[i], name);
		id = btf__find_by_name_kind(btf, form, kind);
	}
	btf__free(btf);
	if (id < 0)
		die("this kernel has no %s", name);
	return (uint32_t)id;
}

static int error_of(const char *name)
{
	for (int error = 1; error < 134; error++) {
		const char *text = strerrorname_np(error);

		if (text && !strcmp(text, name))
			return error;
	}
	die("no error %s", name);
}

static void rule_parse(struct refusals *refusals, const char *text)
{
	struct rule *rule = &refusals->rules[refusals->count];
	char *copy = strdup(text), *rest = NULL, *part[4] = {0}, *error;
	size_t n = 0;

	if (!copy || refusals->count++ == RULES)
		die("too many rules");
	*rule = (struct rule){.text = text, .error = EPERM, .attach = ANY, .btf_id = ANY};
	error = strchr(copy, '=');
	if (error) {
		*error++ = '\0';
		rule->error = error_of(error);
	}
	for (char *p = strtok_r(copy, ":", &rest); p && n < COUNT(part);
	     p = strtok_r(NULL, ":", &rest))
		part[n++] = p;
	while (n && rule->kind < RULE_KINDS && strcmp(rule_kinds[rule->kind], part[0]) != 0)
		rule->kind++;
	if (!n || rule->kind == RULE_KINDS)
		die("%s: what is that?", text);
	if (rule->kind != RULE_SLEEPABLE && !part[1])
		die("%s: of which?", text);
	if (rule->kind == RULE_NAME)
		/* The kernel knows the first fifteen letters. */
		snprintf(rule->name, sizeof(rule->name), "%.*s", BPF_OBJ_NAME_LEN - 1, part[1]);
	else if (rule->kind == RULE_KFUNC)
		rule->type = btf_id_of(part[1]);
	else if (rule->kind != RULE_SLEEPABLE)
		rule->type = number_of(rule->kind, part[1]);
	rule->attach = attach_of(part[2]);
	if (part[3])
		rule->btf_id = btf_id_of(part[3]);
	free(copy);
}

/* ---- what is asked ------------------------------------------------------------------------ */

static bool is(uint32_t wanted, uint32_t value)
{
	return wanted == ANY || wanted == value;
}

static bool rule_is_of_call(const struct rule *rule, uint32_t command, const union bpf_attr *attr)
{
	switch (rule->kind) {
	case RULE_NAME:
		return command == BPF_PROG_LOAD &&
		       !strncmp(rule->name, attr->prog_name, sizeof(rule->name));
	case RULE_PROGRAM:
		return command == BPF_PROG_LOAD && is(rule->type, attr->prog_type) &&
		       is(rule->attach, attr->expected_attach_type) &&
		       is(rule->btf_id, attr->attach_btf_id);
	case RULE_SLEEPABLE:
		return command == BPF_PROG_LOAD && attr->prog_flags & BPF_F_SLEEPABLE;
	case RULE_MAP:
		return command == BPF_MAP_CREATE && is(rule->type, attr->map_type);
	case RULE_CALL:
		return is(rule->type, command) &&
		       (rule->attach == ANY || (command == BPF_LINK_CREATE &&
						rule->attach == attr->link_create.attach_type));
	default:
		return false;
	}
}

/*
 * What a program calls is not for us to refuse: a call that the verifier never comes to, behind a
 * constant that says so, is none. So the calls become ones of nothing, and the kernel judges.
 */
static unsigned spoil_calls(int memory, const union bpf_attr *attr, const struct rule *rule)
{
	uint8_t source = rule->kind == RULE_KFUNC ? BPF_PSEUDO_KFUNC_CALL : 0;
	size_t size = attr->insn_cnt * sizeof(struct bpf_insn);
	struct bpf_insn *insns = malloc(size);
	unsigned found = 0;

	if (!insns || pread(memory, insns, size, (off_t)attr->insns) != (ssize_t)size) {
		free(insns);
		return 0;
	}
	for (uint32_t i = 0; i < attr->insn_cnt; i++) {
		if (insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg != source ||
		    (uint32_t)insns[i].imm != rule->type)
			continue;
		insns[i].imm = rule->kind == RULE_KFUNC ? NO_KFUNC : NO_HELPER;
		insns[i].off = 0;
		found++;
	}
	if (found && pwrite(memory, insns, size, (off_t)attr->insns) != (ssize_t)size)
		die("cannot write a program's instructions: %s", strerror(errno));
	free(insns);
	return found;
}

/* Its arguments: the command's number, where attr is, and how large. */
static int judge_bpf(struct refusals *refusals, int memory, const uint64_t args[6])
{
	union bpf_attr attr = {0};
	size_t size = args[2] < sizeof(attr) ? args[2] : sizeof(attr);

	if (pread(memory, &attr, size, (off_t)args[1]) != (ssize_t)size)
		return 0;
	for (size_t i = 0; i < refusals->count; i++) {
		struct rule *rule = &refusals->rules[i];

		if (rule->kind == RULE_HELPER || rule->kind == RULE_KFUNC) {
			if (args[0] == BPF_PROG_LOAD)
				rule->met += spoil_calls(memory, &attr, rule);
		} else if (rule_is_of_call(rule, (uint32_t)args[0], &attr)) {
			rule->met++;
			return rule->error;
		}
	}
	return 0;
}

static int judge_event(struct refusals *refusals, int memory, const uint64_t args[6])
{
	struct perf_event_attr attr = {0};

	if (pread(memory, &attr, PERF_ATTR_SIZE_VER0, (off_t)args[0]) != PERF_ATTR_SIZE_VER0)
		return 0;
	for (size_t i = 0; i < refusals->count; i++) {
		struct rule *rule = &refusals->rules[i];

		if (rule->kind == RULE_PERF && is(rule->type, attr.type)) {
			rule->met++;
			return rule->error;
		}
	}
	return 0;
}

/* The error that it gets; 0: it goes on. */
static int judge(struct refusals *refusals, const struct seccomp_notif *asked)
{
	uint64_t args[6];
	char path[64];
	int memory, error;

	snprintf(path, sizeof(path), "/proc/%u/mem", asked->pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	/* It has ended meanwhile. */
	if (memory < 0)
		return 0;
	memcpy(args, asked->data.args, sizeof(args));
	error = asked->data.nr == SYS_bpf ? judge_bpf(refusals, memory, args)
					  : judge_event(refusals, memory, args);
	close(memory);
	return error;
}

/* ---- being asked -------------------------------------------------------------------------- */

static int filter_install(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {COUNT(code), code};

	if (geteuid())
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &filter);
}

union descriptor_message {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static int descriptor_send(int to, int fd)
{
	union descriptor_message control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(to, &message, 0) == 1 ? 0 : -1;
}

static int descriptor_take(int from)
{
	union descriptor_message control = {0};
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	int fd = -1;

	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

__attribute__((noreturn)) static void become(char *const *command, int socket)
{
	int listener = filter_install();

	if (listener < 0 || descriptor_send(socket, listener)) {
		perror("refuse: seccomp");
		_exit(126);
	}
	close(listener);
	execvp(command[0], command);
	fprintf(stderr, "refuse: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

static void tick(int number)
{
	(void)number;
}

/* Answers until all whom the filter holds for have ended. */
static void answer(struct refusals *refusals, int listener)
{
	/* Who asks may be killed between poll() and the ioctl, which then waits for the next. */
	const struct sigaction interrupt = {.sa_handler = tick};
	const struct itimerval often = {{0, TICK_US}, {0, TICK_US}};
	/* The kernel may write more than these headers know of. */
	union {
		struct seccomp_notif asked;
		char room[4096];
	} in;
	union {
		struct seccomp_notif_resp answer;
		char room[4096];
	} out;
	struct pollfd wait = {.fd = listener, .events = POLLIN};

	sigaction(SIGALRM, &interrupt, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (;;) {
		if (poll(&wait, 1, -1) < 0)
			continue;
		if (!(wait.revents & POLLIN))
			return;
		memset(&in, 0, sizeof(in));
		memset(&out, 0, sizeof(out));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in))
			continue;
		out.answer.id = in.asked.id;
		out.answer.error = -judge(refusals, &in.asked);
		out.answer.flags = out.answer.error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
	}
}

static pid_t command_pid;

static void pass_on(int number)
{
	kill(command_pid, number);
}

/* Who sends this process a signal means COMMAND. */
static void pass_signals_on(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
	const struct sigaction pass = {.sa_handler = pass_on};

	for (size_t i = 0; i < COUNT(numbers); i++)
		sigaction(numbers[i], &pass, NULL);
}

int main(int argc, char **argv)
{
	struct refusals refusals = {.count = 0};
	int pair[2], first = 1, listener, status = 0;

	for (; first < argc && strcmp(argv[first], "--") != 0; first++)
		rule_parse(&refusals, argv[first]);
	if (first + 1 >= argc)
		die("usage: refuse RULE... -- COMMAND...");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair: %s", strerror(errno));
	command_pid = fork();
	if (command_pid < 0)
		die("fork: %s", strerror(errno));
	if (!command_pid) {
		/* Of a refuse that is killed nothing goes on. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		become(argv + first + 1, pair[1]);
	}
	close(pair[1]);
	pass_signals_on();
	listener = descriptor_take(pair[0]);
	if (listener >= 0)
		answer(&refusals, listener);
	while (waitpid(command_pid, &status, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < refusals.count; i++)
		fprintf(stderr, "refuse: %s: %u times\n", refusals.rules[i].text,
			refusals.rules[i].met);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
