// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/perl/perl_rows.h"

#include "user/base/util.h"
#include "user/runtime/perl/perl_names.h"
#include "user/runtime/perl/target_perl.h"
#include "user/runtime/runtime_rows.h"

static int perl_rows_enter(struct runtimes *runtimes, struct runtime_target *target,
			   struct interpreter_state *state, char reason[static REASON_MAX])
{
	struct target_perl *perl = (struct target_perl *)state;
	struct perl_row row;
	int err = perl_find(state->object, &perl->runtime, reason);

	state->version = perl->runtime.version;
	if (err)
		return err;
	state->exec = perl->runtime.exec;
	state->exec_end = perl->runtime.exec_end;
	row = perl->runtime.row;
	row.key += state->bias;
	return runtime_rows_enter(runtimes, target, RUNTIME_PERL, &row, reason);
}

static void perl_look(struct runtimes *runtimes, struct runtime_target *target)
{
	static const struct interpreter_kind kind = {
		.language = &perl_ops,
		.size = sizeof(struct target_perl),
		.by_libc = true,
		.enter = perl_rows_enter,
	};

	interpreter_look(runtimes, target, &kind);
}

static void perl_event(struct runtimes *runtimes, struct runtime_target *target,
		       enum runtime_event_kind kind, const struct event_header *header)
{
	(void)kind;
	perl_names_add(runtimes, target, (const void *)header);
}

static bool perl_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		       const uint64_t *frames, struct stack_draft *draft)
{
	(void)frames;
	return interpreter_weave(runtimes, target, RUNTIME_PERL, perl_names_frame, hash, draft);
}

static bool perl_doctor(const struct image *image, struct object *object, enum runtime runtime,
			char text[static RUNTIME_DOCTOR_TEXT])
{
	char reason[REASON_MAX] = "";
	struct perl_runtime perl;
	int err;

	if (runtime != RUNTIME_PERL)
		return false;
	err = perl_find(object, &perl, reason);
	err = err ?: interpreter_check_libc(image, reason);
	interpreter_doctor(text, perl_ops.name, perl.version, "subroutines", err, reason);
	return true;
}

static void perl_free(struct runtimes *runtimes, void *state)
{
	(void)runtimes;
	interpreter_free(state);
}

static const char *const perl_reasons[] = {
	[PERL_UNREADABLE] = "what a context leads to is in no memory",
	[PERL_NO_CODE] = "what a context runs is no subroutine",
	[PERL_NO_NAME] = "a subroutine's name is none",
};

const struct runtime_ops perl_ops = {
	.runtime = RUNTIME_PERL,
	.name = "Perl",
	.mark = "perl_construct",
	.failures = {perl_reasons, ARRAY_SIZE(perl_reasons), .apart = true},
	.look = perl_look,
	.event = perl_event,
	.weave = perl_weave,
	.doctor = perl_doctor,
	.free = perl_free,
};
