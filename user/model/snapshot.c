// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/text.h"

struct cause {
	const char *name;
	const char *text;
};

static const struct cause causes[] = {
	[LOST_LIVE_FULL] = {"live_map_full",
			    "allocations not recorded: the table of live blocks was full; raise "
			    "--max-live, or record fewer with -z or -s"},
	[LOST_STACKS_FULL] =
		{"stack_table_full",
		 "allocations counted without their stack, or without an interpreter's "
		 "functions in it: too many different stacks; raise --max-stacks, or "
		 "lower --depth"},
	[LOST_FRAMES] = {"stack_frames",
			 "new stacks whose frames did not reach the tool in time; their bytes are "
			 "counted; give the tool more CPU, or lower --depth"},
	[LOST_THREADS_FULL] = {"thread_table_full",
			       "allocations not recorded: too many threads at once; record fewer "
			       "with -z or -s, or trace fewer processes"},
	[LOST_PENDING] =
		{"pending_call",
		 "allocations not recorded: the return was seen without its call (attached "
		 "in mid-call, or the thread switched stacks); a few are normal"},
	[LOST_MISSED_FREE] =
		{"missed_free",
		 "frees that were not seen: the address was handed out again; name the "
		 "function that frees with --free-fn if this goes on"},
	[LOST_OUT_POINTER] =
		{"out_pointer",
		 "allocations not recorded: the pointer that the allocator stored could "
		 "not be read; nothing to do if there are few"},
	[LOST_EVENTS] = {"process_events",
			 "fork, exec or exit events that did not reach the tool in time: children "
			 "may be missing; give the tool more CPU, or --no-follow"},
	[LOST_TARGETS_FULL] = {"target_table_full",
			       "child processes not followed: too many processes at once; trace "
			       "fewer, or --no-follow"},
	[LOST_BAD_FREES] = {"bad_free_table_full",
			    "bad frees not listed: too many different ones; mend those that are"},
	[LOST_PARTIAL_UNMAP] =
		{"partial_unmap",
		 "munmap calls that leave both ends of a mapping, or are of more than can be "
		 "looked through: live bytes are too high by what they unmapped; leave --mmap "
		 "out"},
	[LOST_RECURSION] =
		{"recursion_misses",
		 "fork, exec, exit or mmap events that the kernel did not hand over (bpftool prog: "
		 "recursion_misses): children may be missing, or names wrong after an exec; trace "
		 "what is missing with -p"},
	[LOST_LATE_PROBES] =
		{"late_probes",
		 "allocators, or processes in the program's memory (clone(CLONE_VM)), that got "
		 "their "
		 "probes only when they could have been at work already, or never: allocations "
		 "may be missing; start the program itself under the tool (memleakbpf -- "
		 "PROGRAM), or see --gate"},
	[LOST_SHORT_CHILDREN] =
		{"short_children",
		 "child processes that ended before they could be attached to: nothing of them is "
		 "counted; give the tool more CPU, and see --children for how they can wait for "
		 "it"},
	[LOST_REMOVED_PROBES] = {"removed_probes", "libraries whose probes the kernel has taken "
						   "out, as the process's main thread has "
						   "ended and another tracer came and went: what "
						   "it allocates and frees is not seen any "
						   "more; attach anew (memleakbpf -p PID)"},
	[LOST_GATE_FULL] = {"gate_full", "samples not recorded: too many of them are live for the "
					 "gate to know them; sample less often (-s)"},
	[LOST_KEPT_FULL] = {"kept_full",
			    "samples not recorded: so many of the process are live already as "
			    "--keep-live allows; raise that, or sample less often (-s)"},
	[LOST_PYTHON] =
		{"python_frames",
		 "allocations whose Python functions could not be followed: their stacks have "
		 "C functions only"},
	[LOST_JAVA] =
		{"java_frames",
		 "allocations with frames of Java's that could not be followed, and frames whose "
		 "method could not be read in time: they have no name"},
	[LOST_V8] = {"v8_frames",
		     "allocations with frames of JavaScript's that could not be followed, and "
		     "functions whose script could not be read in time: they have no line"},
	[LOST_RUBY] = {"ruby_frames",
		       "allocations whose Ruby frames could not be followed: their stacks have C "
		       "functions only"},
	[LOST_PHP] = {"php_frames",
		      "allocations whose PHP frames could not be followed: their stacks have C "
		      "functions only"},
	[LOST_PERL] = {"perl_frames",
		       "allocations whose Perl frames could not be followed: their stacks have C "
		       "functions only"},
	[LOST_SCOPES] = {"scope_calls",
			 "calls of --scope functions that were not followed, as too many were open "
			 "one in the other (16), or there were too many threads or tags: what they "
			 "kept is counted to the call around them; name fewer functions"},
};
_Static_assert(sizeof(causes) / sizeof(causes[0]) == LOST_CAUSES, "a text for every cause");

static const char *const end_names[] = {
	[STACK_END_COMPLETE] = "complete",     [STACK_END_TRUNCATED] = "truncated",
	[STACK_END_NO_ROWS] = "no_rows",       [STACK_END_NO_MAPPING] = "no_mapping",
	[STACK_END_READ_FAULT] = "read_fault", [STACK_END_BAD_CFA] = "bad_cfa",
	[STACK_END_BAD_PC] = "bad_pc",	       [STACK_END_UNSUPPORTED] = "unsupported",
};
_Static_assert(sizeof(end_names) / sizeof(end_names[0]) == STACK_ENDS, "a name for every end");

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	text_list_free(snapshot->cmdline);
	free(snapshot->maps);
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		free(snapshot->stacks[i].held_by);
		free(snapshot->stacks[i].contents);
	}
	free(snapshot->growth.where);
	free(snapshot->bad_frees);
	free(snapshot->bad_accesses);
	scopes_list_release(&snapshot->scopes);
	free(snapshot->figures);
	free(snapshot->stacks);
	free(snapshot);
}

void snapshot_to_peak(struct snapshot *s)
{
	uint64_t later = s->time_ns > s->peak.captured_ns ? s->time_ns - s->peak.captured_ns : 0;

	if (!s->figures_kept.peak || !s->peak.captured_ns)
		return;
	for (size_t i = 0; i < s->stack_count; i++) {
		struct stack *stack = &s->stacks[i];
		struct stack was = {.id = stack->id,
				    .truncated = stack->truncated,
				    .end = stack->end,
				    .frames = stack->frames,
				    .frame_count = stack->frame_count,
				    .index = stack->index,
				    .figures = stack->figures};

		was.error_bytes = stack->figures->at_peak_error;
		was.live = was.alloc = was.older = stack->figures->at_peak;
		free(stack->held_by);
		free(stack->contents);
		*stack = was;
		*stack->figures = (struct stack_figures){.at_peak = was.live,
							 .at_peak_error = was.error_bytes,
							 .peak_bytes = stack->figures->peak_bytes};
	}
	/* Which scope a stack is in is known still. */
	s->scoped = false;
	s->figures_kept = (struct figures_kept){.peak = true};
	s->time_ns = s->peak.captured_ns;
	s->elapsed_ns -= later < s->elapsed_ns ? later : s->elapsed_ns;
	s->interval_ns = 0;
	s->final = s->exited = s->execed = false;
	s->verdict = (struct verdict){0};
	s->memory = (struct memory_use){0};
	s->arenas = (struct amount){0};
	s->growth.untraced = 0;
	snapshot_total(s);
}

int snapshot_add_figures(struct snapshot *s)
{
	s->figures = calloc(s->stack_count ? s->stack_count : 1, sizeof(*s->figures));
	if (!s->figures)
		return -ENOMEM;
	for (size_t i = 0; i < s->stack_count; i++)
		s->stacks[i].figures = &s->figures[i];
	return 0;
}

void snapshot_total(struct snapshot *snapshot)
{
	snapshot->live = snapshot->alloc = snapshot->free = (struct amount){0};
	for (size_t i = 0; i < snapshot->stack_count; i++)
		snapshot_count(snapshot, &snapshot->stacks[i]);
}

/* Both tables may be asked with a number from a recording of a newer version. */
const char *lost_cause_name(enum lost_cause cause)
{
	return (unsigned)cause < LOST_CAUSES ? causes[cause].name : "unknown";
}

const char *lost_cause_text(enum lost_cause cause)
{
	return (unsigned)cause < LOST_CAUSES ? causes[cause].text : "of a cause unknown here";
}

const char *stack_end_name(enum stack_end end)
{
	return (unsigned)end < STACK_ENDS ? end_names[end] : "unknown";
}

void snapshot_ends(const struct snapshot *s, struct stack_ends *out)
{
	*out = (struct stack_ends){0};
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *stack = &s->stacks[i];
		size_t end =
			stack->id && (unsigned)stack->end < STACK_ENDS ? stack->end : STACK_ENDS;

		out->stacks[end]++;
		out->allocs[end] += stack->alloc.count;
	}
}

const char *snapshot_end_name(size_t index)
{
	return index < STACK_ENDS ? end_names[index] : "not_recorded";
}

const char *attached_by_name(uint64_t attached)
{
	static const char *const names[ATTACHED_BY_KINDS] = {
		[ATTACHED_BY_SESSION] = "session", [ATTACHED_BY_MULTI] = "multi",
		[ATTACHED_BY_SINGLE] = "single",   [ATTACHED_BY_USDT] = "usdt",
		[ATTACHED_BY_GATE] = "gate",	   [ATTACHED_BY_GATE_AND_PROBES] = "gate+probes",
	};

	return attached < ATTACHED_BY_KINDS ? names[attached] : NULL;
}
