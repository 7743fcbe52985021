/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that the BPF programs touch, kept by hand so that the build needs no BTF of the build machine. Only the members used
 * are listed: preserve_access_index makes libbpf relocate each access to where the running kernel has the member (CO-RE).
 * A member missing in some kernels is asked for with bpf_core_field_exists() before it is read.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* uapi/linux/bpf.h */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};

/* Flags of ring buffers. */
enum {
	BPF_RB_NO_WAKEUP = 1,
};
enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
};
/* Of a map's value: the kernel knows it by this name. */
struct bpf_task_work {
	__u64 __opaque;
} __attribute__((aligned(8)));
enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

/* Its values differ from kernel to kernel. */
enum cgroup_subsys_id {
	memory_cgrp_id = 0,
};

/* The user registers at a uprobe: the context of the probe programs, a layout of the user ABI, so not relocated. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
};
#else
#error "no register layout for this architecture"
#endif

/* The context of programs of perf events, of the user ABI as well. */
struct bpf_perf_event_data {
#if defined(__TARGET_ARCH_x86)
	struct pt_regs regs;
#else
	struct user_pt_regs regs;
#endif
	__u64 sample_period;
	__u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct xol_area {
	unsigned long vaddr; /* of the uretprobe trampoline as well */
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
};

/* Argument of the tracepoint vm_unmapped_area. */
struct vm_unmapped_area_info {
	unsigned long length;
};

/* The parts of a counter are per CPU; `counters` is not a pointer but an offset into each CPU's area. */
struct percpu_counter {
	__s64 count;
	__s32 *counters;
};

/* enum of linux/mm_types_task.h */
enum {
	MM_FILEPAGES = 0,
	MM_ANONPAGES,
	MM_SWAPENTS,
	MM_SHMEMPAGES,
	NR_MM_COUNTERS,
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	struct percpu_counter rss_stat[NR_MM_COUNTERS];
};

/* Before 6.2. */
struct mm_rss_stat {
	struct {
		long counter;
	} count[NR_MM_COUNTERS];
};

struct mm_struct___before_6_2 {
	struct mm_rss_stat rss_stat;
};

struct cred {
	struct {
		__u32 val;
	} uid, euid;
};

struct signal_struct {
	atomic_t live;
	int group_exit_code, nr_threads;
	unsigned int flags;
	unsigned long maxrss;
};

#if defined(__TARGET_ARCH_x86)
union fpregs_state {
	__u8 __padding[4096];
};

struct fpstate {
	unsigned int size;
	union fpregs_state regs;
};

struct fpu {
	struct fpstate *fpstate;
};

struct thread_struct {
	unsigned long fsbase, gsbase;
};
#else
struct user_fpsimd_state {
	__uint128_t vregs[32];
};

struct thread_struct {
	struct {
		unsigned long tp_value;
		struct user_fpsimd_state fpsimd_state;
	} uw;
};

/* What the kernel has behind the user registers. */
struct pt_regs___whole {
	int syscallno;
};
#endif

/* A call with a return probe. */
struct return_instance {
	unsigned long
		stack; /* x86: where its return address was; else: the stack pointer at its entry */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct seccomp {
	int mode;
	atomic_t filter_count;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

/* Of each controller, by enum cgroup_subsys_id. */
struct css_set {
	struct cgroup_subsys_state *subsys[1];
};

struct task_struct {
	struct css_set *cgroups;
	struct seccomp seccomp;
	struct sched_entity se;
	int pid, tgid, on_cpu;
	unsigned int __state, flags;
	unsigned long nvcsw, nivcsw;
	struct thread_struct thread;
	unsigned long jobctl;
	char comm[16];
	__u64 start_boottime;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	const struct cred *cred;
	struct signal_struct *signal;
	struct task_struct *group_leader, *real_parent, *parent;
	unsigned int ptrace;
	int exit_code, exit_signal;
};

/* since 6.9, with that the tracepoint has the task, and before its thread id */
struct kernel_siginfo {
	int si_signo;
	int si_errno;
	int si_code;
};

struct trace_event_raw_mark_victim {
	unsigned int uid;
};

struct linux_binprm {
	int argc;
};

struct kmem_cache {
	unsigned int size, object_size;
	const char *name;
};

struct bpf_map {
	__u32 id;
};

struct bpf_array {
	void *pptrs[1];
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
};

struct bpf_iter__bpf_map_elem {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct bpf_map *map;
	};
	union {
		void *key;
	};
	union {
		void *value;
	};
};

struct bpf_iter__task {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct task_struct *task;
	};
};

#pragma clang attribute pop

#endif
