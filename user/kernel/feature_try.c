// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Small programs given to the kernel as instructions: they need no file, no BTF and no loader.
 * Those on uprobes sit on a function of our own and add their cookie to a counter. The counter is
 * then compared with the calls that were made.
 */
#include "user/kernel/feature_try.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "user/base/util.h"
#include "user/process/maps.h"
#include "user/kernel/link_bin.h"
#include "user/kernel/unkillable.h"
#include "user/kernel/uprobe.h"

/*
 * Newer than Debian 12's headers. The values are the kernel's user API (enum bpf_attach_type in
 * linux/bpf.h), where numbers never change. The trials show that they mean what they should.
 */
#define TRACE_UPROBE_MULTI   48
#define TRACE_UPROBE_SESSION 57

#define COOKIE 0x10001 /* added up once per hit */

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)})
#define MOV_REG(d, s)	  INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)	  INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)	  INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define LOAD64(d, s, o)	  INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE64(d, s, o)  INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE32I(d, o, i) INSN(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
#define ADD64(d, s, o)	  INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD)
#define LOAD_MAP(d, fd) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)
#define CALL(helper)	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define JUMP_ZERO(d, o) INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, 0)
#define EXIT		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int feature_failed(const char **step, const char *what)
{
	*step = what;
	return errno ? -errno : -EIO;
}

/* libbpf's own messages about these trials are of no use here. */
static int be_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int feature_load(enum bpf_prog_type type, const struct bpf_insn *insns, size_t count,
			uint32_t attach_type, int btf_id)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach_type,
		    .attach_btf_id = (uint32_t)btf_id);

	return bpf_prog_load(type, "feature", "Dual BSD/GPL", insns, count, &opts);
}

/* A program that does nothing. */
static int load_empty(enum bpf_prog_type type, uint32_t attach_type, int btf_id)
{
	const struct bpf_insn insns[] = {MOV_IMM(BPF_REG_0, 0), EXIT};

	return feature_load(type, insns, ARRAY_SIZE(insns), attach_type, btf_id);
}

int feature_try_btf(const char **step)
{
	*step = "reading /sys/kernel/btf/vmlinux";
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

int feature_try_bpf(const char **step)
{
	_cleanup_close_ int fd = load_empty(BPF_PROG_TYPE_KPROBE, 0, 0);

	return fd < 0 ? feature_failed(step, "loading a BPF program") : 0;
}

int feature_try_ringbuf(const char **step)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "feature", 0, 0,
						(uint32_t)sysconf(_SC_PAGESIZE), NULL);

	return fd < 0 ? feature_failed(step, "creating a ring buffer") : 0;
}

int feature_try_uprobe_sleeps(const char **step)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	const struct bpf_insn insns[] = {MOV_IMM(BPF_REG_0, 0), EXIT};
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "feature", "Dual BSD/GPL",
					       insns, ARRAY_SIZE(insns), &opts);

	return fd < 0 ? feature_failed(step, "loading a BPF program that may wait") : 0;
}

/*
 * Loads a tracing program on the kernel's function or tracepoint of that name. Returns its
 * descriptor.
 */
static int load_tracing(const char *name, uint32_t attach_type, const char **step)
{
	libbpf_print_fn_t print = libbpf_set_print(be_silent);
	int fd;
	int id = libbpf_find_vmlinux_btf_id(name, (enum bpf_attach_type)attach_type);

	libbpf_set_print(print);
	*step = "finding it in the kernel's BTF";
	if (id < 0)
		return id;
	fd = load_empty(BPF_PROG_TYPE_TRACING, attach_type, id);
	return fd < 0 ? feature_failed(step, "loading a BPF program") : fd;
}

static int try_tracing(const char *name, uint32_t attach_type, const char **step)
{
	_cleanup_close_ int fd = load_tracing(name, attach_type, step);

	return fd < 0 ? fd : 0;
}

int feature_try_thread_iterator(const char **step)
{
	union bpf_iter_link_info info = {.task.pid = (uint32_t)getpid()};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &info, .iter_info_len = sizeof(info));
	_cleanup_close_ int link = -1, fd = load_tracing("task", BPF_TRACE_ITER, step);

	if (fd < 0)
		return fd;
	/* Older kernels do not know the field for the process, and refuse unknown fields. */
	link = bpf_link_create(fd, 0, BPF_TRACE_ITER, &opts);
	return link < 0 ? feature_failed(step, "attaching it to one process") : 0;
}

int feature_try_task_events(const char **step)
{
	return try_tracing("sched_process_exit", BPF_TRACE_RAW_TP, step);
}

/* Does the verifier know the helper? A call of it needs a callback, which needs BTF of its own. */
static int try_helper(enum bpf_func_id helper, const char **step)
{
	libbpf_print_fn_t print;
	int known, err = feature_try_bpf(step);

	/* libbpf takes any refusal for a yes that does not name the helper. */
	if (err)
		return err;
	print = libbpf_set_print(be_silent);
	known = libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, helper, NULL);

	libbpf_set_print(print);
	*step = "loading a BPF program that calls it";
	return known > 0 ? 0 : known < 0 ? known : -EINVAL;
}

int feature_try_find_vma(const char **step)
{
	return try_helper(BPF_FUNC_find_vma, step);
}

int feature_try_loop(const char **step)
{
	return try_helper(BPF_FUNC_loop, step);
}

/*
 * A program that the verifier lets pass is also translated: the kernel has none of such programs
 * without that.
 */
int feature_try_tail_call(const char **step)
{
	_cleanup_close_ int map = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "feature",
						 sizeof(uint32_t), sizeof(uint32_t), 1, NULL);
	_cleanup_close_ int fd = -1;
	const struct bpf_insn insns[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 7), /* the last two */
		MOV_REG(BPF_REG_1, BPF_REG_6),
		LOAD_MAP(BPF_REG_2, map),
		MOV_IMM(BPF_REG_3, 0),
		CALL(BPF_FUNC_tail_call),
		MOV_IMM(BPF_REG_0, 0),
		EXIT,
		MOV_IMM(BPF_REG_0, 0),
		EXIT,
	};

	if (map < 0)
		return feature_failed(step, "creating an array of programs");
	fd = feature_load(BPF_PROG_TYPE_KPROBE, insns, ARRAY_SIZE(insns), 0, 0);
	return fd < 0 ? feature_failed(step, "loading a BPF program that goes on in another one")
		      : 0;
}

/* A call as it should be: newer kernels say of what they refuse nothing that libbpf 1.1 would know. */
int feature_try_read_kernel(const char **step)
{
	const struct bpf_insn insns[] = {
		MOV_REG(BPF_REG_1, BPF_REG_10),
		ADD_IMM(BPF_REG_1, -8),
		MOV_IMM(BPF_REG_2, 8),
		MOV_IMM(BPF_REG_3, 0),
		CALL(BPF_FUNC_probe_read_kernel),
		MOV_IMM(BPF_REG_0, 0),
		EXIT,
	};
	_cleanup_close_ int fd = feature_load(BPF_PROG_TYPE_KPROBE, insns, ARRAY_SIZE(insns), 0, 0);

	return fd < 0 ? feature_failed(step,
				       "loading a BPF program that copies the kernel's memory")
		      : 0;
}

int feature_try_task_storage(const char **step)
{
	return try_helper(BPF_FUNC_task_storage_get, step);
}

/* Strings end with a 0, the one before it too. */
static bool try_has_string(const char *text, size_t size, const char *name)
{
	size_t length = strlen(name) + 1;
	char wanted[64] = "";

	memcpy(wanted + 1, name, length);
	return memmem(text, size, wanted, length + 1);
}

static int try_read_types(FILE *f, char **text, size_t *size)
{
	size_t room = 0, n = 1;

	for (*size = 0; n; *size += n) {
		if (*size == room) {
			char *grown = realloc(*text, room += 8 << 20);

			if (!grown)
				return -ENOMEM;
			*text = grown;
		}
		n = fread(*text + *size, 1, room - *size, f);
	}
	return 0;
}

/* In their description: the new name counts as lacking where the old one is there as well. */
static bool try_types_have(const char *text, size_t size, const char *name, const char *not_with)
{
	return try_has_string(text, size, name) && !try_has_string(text, size, not_with);
}

/*
 * The description of the kernel's types has the names of what programs may call among its strings.
 * Looked at as it is: to parse it takes ten times as long. 1: the name is among them, and not the
 * other one; 0; or -errno.
 */
static int try_kernel_has(const char *name, const char *not_with)
{
	_cleanup_fclose_ FILE *f = fopen("/sys/kernel/btf/vmlinux", "re");
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	struct stat st;
	char *mapped;
	int has;

	if (!f || fstat(fileno(f), &st))
		return -errno;
	/* Linux 6.16 and newer have it mapped: without 1,500 calls that copy a page each. */
	size = (size_t)st.st_size;
	mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fileno(f), 0);
	if (mapped != MAP_FAILED) {
		has = try_types_have(mapped, size, name, not_with);
		munmap(mapped, size);
		return has;
	}
	has = try_read_types(f, &text, &size);
	return has ?: try_types_have(text, size, name, not_with);
}

/*
 * Kernels from 7.0 on have the name without _impl, with an argument less. They may have the old
 * name with other types, and then refuse a program that names it.
 */
int feature_try_task_work(const char **step)
{
	static const char name[] = "bpf_task_work_schedule_resume_impl";
	int has = feature_try_bpf(step);

	if (has)
		return has;
	has = try_kernel_has(name, "bpf_task_work_schedule_resume");
	*step = has < 0 ? "/sys/kernel/btf/vmlinux" : name;
	return has > 0 ? 0 : has ?: -ENOENT;
}

/* --- Programs on a function of our own -------------------------------------------------------- */

static __attribute__((noinline)) void probed_function(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Finds the function's offset in the file that it was mapped from. */
static int probed_offset(unsigned long *offset, const char **step)
{
	const struct mapping *m;
	struct maps *maps;
	int err = maps_read(getpid(), &maps);

	*step = "reading /proc/self/maps";
	if (err)
		return err;
	m = maps_find(maps, (uintptr_t)probed_function);
	if (m)
		*offset = (unsigned long)(m->offset + (uintptr_t)probed_function - m->start);
	maps_free(maps);
	return m ? 0 : -ENOENT;
}

struct trial {
	int map, program;
	unsigned long offset;
};

static void trial_end(struct trial *t)
{
	if (t->program >= 0)
		close(t->program);
	if (t->map >= 0)
		close(t->map);
}

/* counter[0] += bpf_get_attach_cookie(), or the same number without asking for it. */
static int trial_begin(struct trial *t, uint32_t attach_type, bool cookie, const char **step)
{
	const struct bpf_insn number =
		cookie ? CALL(BPF_FUNC_get_attach_cookie) : MOV_IMM(BPF_REG_0, COOKIE);
	int err;

	*t = (struct trial){.map = -1, .program = -1};
	err = probed_offset(&t->offset, step);
	if (err)
		return err;
	t->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "feature", sizeof(uint32_t), sizeof(uint64_t),
				1, NULL);
	if (t->map < 0)
		return feature_failed(step, "creating a BPF map");
	const struct bpf_insn insns[] = {
		number,
		STORE64(BPF_REG_10, BPF_REG_0, -16),
		STORE32I(BPF_REG_10, -4, 0),
		LOAD_MAP(BPF_REG_1, t->map),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -4),
		CALL(BPF_FUNC_map_lookup_elem),
		JUMP_ZERO(BPF_REG_0, 2),
		LOAD64(BPF_REG_1, BPF_REG_10, -16),
		ADD64(BPF_REG_0, BPF_REG_1, 0),
		MOV_IMM(BPF_REG_0, 0),
		EXIT,
	};
	t->program = feature_load(BPF_PROG_TYPE_KPROBE, insns, ARRAY_SIZE(insns), attach_type, 0);
	return t->program < 0 ? feature_failed(step, "loading a BPF program for it") : 0;
}

static uint64_t trial_hits(const struct trial *t)
{
	uint64_t sum = 0;
	uint32_t key = 0;

	bpf_map_lookup_elem(t->map, &key, &sum);
	return sum % COOKIE ? 0 : sum / COOKIE;
}

/* struct link_create.uprobe_multi of union bpf_attr, kernel >= 6.6. */
static int link_multi(const struct trial *t, uint32_t attach_type, pid_t pid)
{
	uint64_t cookie = COOKIE;
	struct {
		uint32_t program, target, attach_type, flags;
		uint64_t path, offsets, ref_ctr_offsets, cookies;
		uint32_t count, multi_flags, pid, pad;
	} attr = {
		.program = (uint32_t)t->program,
		.attach_type = attach_type,
		.path = (uintptr_t) "/proc/self/exe",
		.offsets = (uintptr_t)&t->offset,
		.cookies = (uintptr_t)&cookie,
		.count = 1,
		.pid = (uint32_t)pid,
	};

	return (int)unkillable_syscall(SYS_bpf, BPF_LINK_CREATE, (long)&attr, sizeof(attr), 0, 0);
}

static void *call_probed(void *arg)
{
	probed_function();
	return arg;
}

/* Calls the function once here and once in another thread. */
static int call_in_two_threads(const char **step)
{
	pthread_t thread;
	int err;

	probed_function();
	err = pthread_create(&thread, NULL, call_probed, NULL);
	*step = "creating a thread";
	if (err)
		return -err;
	pthread_join(thread, NULL);
	return 0;
}

/* Drops the link without waiting, if that can be helped: there is a trial at every start. */
static void trial_drop_link(int link)
{
	int bin = link < 0 ? -1 : link_bin_new();

	link_bin_drop(bin, link);
	if (bin >= 0)
		close(bin);
}

static int try_multi(uint32_t attach_type, pid_t pid, uint64_t hits, const char **step)
{
	struct trial t;
	int err = trial_begin(&t, attach_type, true, step), link = -1;
	uint64_t seen;

	if (err)
		goto out;
	link = link_multi(&t, attach_type, pid);
	if (link < 0) {
		errno = -link;
		err = feature_failed(step, "attaching it");
		goto out;
	}
	err = call_in_two_threads(step);
	seen = trial_hits(&t);
	/*
	 * Without a filter the program also sees calls of another tool that makes its trials just
	 * then.
	 */
	if (!err && (pid ? seen != hits : seen < hits)) {
		*step = pid ? "it misses calls of other threads (a defect of kernels 6.6 to 6.9)"
			    : "it does not see every call";
		err = -ENODATA;
	}
out:
	trial_drop_link(link);
	trial_end(&t);
	return err;
}

int feature_try_uprobe_multi(const char **step)
{
	return try_multi(TRACE_UPROBE_MULTI, 0, 2, step);
}

int feature_try_uprobe_multi_pid(const char **step)
{
	return try_multi(TRACE_UPROBE_MULTI, getpid(), 2, step);
}

/* Entry and return of both calls. */
int feature_try_uprobe_session(const char **step)
{
	return try_multi(TRACE_UPROBE_SESSION, getpid(), 4, step);
}

static int try_single(bool cookie, const char **step)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = COOKIE);
	struct trial t;
	int err = trial_begin(&t, 0, cookie, step), link = -1, event = -1;

	if (err)
		goto out;
	event = uprobe_open("/proc/self/exe", t.offset, false, getpid());
	if (event < 0) {
		errno = -event;
		err = feature_failed(step, "creating a uprobe");
		goto out;
	}
	if (cookie)
		link = bpf_link_create(t.program, event, BPF_PERF_EVENT, &opts);
	if (cookie ? link < 0 : ioctl(event, PERF_EVENT_IOC_SET_BPF, t.program)) {
		err = feature_failed(step, cookie ? "attaching with a cookie" : "attaching");
		goto out;
	}
	err = call_in_two_threads(step);
	if (!err && trial_hits(&t) != 2) {
		*step = "it does not see every call";
		err = -ENODATA;
	}
out:
	unkillable_close(link);
	unkillable_close(event);
	trial_end(&t);
	return err;
}

int feature_try_uprobe(const char **step)
{
	return try_single(false, step);
}

int feature_try_uprobe_cookie(const char **step)
{
	return try_single(true, step);
}
