// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/lost_causes.h"

#include "user/model/loss_room.h"

struct cause {
	const char *name;
	const char *text;
};

#define LOST_OF_INTERPRETER(constant, key, language)                                             \
	[LOST_##constant] = {#key "_frames", "allocations whose " language                       \
					     " frames could not be followed: their stacks have " \
					     "C functions only"},

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
		 "munmap calls that leave both ends of a mapping, or that are too large to look "
		 "through: live bytes are too high by what they unmapped; leave --mmap out"},
	[LOST_RECURSION] =
		{"recursion_misses",
		 "fork, exec, exit or mmap events that the kernel did not hand over (bpftool prog: "
		 "recursion_misses): children may be missing, and names may be wrong after an "
		 "exec; trace missing processes with -p"},
	[LOST_LATE_PROBES] =
		{"late_probes",
		 "allocators that may have been used before their probes came, and processes in "
		 "the program's memory (clone(CLONE_VM)) likewise: allocations may be missing; "
		 "start the program itself under the tool (memleakbpf -- PROGRAM), or see "
		 "--gate"},
	[LOST_SHORT_CHILDREN] =
		{"short_children",
		 "child processes that ended before they could be attached to: nothing of them is "
		 "counted; give the tool more CPU, and see --children for how they can wait for "
		 "it"},
	[LOST_REMOVED_PROBES] =
		{"removed_probes",
		 "libraries whose probes the kernel has taken out, since the main thread has "
		 "ended and another tracer came and went: their allocations and frees are not "
		 "seen any more; attach anew (memleakbpf -p PID)"},
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
	RUNTIME_INTERPRETERS(LOST_OF_INTERPRETER)[LOST_SCOPES] =
		{"scope_calls",
		 "calls of --scope functions that were not followed (more than 16 open one in "
		 "the other, or too many threads or tags): what they kept counts for the call "
		 "around them; name fewer functions"},
};
_Static_assert(sizeof(causes) / sizeof(causes[0]) == LOST_CAUSES, "a text for every cause");
_Static_assert(LOST_CAUSES <= LOSSES_ROOM, "room for every cause");

/* The table may be asked with a number from a recording of a newer version. */
const char *lost_cause_name(enum lost_cause cause)
{
	return (unsigned)cause < LOST_CAUSES ? causes[cause].name : "unknown";
}

const char *lost_cause_text(enum lost_cause cause)
{
	return (unsigned)cause < LOST_CAUSES ? causes[cause].text : "of a cause unknown here";
}
