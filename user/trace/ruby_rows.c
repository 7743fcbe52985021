// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/ruby/ruby_rows.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/freeze/tls.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/skeleton.h"
#include "user/runtime/ruby/target_ruby.h"

static void ruby_rows_end(struct trace *trace, struct target *target)
{
	target_ruby_free(target->ruby);
	target->ruby = NULL;
	ruby_rows_drop(trace, target->id);
}

/* The number of the object's thread-local variables. */
static int ruby_find_module(struct target_ruby *ruby, struct ruby_row *row,
			    char reason[static REASON_MAX])
{
	struct tls_layout tls;

	if (tls_layout_read(ruby->mapped.object, &tls))
		return refuse(reason, -ENOTSUP, "it has no thread-local variables");
	if (tls.module.known)
		row->module_slot = ruby->mapped.bias + tls.module.vaddr;
	else if (!tls.distance.known)
		row->module = 1; /* a program's own */
	else
		return refuse(reason, -ENOTSUP,
			      "where it has its thread-local variables is not known");
	return 0;
}

static int ruby_rows_enter(struct trace *trace, const struct runtime_language *language,
			   struct target *target, char reason[static REASON_MAX])
{
	struct target_ruby *ruby = target->ruby;
	struct ruby_row row;
	int err = ruby_find(ruby->mapped.object, &ruby->runtime, reason);

	ruby->mapped.version = ruby->runtime.version;
	row = ruby->runtime.row;
	row.code = ruby->mapped.start;
	row.code_end = ruby->mapped.end;
	row.symbols += row.symbols ? ruby->mapped.bias : 0;
	err = err ?: ruby_find_module(ruby, &row, reason);
	if (err)
		return err;
	return runtime_rows_enter(trace, target, language, &ruby->mapped,
				  trace->skel->maps.ruby_rows, &row, reason);
}

static struct runtime_mapped *ruby_rows_begin(struct target *target)
{
	target->ruby = calloc(1, sizeof(*target->ruby));
	return target->ruby ? &target->ruby->mapped : NULL;
}

static const struct runtime_language ruby_language = {
	.runtime = RUNTIME_RUBY,
	.name = "Ruby",
	.flag = TARGET_RUBY,
	.by_libc = true,
	.begin = ruby_rows_begin,
	.enter = ruby_rows_enter,
	.end = ruby_rows_end,
};

void ruby_rows_look(struct trace *trace, struct target *target)
{
	runtime_rows_look(trace, target, &ruby_language,
			  target->ruby ? &target->ruby->mapped : NULL);
}

void ruby_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.ruby_rows), &target_id);
}

void ruby_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[RUBY_UNREADABLE] = "what a frame leads to is in no memory",
		[RUBY_NO_CODE] = "what a frame runs is neither code nor a method",
		[RUBY_ELSEWHERE] = "a frame's instruction is not in its code",
		[RUBY_NO_STACK] = "the thread's frames are not on its stack",
	};

	runtime_rows_left_out(trace, ruby_language.name, event, reasons, ARRAY_SIZE(reasons));
}
