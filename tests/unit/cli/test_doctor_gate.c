// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What `doctor` finds about the gate: here, and in processes that may do less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unprivileged.h"
#include "user/base/util.h"
#include "user/cli/doctor_gate.h"

static const struct machine usual = {.ptrace_scope = MACHINE_UNKNOWN,
				     .selinux_enforcing = MACHINE_UNKNOWN};

static void need_gate(void)
{
	struct doctor_gate gate;

	doctor_gate_read(&usual, false, &gate);
	if (gate.have)
		return;
	print_message("%s\n", getuid() ? "needs root" : gate.why);
	skip();
}

static bool noted(const struct doctor_gate *gate, const char *word)
{
	for (size_t i = 0; i < DOCTOR_GATE_NOTES && gate->notes[i]; i++) {
		if (strstr(gate->notes[i], word))
			return true;
	}
	return false;
}

static void test_here(void **state)
{
	struct machine selinux = usual;
	struct doctor_gate gate;
	char text[160];
	double us;

	(void)state;
	need_gate();
	doctor_gate_read(&usual, false, &gate);
	assert_string_equal(gate.why, "");
	assert_null(gate.remedy);
	assert_false(noted(&gate, "SELinux"));
	doctor_gate_text(&gate, text, sizeof(text));
	assert_int_equal(strncmp(text, gate.nop.name, strlen(gate.nop.name)), 0);
	assert_non_null(strstr(text, gate.nop.optimised ? ", optimised by" : ", emulated by"));
	assert_int_equal(sscanf(strrchr(text, ',') + 1, " %lf us a hit", &us), 1);
	assert_true(us > 0.02 && us < 1000);
	selinux.selinux_enforcing = 1;
	doctor_gate_read(&selinux, false, &gate);
	assert_true(gate.have);
	assert_true(noted(&gate, "SELinux"));
}

static bool says_why(void)
{
	struct doctor_gate gate;

	doctor_gate_read(&usual, false, &gate);
	return !gate.have && gate.why[0] && !gate.notes[0];
}

static void test_no_rights(void **state)
{
	(void)state;
	assert_true(unprivileged(says_why));
}

/* Runs check() in a child under a filter in which that call fails with EPERM. */
static void under_filter(long refused, int (*check)(void))
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)refused, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_SIZE(filter), filter};
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(100);
		_exit(check());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A filter of our own: that of others is not to be suspended. */
static int check_filtered(void)
{
	struct doctor_gate gate;

	doctor_gate_read(&usual, false, &gate);
	return gate.have && noted(&gate, "seccomp") ? 0 : 1;
}

static void test_filtered(void **state)
{
	(void)state;
	need_gate();
	under_filter(SYS_acct, check_filtered);
}

static int check_no_ptrace(void)
{
	struct machine yama = usual;
	struct doctor_gate gate;

	doctor_gate_read(&usual, false, &gate);
	if (gate.have || !strstr(gate.why, "ptrace") || strstr(gate.why, "yama") || !gate.remedy)
		return 1;
	yama.ptrace_scope = 3;
	doctor_gate_read(&yama, false, &gate);
	return !gate.have && strstr(gate.why, "yama.ptrace_scope is 3") ? 0 : 2;
}

static void test_no_ptrace(void **state)
{
	(void)state;
	need_gate();
	under_filter(SYS_ptrace, check_no_ptrace);
}

static int check_no_memfd(void)
{
	struct doctor_gate gate;

	doctor_gate_read(&usual, false, &gate);
	return !gate.have && strstr(gate.why, "memfd: Operation not permitted") ? 0 : 1;
}

static void test_no_memfd(void **state)
{
	(void)state;
	need_gate();
	under_filter(SYS_memfd_create, check_no_memfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_here),	 cmocka_unit_test(test_no_rights),
		cmocka_unit_test(test_filtered), cmocka_unit_test(test_no_ptrace),
		cmocka_unit_test(test_no_memfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
