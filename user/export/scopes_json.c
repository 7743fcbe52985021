// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/util.h"
#include "user/export/json_parts.h"
#include "user/export/scopes_shown.h"

static void json_put_times(struct json *to, const struct scope *scope)
{
	json_array(to, "time_histogram");
	for (size_t i = 0; i < SCOPE_TIMES; i++) {
		if (!scope->times[i])
			continue;
		json_object(to, NULL);
		json_number(to, "ns", 1ull << i);
		json_number(to, "calls", scope->times[i]);
		json_end(to);
	}
	json_end(to);
}

static void json_put_kept_calls(struct json *to, const struct scope *scope)
{
	json_array(to, "kept_per_call");
	for (size_t i = 0; i < scope->kept_count; i++) {
		const struct scope_kept *kept = &scope->kept_calls[i];

		json_object(to, NULL);
		json_number(to, "bytes", kept->bytes);
		if (kept->bytes_max != kept->bytes)
			json_number(to, "bytes_max", kept->bytes_max);
		json_number(to, "calls", kept->calls);
		json_end(to);
	}
	json_end(to);
}

static void json_put_estimate(struct json *to, const struct snapshot *s, const char *key,
			      const struct amount *amount, double error)
{
	json_object(to, key);
	json_put_amount_members(to, amount);
	json_put_error(to, s->sample_bytes, error);
	json_end(to);
}

static void json_put_scope(struct json *to, const struct snapshot *s, const struct scope *scope)
{
	json_object(to, NULL);
	json_text(to, "function", scope->function);
	json_text(to, "tag", scope->tag);
	if (scope->tags)
		json_number(to, "distinct_tags", scope->tags);
	json_number(to, "calls", scope->calls);
	json_number(to, "open", scope->open);
	json_number(to, "left_without_return", scope->left);
	json_object(to, "time_ns");
	json_number(to, "calls", scope->timed);
	json_number(to, "sum", scope->time_ns);
	json_number(to, "max", scope->time_max_ns);
	json_end(to);
	json_put_times(to, scope);
	json_put_amount(to, "alloc", &scope->alloc);
	json_put_amount(to, "free", &scope->freed);
	json_put_estimate(to, s, "kept", &scope->kept, scope->kept_error);
	json_put_estimate(to, s, "live", &scope->live, scope->live_error);
	json_object(to, "exclusive");
	json_put_amount(to, "alloc", &scope->own_alloc);
	json_put_amount(to, "kept", &scope->own_kept);
	json_put_amount(to, "live", &scope->own_live);
	json_end(to);
	/* A sample says nothing of one call. */
	if (!s->sample_bytes)
		json_put_kept_calls(to, scope);
	json_end(to);
}

void json_put_scopes(struct json *to, const struct report *r)
{
	const struct snapshot *s = r->snapshot;
	_cleanup_free_ const struct scope **ranked = scopes_ranked(s);

	if (!s->scoped)
		return;
	json_array(to, "scopes");
	for (size_t i = 0; ranked && i < s->scopes.count; i++)
		json_put_scope(to, s, ranked[i]);
	json_end(to);
}
