// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/base/util.h"
#include "user/kernel/privilege.h"

#if defined(__x86_64__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#endif

/* LeakSanitizer stops our own threads by ptrace(2) at the end. */
#if defined(__SANITIZE_ADDRESS__)
#define CONFINE_SANITIZER true
#else
#define CONFINE_SANITIZER false
#endif

#define X32_BIT 0x40000000u /* asm/unistd.h: a call of x86-64's other ABI */

#define FILTER_MAX 256

struct confine_filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

static void confine_put(struct confine_filter *f, struct sock_filter instruction)
{
	if (f->len < FILTER_MAX)
		f->code[f->len++] = instruction;
}

#define PUT(...) confine_put(f, (struct sock_filter)__VA_ARGS__)
#define LOAD(member) \
	PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, member)))
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

static void confine_begin(struct confine_filter *f)
{
	LOAD(arch);
	PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CONFINE_ARCH, 1, 0));
	PUT(BPF_STMT(BPF_RET | BPF_K, REFUSE));
	LOAD(nr);
	PUT(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
	PUT(BPF_STMT(BPF_RET | BPF_K, REFUSE));
}

static void confine_on(struct confine_filter *f, long number, unsigned action)
{
	PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
	PUT(BPF_STMT(BPF_RET | BPF_K, action));
}

static int confine_install(struct confine_filter *f, unsigned otherwise, unsigned flags)
{
	struct sock_fprog program = {.filter = f->code};

	PUT(BPF_STMT(BPF_RET | BPF_K, otherwise));
	program.len = f->len;
	if (f->len == FILTER_MAX)
		return -E2BIG;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) ? -errno : 0;
}

/* fsopen() and fsmount() stay: a bpffs of our own is mounted nowhere (link_bin.h). */
static const long confine_refused[] = {
	SYS_execve,
	SYS_execveat,
	SYS_mount,
	SYS_move_mount,
	SYS_open_tree,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_unshare,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_syslog,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_mknodat,
	SYS_linkat,
	SYS_fchownat,
	SYS_fchown,
	SYS_personality,
	SYS_vhangup,
#if defined(__x86_64__)
	SYS_iopl,
	SYS_ioperm,
	SYS_modify_ldt,
	SYS_mknod,
	SYS_link,
	SYS_chown,
	SYS_lchown,
	SYS_symlink,
#endif
	SYS_symlinkat,
};

int confine_tool(const struct confine_needs *needs)
{
	struct confine_filter filter = {.len = 0}, *f = &filter;

	confine_begin(f);
	for (size_t i = 0; i < ARRAY_SIZE(confine_refused); i++)
		confine_on(f, confine_refused[i], REFUSE);
	/* We write to a stopped process when we make it fork (user/freeze/forkcopy.c). */
	if (!needs->ptrace)
		confine_on(f, SYS_process_vm_writev, REFUSE);
	if (!needs->ptrace && !CONFINE_SANITIZER)
		confine_on(f, SYS_ptrace, REFUSE);
	if (!needs->network) {
		PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3));
		LOAD(args[0]);
		PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0));
		PUT(BPF_STMT(BPF_RET | BPF_K, REFUSE));
	}
	return confine_install(f, SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_TSYNC);
}

/* For memory, for reading and writing open files, and for one's own end. */
static const long confine_allowed[] = {
	SYS_read,	 SYS_write,	    SYS_pread64,	SYS_ppoll,
	SYS_mmap,	 SYS_munmap,	    SYS_mremap,		SYS_mprotect,
	SYS_madvise,	 SYS_brk,	    SYS_futex,		SYS_exit,
	SYS_exit_group,	 SYS_rt_sigreturn,  SYS_rt_sigprocmask, SYS_rt_sigaction,
	SYS_getpid,	 SYS_gettid,	    SYS_tgkill,		SYS_close,
	SYS_sched_yield, SYS_clock_gettime, SYS_getrandom,	SYS_restart_syscall,
	SYS_lseek,	 SYS_newfstatat,    SYS_fstat,		SYS_sigaltstack,
#if defined(__x86_64__)
	SYS_poll,
#endif
};

static int confine_to(const long *more, size_t count)
{
	struct confine_filter filter = {.len = 0}, *f = &filter;
	int err = privilege_drop_thread();

	if (err)
		return err;
	confine_begin(f);
	for (size_t i = 0; i < ARRAY_SIZE(confine_allowed); i++)
		confine_on(f, confine_allowed[i], SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < count; i++)
		confine_on(f, more[i], SECCOMP_RET_ALLOW);
	return confine_install(f, REFUSE, 0);
}

int confine_reader(void)
{
	return confine_to(NULL, 0);
}

int confine_server(void)
{
	static const long more[] = {
		SYS_accept4,
		SYS_recvfrom,
		SYS_sendto,
		SYS_sendmsg,
		SYS_shutdown,
		SYS_getsockname,
		SYS_getpeername,
		SYS_setsockopt,
		SYS_getsockopt,
		SYS_fcntl,
		SYS_epoll_ctl,
		SYS_epoll_pwait,
		SYS_uname, /* gethostname() */
		SYS_writev,
#if defined(__x86_64__)
		SYS_epoll_wait,
#endif
	};

	return confine_to(more, ARRAY_SIZE(more));
}
