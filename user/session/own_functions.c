// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/own_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "user/base/log.h"
#include "user/session/session_config.h"
#include "user/target/allocator.h"
#include "user/trace/trace.h"

/* While further reports follow, this many failed calls in a row are taken for all. */
#define CALLS_JUDGED 100

typedef int (*own_parse_fn)(const char *text, struct alloc_fn *fn);

/* How the user has named it. */
struct own_name {
	const char *option, *text;
	bool told; /* that all its calls have failed */
};

struct own_functions {
	struct alloc_fn *items; /* `count` of both */
	struct own_name *names;
	size_t count;
	bool missing_told; /* which of them are nowhere */
};

static int own_functions_add(struct own_functions *own, const char *option,
			     const struct string_list *texts, own_parse_fn parse)
{
	for (size_t i = 0; i < texts->count; i++) {
		struct alloc_fn *fn = &own->items[own->count];
		int err = parse(texts->items[i], fn);

		if (err)
			return err;
		if (own->count < ALLOC_OWN_MAX)
			fn->own = (uint8_t)(own->count + 1);
		own->names[own->count++] =
			(struct own_name){.option = option, .text = texts->items[i]};
	}
	return 0;
}

int own_functions_new(const struct trace_config *config, struct own_functions **out)
{
	size_t count = config->alloc_fns.count + config->realloc_fns.count + config->free_fns.count;
	struct own_functions *own = calloc(1, sizeof(*own));
	int err;

	if (!own)
		return -ENOMEM;
	own->items = calloc(count + 1, sizeof(*own->items));
	own->names = calloc(count + 1, sizeof(*own->names));
	err = own->items && own->names ? 0 : -ENOMEM;
	err = err ?: own_functions_add(own, "--alloc-fn", &config->alloc_fns, alloc_fn_parse_alloc);
	err = err
		      ?: own_functions_add(own, "--realloc-fn", &config->realloc_fns,
					   alloc_fn_parse_realloc);
	err = err ?: own_functions_add(own, "--free-fn", &config->free_fns, alloc_fn_parse_free);
	if (err) {
		own_functions_free(own);
		return err;
	}
	*out = own;
	return 0;
}

void own_functions_free(struct own_functions *own)
{
	if (!own)
		return;
	for (size_t i = 0; i < own->count; i++)
		alloc_fn_release(&own->items[i]);
	free(own->items);
	free(own->names);
	free(own);
}

const struct alloc_fn *own_functions_items(const struct own_functions *own, size_t *count)
{
	*count = own->count;
	return own->items;
}

/*
 * Libraries may come late, but most are there by the first report: functions found nowhere are
 * typing errors.
 */
static void own_functions_tell_missing(struct own_functions *own, const struct trace *trace)
{
	uint64_t found = trace_own_functions(trace);

	if (own->missing_told)
		return;
	own->missing_told = true;
	for (size_t i = 0; i < own->count && i < ALLOC_OWN_MAX; i++) {
		if (found & 1ULL << i)
			continue;
		log_warn("%s %s: nothing that is mapped so far defines a function of that name, so "
			 "no call of it is traced; `nm -C` of the program or library shows how it "
			 "is called there",
			 own->names[i].option, own->names[i].text);
	}
}

static void own_functions_tell_failed(const struct own_name *name, const struct alloc_fn *fn,
				      const struct own_calls *calls)
{
	if (fn->op == OP_ALLOC_OUT)
		log_warn("%s %s: all %" PRIu64
			 " calls so far have failed, the last with the result "
			 "%d, so none of its blocks is counted; if that result means success, say "
			 "so "
			 "with :ok=%d",
			 name->option, name->text, calls->calls, (int)calls->result,
			 (int)calls->result);
	else
		log_warn("%s %s: all %" PRIu64
			 " calls so far have failed, the last with the result "
			 "%" PRId64 ", so none of its blocks is counted; if that means success and "
			 "the block is stored through argument N, say so with :out=N:ok=%d",
			 name->option, name->text, calls->calls, calls->result, (int)calls->result);
}

void own_functions_tell(struct own_functions *own, const struct trace *trace, bool final)
{
	own_functions_tell_missing(own, trace);
	for (size_t i = 0; i < own->count && i < ALLOC_OWN_MAX; i++) {
		struct own_calls calls = trace_own_calls(trace, i);

		if (own->names[i].told || calls.failed < (final ? 1 : CALLS_JUDGED) ||
		    calls.failed != calls.calls)
			continue;
		own->names[i].told = true;
		own_functions_tell_failed(&own->names[i], &own->items[i], &calls);
	}
}
