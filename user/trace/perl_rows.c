// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/perl/perl_rows.h"

#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/util.h"
#include "user/trace/runtime_rows.h"
#include "user/trace/skeleton.h"
#include "user/runtime/perl/target_perl.h"

static void perl_rows_end(struct trace *trace, struct target *target)
{
	target_perl_free(target->perl);
	target->perl = NULL;
	perl_rows_drop(trace, target->id);
}

static int perl_rows_enter(struct trace *trace, const struct runtime_language *language,
			   struct target *target, char reason[static REASON_MAX])
{
	struct target_perl *perl = target->perl;
	struct perl_row row;
	int err = perl_find(perl->mapped.object, &perl->runtime, reason);

	perl->mapped.version = perl->runtime.version;
	if (err)
		return err;
	row = perl->runtime.row;
	row.key += perl->mapped.bias;
	return runtime_rows_enter(trace, target, language, &perl->mapped,
				  trace->skel->maps.perl_rows, &row, reason);
}

static struct runtime_mapped *perl_rows_begin(struct target *target)
{
	target->perl = calloc(1, sizeof(*target->perl));
	return target->perl ? &target->perl->mapped : NULL;
}

static const struct runtime_language perl_language = {
	.runtime = RUNTIME_PERL,
	.name = "Perl",
	.flag = TARGET_PERL,
	.by_libc = true,
	.begin = perl_rows_begin,
	.enter = perl_rows_enter,
	.end = perl_rows_end,
};

void perl_rows_look(struct trace *trace, struct target *target)
{
	runtime_rows_look(trace, target, &perl_language,
			  target->perl ? &target->perl->mapped : NULL);
}

void perl_rows_drop(struct trace *trace, uint32_t target_id)
{
	bpf_map_delete_elem(bpf_map__fd(trace->skel->maps.perl_rows), &target_id);
}

void perl_rows_failed(const struct trace *trace, const struct runtime_failed_event *event)
{
	static const char *const reasons[] = {
		[PERL_UNREADABLE] = "what a context leads to is in no memory",
		[PERL_NO_CODE] = "what a context runs is no subroutine",
		[PERL_NO_NAME] = "a subroutine's name is none",
	};

	runtime_rows_left_out(trace, perl_language.name, event, reasons, ARRAY_SIZE(reasons));
}
