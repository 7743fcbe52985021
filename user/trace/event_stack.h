/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel tells of a stack that it has met first. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_EVENT_STACK_H
#define MEMLEAKBPF_TRACE_EVENT_STACK_H

struct stack_copy_event;
struct stack_event;
struct trace;

/* Enters the stack in the table, with its frames' places, and the functions that runtimes have there. */
void event_handle_stack(struct trace *trace, const struct stack_event *event);
/* Finishes a walk that ended at code without tables, and enters its stack. */
void event_handle_stack_copy(struct trace *trace, const struct stack_copy_event *copy);

#endif
