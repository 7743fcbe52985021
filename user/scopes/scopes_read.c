// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/base/fnv.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/model/amount.h"
#include "user/model/scope_sums.h"
#include "user/model/snapshot.h"
#include "user/stacks/sampling.h"
#include "user/scopes/scopes.h"
#include "user/scopes/scopes_internal.h"
#include "user/stacks/slots.h"
#include "user/stacks/stacks.h"

_Static_assert(SCOPE_TIMES == SCOPE_BUCKETS, "one of the model for each of the kernel side's");

/* A character of a tag may take three bytes more than it did. */
#define TAG_TEXT_MAX (4 * SCOPE_TAG_BYTES)

/* NULL: it has none. */
static const char *scopes_tag_text(char to[static TAG_TEXT_MAX], const struct scope_tag *tag)
{
	size_t len;

	switch (tag->type) {
	case SCOPE_IS_UNTAGGED:
		return NULL;
	case SCOPE_IS_SIGNED:
		snprintf(to, TAG_TEXT_MAX, "%" PRId64, (int64_t)tag->number);
		break;
	case SCOPE_IS_UNSIGNED:
		snprintf(to, TAG_TEXT_MAX, "%" PRIu64, tag->number);
		break;
	case SCOPE_IS_HEX:
		snprintf(to, TAG_TEXT_MAX, "0x%" PRIx64, tag->number);
		break;
	case SCOPE_IS_STRING:
		len = strnlen(tag->text, sizeof(tag->text));
		text_copy(to, TAG_TEXT_MAX - sizeof("..."), tag->text, len, &text_for_terminal);
		if (len + 1 >= sizeof(tag->text))
			memcpy(to + strlen(to), "...", sizeof("..."));
		break;
	case SCOPE_IS_OTHER:
		return "(others)";
	default:
		return "(unreadable)";
	}
	return to;
}

static uint64_t scopes_load(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

/* Counts have 16 fractional bits under sampling. */
static struct amount scopes_amount(const struct scopes *s, uint64_t bytes, uint64_t count)
{
	bool negative = (int64_t)bytes < 0 || (int64_t)count < 0;

	if (negative)
		return (struct amount){0};
	return (struct amount){
		bytes, s->options.sample_bytes ? (count + SAMPLE_ONE / 2) / SAMPLE_ONE : count};
}

static int scopes_fill_kept(struct scope *to, const struct scope_node *node)
{
	uint64_t none = scopes_load(&node->kept_nothing);
	int err = none ? scope_add_kept_calls(to, 0, 0, none) : 0;

	for (size_t i = 0; i < SCOPE_VALUES && !err; i++) {
		uint64_t bytes = scopes_load(&node->kept[i].bytes);
		uint64_t calls = scopes_load(&node->kept[i].calls);

		err = bytes && calls ? scope_add_kept_calls(to, bytes, bytes, calls) : 0;
	}
	for (unsigned i = 0; i < SCOPE_BUCKETS && !err; i++) {
		uint64_t calls = scopes_load(&node->kept_others[i]);

		err = calls ? scope_add_kept_calls(to, 1ull << i, (2ull << i) - 1, calls) : 0;
	}
	return err;
}

static int scopes_fill(const struct scopes *s, struct scope *to, const struct scope_node *node)
{
	struct scope from = {0};
	uint64_t ended;
	int err;

	from.timed = scopes_load(&node->returned);
	from.left = scopes_load(&node->left);
	/* Ends first: read the other way round, fewer could be open than none. */
	ended = from.timed + from.left + scopes_load(&node->tailed);
	from.calls = scopes_load(&node->calls);
	from.open = from.calls > ended ? from.calls - ended : 0;
	from.time_ns = scopes_load(&node->time_sum);
	from.time_max_ns = scopes_load(&node->time_max);
	for (size_t i = 0; i < SCOPE_BUCKETS; i++)
		from.times[i] = scopes_load(&node->times[i]);
	from.freed = scopes_amount(s, scopes_load(&node->sums.free_bytes),
				   scopes_load(&node->sums.free_count));
	from.kept = scopes_amount(
		s, scopes_load(&node->sums.alloc_bytes) - scopes_load(&node->sums.free_bytes),
		scopes_load(&node->sums.alloc_count) - scopes_load(&node->sums.free_count));
	from.own_kept = scopes_amount(
		s, scopes_load(&node->own.alloc_bytes) - scopes_load(&node->own.free_bytes),
		scopes_load(&node->own.alloc_count) - scopes_load(&node->own.free_count));
	from.kept_error =
		sampling_error((int64_t)scopes_load((const uint64_t *)&node->sums.variance),
			       s->options.sample_bytes);
	err = scopes_fill_kept(&from, node) ?: scope_add_figures(to, &from);
	free(from.kept_calls);
	return err;
}

/*
 * How many different tags the sketch has seen. Flajolet and others, "HyperLogLog: the analysis of a
 * near-optimal cardinality estimation algorithm" (2007), with its correction for few: good to 5 %.
 */
static uint64_t scopes_estimate(const struct scope_others *others)
{
	const double rows = SCOPE_SKETCH;
	double sum = 0, all;
	unsigned empty = 0;

	for (unsigned i = 0; i < SCOPE_SKETCH; i++) {
		sum += ldexp(1, -others->most[i]);
		empty += !others->most[i];
	}
	all = 0.7213 / (1 + 1.079 / rows) * rows * rows / sum;
	if (all <= 2.5 * rows && empty)
		all = rows * log(rows / empty);
	return (uint64_t)(all + 0.5);
}

static uint64_t scopes_count_others(const struct scopes *s, const struct scope_node_key *node)
{
	const struct scope_others_key key = {node->target_id, node->function};
	struct scope_others others;

	if (bpf_map_lookup_elem(bpf_map__fd(s->uses.others), &key, &others))
		return 0;
	return scopes_estimate(&others);
}

static uint64_t scopes_hash_name(const struct scope *scope)
{
	/* With the byte that ends each: "ab" and "c" are not "a" and "bc". */
	uint64_t hash = fnv1a(FNV1A_BASIS, scope->function, strlen(scope->function) + 1);

	return scope->tag ? fnv1a(hash, scope->tag, strlen(scope->tag) + 1) : hash;
}

uint64_t scopes_mixed_id(const struct scopes *s, uint64_t id, uint32_t node)
{
	uint64_t names = 0;

	if (!id || !node || !s->row_of[node])
		return id;
	for (uint32_t at = node, i = 0; at && at < SCOPE_NODES && i <= SCOPE_DEPTH; i++) {
		names = names * 0x9e3779b97f4a7c15ull + s->name_of[at];
		at = s->nodes[at].key.parent;
	}
	return id ^ names;
}

int scopes_read(struct scopes *s, uint32_t target_id, struct snapshot *snapshot)
{
	char text[TAG_TEXT_MAX];
	uint32_t used;

	if (!s)
		return 0;
	snapshot->scoped = true;
	memset(s->row_of, 0, sizeof(s->row_of));
	used = __atomic_load_n(s->uses.next_node, __ATOMIC_ACQUIRE);
	for (uint32_t i = 1; i <= used && i < SCOPE_NODES; i++) {
		const struct scope_node *node = &s->nodes[i];
		struct scope *scope;

		if (__atomic_load_n(&node->key.target_id, __ATOMIC_ACQUIRE) != target_id ||
		    node->key.function >= s->function_count)
			continue;
		scope = scopes_list_get(&snapshot->scopes, s->functions[node->key.function],
					scopes_tag_text(text, &node->key.tag));
		if (!scope || scopes_fill(s, scope, node))
			return -ENOMEM;
		if (node->key.tag.type == SCOPE_IS_OTHER)
			scope->tags = scopes_count_others(s, &node->key);
		s->row_of[i] = (uint32_t)(scope - snapshot->scopes.items) + 1;
		s->name_of[i] = scopes_hash_name(scope);
	}
	return 0;
}

/* As it counts to a function that is open more than once: once. */
static bool scopes_was_counted(const struct scopes *s, uint32_t first, uint32_t node)
{
	for (uint32_t i = 0; first != node && first && first < SCOPE_NODES && i < SCOPE_DEPTH;
	     i++) {
		if (s->row_of[first] == s->row_of[node])
			return true;
		first = s->nodes[first].key.parent;
	}
	return false;
}

void scopes_add_stack(struct scopes *s, struct snapshot *snapshot, struct stack *stack,
		      uint32_t node)
{
	struct scope *own = s->row_of[node] ? &snapshot->scopes.items[s->row_of[node] - 1] : NULL;
	uint64_t mixed = scopes_mixed_id(s, stack->id, node);

	if (!own)
		return;
	stack->scope = s->row_of[node];
	amount_add(&own->own_alloc, &stack->alloc);
	amount_add(&own->own_live, &stack->live);
	for (uint32_t at = node, i = 0; at && at < SCOPE_NODES && i <= SCOPE_DEPTH; i++) {
		struct scope *scope =
			s->row_of[at] ? &snapshot->scopes.items[s->row_of[at] - 1] : NULL;

		if (scope && !scopes_was_counted(s, node, at)) {
			amount_add(&scope->alloc, &stack->alloc);
			amount_add(&scope->live, &stack->live);
			scope->live_error = hypot(scope->live_error, stack->error_bytes);
		}
		at = s->nodes[at].key.parent;
	}
	/* The same frames in another scope are another stack. */
	if (!stack->id || !stack_table_finish(s->uses.stacks, snapshot->target_id, mixed, stack->id,
					      (uint8_t)stack->end))
		return;
	stack->id = mixed;
}

void scopes_release_swept(struct scopes *s)
{
	int nodes_fd, free_fd;
	uint32_t used;

	if (!s)
		return;
	nodes_fd = bpf_map__fd(s->uses.node_of_key);
	free_fd = bpf_map__fd(s->uses.free_nodes);
	used = __atomic_load_n(s->uses.next_node, __ATOMIC_ACQUIRE);
	for (uint32_t i = 1; i <= used && i < SCOPE_NODES; i++) {
		struct scope_node *node = &s->nodes[i];
		struct scope_node_key key = node->key;

		if (!slots_target_swept(s->uses.slots, key.target_id))
			continue;
		bpf_map_delete_elem(nodes_fd, &key);
		if (key.tag.type == SCOPE_IS_OTHER) {
			const struct scope_others_key others = {key.target_id, key.function};

			bpf_map_delete_elem(bpf_map__fd(s->uses.others), &others);
		}
		__atomic_store_n(&node->key.target_id, 0, __ATOMIC_RELEASE);
		memset(node, 0, sizeof(*node));
		bpf_map_update_elem(free_fd, NULL, &i, BPF_ANY);
	}
}
