/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace: the loaded BPF programs, the targets they follow, and the way from the kernel's counters
 * to snapshots. One thread uses it.
 */
#ifndef MEMLEAKBPF_TRACE_TRACE_H
#define MEMLEAKBPF_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/trace/trace_options.h"

struct misuse;
struct frame;
struct guard_figures;
struct heap_image;
struct mapping;
struct memory_image;
struct memory_thread;
struct missing_parts;
struct object_cache;
struct snapshot;
struct stack;
struct stack_ages;
struct symbolizer;
struct thread_variable;
struct target;
struct trace;

/* What the trace tells its user, from inside trace_process(). */
struct trace_callbacks {
	void *ctx;
	/* Probes are in place. */
	void (*attached)(void *ctx, struct target *target);
	/*
	 * The target is about to end and is held meanwhile; its exit handlers have run, its threads
	 * and its memory are there. With hold_at_end, where the end is by _exit (as exit and the
	 * return of main are), and it could be held in time. callbacks.ended follows.
	 */
	void (*leaving)(void *ctx, struct target *target);
	/*
	 * The target has ended, or has become another program by exec. Its counters are still
	 * there: take the last snapshot now.
	 */
	void (*ended)(void *ctx, struct target *target);
	/*
	 * A target has ended, or was there at trace_tell_untraced(), in which no allocator was
	 * found after an exec: nothing of it was counted. NULL: nobody wants to know.
	 */
	void (*untraced)(void *ctx, struct target *target);
};

/*
 * Loads the programs. Errors are logged with what to do about them. The options' strings must
 * outlive the trace.
 */
int trace_new(const struct trace_options *options, const struct trace_callbacks *callbacks,
	      struct trace **out);

/* From now on signals are somebody else's: options.starting. NULL is fine. */
void trace_started(struct trace *trace);

/* What the targets ask for that most do not. */
struct trace_needs {
	/*
	 * The main thread of one of the first targets has ended before the others. The kernel puts
	 * probes into such a process only for CAP_SYS_ADMIN.
	 */
	bool keepers;
	/*
	 * A gate or guards are to come into a process whose system calls a seccomp filter watches.
	 * A tool that has such a filter itself may neither suspend that filter nor read it.
	 */
	bool suspend_filters;
	/* Files are made where the user is, while it runs (caller_file_create_new()). */
	bool new_files;
};

/*
 * Gives up the capabilities and system calls that watching does not need. To be called before the
 * first target is added, whose files are a stranger's. Targets, children, libraries and programs
 * can still be followed. Not for a process that will start commands, or another trace with other
 * needs.
 */
void trace_drop_privileges(struct trace *trace, const struct trace_needs *targets);

/* Detaches everything; takes milliseconds to seconds by the attach mode. NULL is fine. */
void trace_free(struct trace *trace);

/*
 * Starts tracing a running process; returns when its probes are in place (and the callback has been
 * called). Errors are logged: -ESRCH, -ENOENT when it has no allocator that could be found, …
 */
int trace_add_process(struct trace *trace, pid_t pid);

/*
 * Prepares a process that has not called execve yet and will. Probes go onto the given objects, so
 * the new program is traced from its first instruction. The target that the process becomes is
 * announced when it has called execve.
 */
int trace_add_launched(struct trace *trace, pid_t pid, char *const *paths, size_t path_count);

/*
 * Stops tracing a target: its probes come off, its blocks and stacks are forgotten, and it is
 * freed, without a call of callbacks.ended. Not from inside a callback.
 */
void trace_remove_target(struct trace *trace, struct target *target);

/*
 * Targets that are added from now on get a gate, or do not (with gate_later). 0, or -errno with the
 * reason why there can be none: then nothing changes.
 */
int trace_set_gate(struct trace *trace, bool wanted, char reason[static REASON_MAX]);

/*
 * Can a target that has probes have a gate instead? 0, or -errno with the reason, as far as that is
 * known before the probes are given up. The target may be refused a gate even so.
 */
int trace_gate_suits(const struct trace *trace, const struct target *target,
		     char reason[static REASON_MAX]);

/*
 * With sample_levels: gates draw samples by 2^level times sample_bytes from now on, GATE_LEVEL_MAX (user/gate/stub_layout.h) at
 * most. Each sample counts by the mean that it was drawn with, so sums stay without bias; snapshot.sample_bytes is that
 * of level 0.
 */
void trace_set_level(struct trace *trace, unsigned level);

/* With sample_levels: samples of all targets so far. */
uint64_t trace_samples(const struct trace *trace);

/* trace_fd() is readable when there have been so many; once. Not in UINT64_MAX. */
void trace_alarm_at(struct trace *trace, uint64_t samples);

/* Why the last trace_add_process() failed, with gate_or_none; "" where that has been logged. */
const char *trace_refusal(const struct trace *trace);

/* The last trace_add_process() failed for want of an allocator: the process is a Go program without C code. */
bool trace_refused_go(const struct trace *trace);

/* What the kernel has refused, and is done without: it has been said. The trace's own. */
const struct missing_parts *trace_missing(const struct trace *trace);

/* Readable when trace_process() has something to do. */
int trace_fd(const struct trace *trace);

/* Takes in what the kernel has sent; calls the callbacks. Never blocks. */
int trace_process(struct trace *trace);

/* What is said of a Go program in which nothing can be traced; takes the PID. */
#define TRACE_GO_TEXT                                                                       \
	"a Go program without C code has a heap of Go's own, and no malloc: nothing of it " \
	"is traced; memleakbpf inspect -p %d says where its memory is, memleakbpf survey "  \
	"how it grows, and its own net/http/pprof who allocates"

/* The same, where there is room for the reason alone. */
#define TRACE_GO_REASON "it is a Go program without C code, whose heap is Go's own"

/* Targets that have not ended. */
size_t trace_target_count(const struct trace *trace);

/* Calls fn for each target that has not ended. fn must not add or end targets. */
void trace_for_each_target(struct trace *trace, void (*fn)(void *ctx, struct target *target),
			   void *ctx);

/* The one of that process; NULL: none, or it has ended. */
struct target *trace_find_target(const struct trace *trace, pid_t pid);

/*
 * Calls callbacks.untraced for those, once each, whose program has run for `min_ns`
 * (CLOCK_MONOTONIC): a younger one may not have loaded its allocator yet.
 */
void trace_tell_untraced(struct trace *trace, uint64_t min_ns);

uint32_t target_number(const struct target *target); /* snapshot.target_id of its snapshots */
pid_t target_pid(const struct target *target);
const char *target_comm(const struct target *target);
/* It maps Go's runtime, whose heap is its own: that of cgo's C code is malloc's. */
bool target_is_go(const struct target *target);
/* Its allocations are what it tells by USDT probes. */
bool target_tells(const struct target *target);
/* callbacks.attached has been called: what it allocates is counted. */
bool target_is_traced(const struct target *target);
/* Amid callbacks.ended: it has become another program. */
bool target_is_replaced(const struct target *target);
/* With gate_or_none: why it is not traced, or one of its allocators is not; "": no reason is known. */
const char *target_refusal(const struct target *target);
/* The build id of its program; 0: it has none. Lives as long as the target. */
size_t target_build_id(const struct target *target, const uint8_t **id);
/* With sample_levels: how many samples there have been of it, and how many of their blocks are live. */
struct target_samples {
	uint64_t all, live;
	uint64_t live_bytes; /* that these stand for, at the last trace_sum_live() */
	double error_bytes;  /* the standard error of that */
};
/* Sums up live bytes and bad accesses of all targets; a millisecond. */
void trace_sum_live(struct trace *trace);
/* The same of one, also amid callbacks.ended; as long. */
void trace_sum_live_of(struct trace *trace, struct target *target);
/* With options.guard: how a target's guards stand, and what they had shown at the last trace_sum_live(). */
void trace_read_guards(struct trace *trace, struct target *target, struct guard_figures *out);
/*
 * And each of what they have shown until now, as a snapshot has it, the frames of the first `named` as trace_name_stack()
 * has them. 0, and *list to be freed; or -ENOMEM.
 */
int trace_read_bad_accesses(struct trace *trace, struct target *target, size_t named,
			    struct misuse **list, size_t *count);
struct target_samples trace_target_samples(const struct trace *trace, const struct target *target);
/* A place for the user of the trace to keep something per target. */
void **target_user_data(struct target *target);

/*
 * A JVM is asked to write a perf map, by which what it has compiled is named. For before trace_snapshot(), while the
 * target runs. Failures are logged, once. It takes milliseconds, and at most four seconds.
 */
void trace_ask_runtime(struct trace *trace, struct target *target);

/* Copies the counters of one target. 0 and *out (snapshot_free), or -errno, logged. */
int trace_snapshot(struct trace *trace, struct target *target, struct snapshot **out);

/*
 * Fills in snapshot->memory, ->growth and ->heaps:
 * - how much memory the target has, but for its proportional size
 * - by how much that has grown beside its live blocks
 * - which heaps of it are not traced
 *
 * What cannot be read is left out. Of a target that has ended only what the kernel told at its end
 * is known (Linux 6.16 and newer).
 *
 * Takes 40 us. Where the growth matters each GiB of new memory takes some milliseconds more, and at
 * most a twentieth of the time (user/growth/growth.h). To be called right after each
 * trace_snapshot(). trace_capture() calls it itself.
 */
void trace_read_memory(struct trace *trace, struct target *target, struct snapshot *snapshot);

/* What else is to be read of the moment in which a target stands still. */
struct trace_moment {
	void *ctx;
	/*
	 * It stands still; it may be asked a second time, of a later moment. 0, or -errno with the reason: then
	 * nothing is copied.
	 */
	int (*stopped)(void *ctx, char reason[static REASON_MAX]);
};

/*
 * Stops the target for a moment. Copies its counters, and all that reachability needs, of that
 * moment. After `max_pause_ns` the rest is read while the target runs, and the snapshot's verdict
 * is approximate. `moment`: NULL, nothing else is read.
 *
 * 0 and *out, or -errno, logged. If it cannot be done (ptrace is refused, the target has ended, no
 * memory …) there is a snapshot all the same. Then its verdict has the reason, and *image is NULL.
 */
int trace_capture(struct trace *trace, struct target *target, uint64_t max_pause_ns,
		  const struct trace_moment *moment, struct snapshot **out,
		  struct heap_image **image);

/*
 * How old the live blocks of a stack are (user/blocks/block_ages.h), which is one of the target's last
 * snapshot. Takes some 100 ns for each live block of any target. 0, or -errno, not logged: then nothing
 * is known.
 */
int trace_stack_ages(struct trace *trace, const struct snapshot *snapshot,
		     const struct stack *stack, struct stack_ages *out);

/* What it knows of targets' files, and of the names in them. The trace's own. */
struct object_cache *trace_objects(struct trace *trace);
struct symbolizer *trace_symbolizer(struct trace *trace);

/*
 * Which of the functions that the user has named (providers.custom) some object of a target has
 * defined so far: bit i of the first 64.
 */
uint64_t trace_own_functions(const struct trace *trace);

/* The calls of the function custom[i] of them, by all targets. All zero without such a row. */
struct own_calls {
	uint64_t calls;	 /* that have returned */
	uint64_t failed; /* of them: gave no block */
	int64_t result;	 /* of the last one that failed */
};
struct own_calls trace_own_calls(const struct trace *trace, size_t i);

/*
 * The frames of a stack, by stack.id, of a target, by snapshot.target_id. 0; *frames stays as it is
 * where they are not known, or no longer; or -ENOMEM. They live as long as the trace.
 */
int trace_name_stack(struct trace *trace, uint32_t target_id, uint64_t stack_id,
		     const struct frame *const **frames, size_t *count);

/*
 * The variable at an address of the target's static data, `file` being a mapping of its object.
 * *name is NULL where it has no symbol; then, and else, *vaddr is the link-time address, which `nm`
 * shows. Lives as long as the trace. 0, -ENOENT: the object cannot be read; or -ENOMEM.
 */
int trace_name_data(struct trace *trace, struct target *target, const struct mapping *file,
		    uint64_t address, const char **name, uint64_t *offset, uint64_t *vaddr);

/*
 * Finds the function in whose frame an address of a thread's stack lies. Goes by the registers and
 * the stack of the moment of the image.
 *
 * - 0 and *out, which lives as long as the trace
 * - -ERANGE: the address lies above the thread's first frame
 * - -ENOENT: the walk up the stack does not get there, or there are no tables for it (--stack fp)
 * - -ENOMEM
 */
int trace_name_frame(struct trace *trace, struct target *target, const struct memory_image *memory,
		     const struct memory_thread *thread, uint64_t address,
		     const struct frame **out);

/* A process may have any number of threads and of libraries: no more time than that, for all questions together. */
struct trace_tls_time {
	uint64_t left_ns;
	bool over; /* nothing is looked for any more */
};

/*
 * The thread-local variable that an address of the image belongs to; its strings live as long as the
 * trace. 0; -ENOENT: none that is known, also when the time is over, which is said once
 * of a target; -ENOMEM.
 */
int trace_name_tls(struct trace *trace, struct target *target, const struct memory_image *memory,
		   struct trace_tls_time *time, uint64_t address, struct thread_variable *out);

#endif
