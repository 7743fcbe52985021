// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_target.h"

#include <stdlib.h>

#include <bpf/bpf.h>

#include "user/base/log.h"
#include "user/runtime/runtime_ops.h"
#include "user/runtime/runtime_rows.h"

struct runtimes *runtimes_new(const struct runtime_host *host)
{
	struct runtimes *runtimes = calloc(1, sizeof(*runtimes));

	if (runtimes)
		runtimes->host = *host;
	return runtimes;
}

void runtimes_free(struct runtimes *runtimes)
{
	free(runtimes);
}

/* ---- what a target maps ---------------------------------------------------------------------- */

/* Says once of each runtime in the target's image that nobody follows its frames, if so. */
static void runtimes_say_not_followed(const struct runtimes *runtimes,
				      struct runtime_target *target)
{
	const struct runtime_host *host = &runtimes->host;

	for (size_t i = 0; i < image_range_count(target->image); i++) {
		struct object *object = image_range_at(target->image, i)->object;
		const struct runtime_object *known =
			object ? host->object(host->ctx, object, true) : NULL;
		const char *language, *instead;

		if (!known || target->not_followed & 1u << known->runtime)
			continue;
		language = runtime_not_followed(known->runtime, &instead);
		if (!language)
			continue;
		target->not_followed |= 1u << known->runtime;
		log_info("process %d (%s): no frames of %s (%s): %s", target->pid, target->comm,
			 language, object_name(object), instead);
	}
}

void runtimes_look(struct runtimes *runtimes, struct runtime_target *target)
{
	for (size_t i = 0; i < runtime_language_count; i++)
		runtime_languages[i]->look(runtimes, target);
	runtimes_say_not_followed(runtimes, target);
	pool_rows_look(runtimes, target);
}

/* ---- what the programs send ------------------------------------------------------------------ */

static void runtimes_take_chain(struct runtimes *runtimes, struct runtime_target *target,
				const struct runtime_ops *language,
				const struct runtime_chain_event *event)
{
	if (language->chain && target->states[language->runtime])
		language->chain(runtimes, target, event);
	runtime_chains_add(&target->chains, event);
}

void runtimes_event(struct runtimes *runtimes, struct runtime_target *target,
		    const struct event_header *header)
{
	const struct runtime_ops *language = runtime_language(header->type >> 8 & 0xff);
	enum runtime_event_kind kind = header->type >> 16 & 0xff;

	if (!language)
		return;
	switch (kind) {
	case RUNTIME_CHAIN:
		runtimes_take_chain(runtimes, target, language, (const void *)header);
		break;
	case RUNTIME_FAILED:
		if (language->failed)
			language->failed(target, (const void *)header);
		else
			runtime_rows_failed(target, language, (const void *)header);
		break;
	default:
		if (language->event)
			language->event(runtimes, target, kind, header);
		break;
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool runtimes_are_none(const struct runtime_hashes *hashes)
{
	for (size_t i = 0; i < RUNTIMES_FOLLOWED; i++) {
		if (hashes->of[i])
			return false;
	}
	return true;
}

bool runtimes_weave(struct runtimes *runtimes, struct runtime_target *target,
		    const struct runtime_hashes *hashes, const uint64_t *frames,
		    struct stack_draft *draft)
{
	bool woven = false;

	for (size_t i = 0; i < runtime_language_count; i++) {
		const struct runtime_ops *language = runtime_languages[i];

		if (language->unwoven && target->states[language->runtime] &&
		    !hashes->of[language->runtime])
			language->unwoven(runtimes, target, draft);
	}
	if (runtimes_are_none(hashes))
		return false;
	for (size_t i = 0; i < runtime_language_count; i++) {
		uint64_t hash = hashes->of[runtime_languages[i]->runtime];

		woven |= runtime_languages[i]->weave(runtimes, target, hash, frames, draft);
	}
	for (size_t i = 0; i < RUNTIMES_FOLLOWED; i++)
		runtime_chains_drop(&target->chains, hashes->of[i]);
	stack_draft_limit(draft, runtimes->host.max_frames);
	return woven;
}

/* ---- its end --------------------------------------------------------------------------------- */

void runtime_target_add_lost(const struct runtime_target *target, uint64_t lost[LOST_CAUSES])
{
	for (size_t i = 0; i < runtime_language_count; i++) {
		const struct runtime_ops *language = runtime_languages[i];

		if (language->add_lost && target->states[language->runtime])
			language->add_lost(target->states[language->runtime], lost);
	}
}

void runtimes_drop(struct runtimes *runtimes, uint32_t target_id)
{
	for (size_t i = 0; i < runtime_language_count; i++)
		bpf_map_delete_elem(runtimes->host.rows[runtime_languages[i]->runtime], &target_id);
	pool_rows_drop(runtimes, target_id);
}

void runtime_target_clear(struct runtimes *runtimes, struct runtime_target *target)
{
	for (size_t i = 0; i < runtime_language_count; i++) {
		const struct runtime_ops *language = runtime_languages[i];

		if (target->states[language->runtime])
			language->free(runtimes, target->states[language->runtime]);
		target->states[language->runtime] = NULL;
	}
	runtime_chains_clear(&target->chains);
}
