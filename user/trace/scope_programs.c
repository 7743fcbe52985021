// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/scope_programs.h"

#include <errno.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/target/scope_spec.h"
#include "user/scopes/scopes.h"
#include "user/trace/skeleton.h"

/* Values of a function's tag that are told apart. */
#define SCOPE_TAGS 256

void scopes_choose_programs(struct memleakbpf *skel, const struct trace_options *options,
			    struct attach_programs *programs)
{
	const struct {
		struct bpf_program **used, *scoped;
	} pairs[] = {
		{&programs->alloc_enter, skel->progs.scoped_alloc_enter},
		{&programs->alloc_leave, skel->progs.scoped_alloc_leave},
		{&programs->alloc_return, skel->progs.scoped_alloc_return},
		{&programs->alloc_session, skel->progs.scoped_alloc_session},
		{&programs->free_enter, skel->progs.scoped_free_enter},
		{&programs->unmap_enter, skel->progs.scoped_unmap_enter},
		{&programs->usdt_free, skel->progs.scoped_usdt_free},
		{&programs->gate_alloc, skel->progs.scoped_gate_alloc},
		{&programs->gate_free, skel->progs.scoped_gate_free},
		{&programs->gate_kept, skel->progs.scoped_gate_kept},
	};
	bool wanted = options->scope_count != 0;

	programs->scopes = wanted;
	programs->scope_entered = skel->progs.scope_entered;
	programs->scope_returned = skel->progs.scope_returned;
	programs->scope_jumped = skel->progs.scope_jumped;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		bpf_program__set_autoload(wanted ? *pairs[i].used : pairs[i].scoped, false);
		if (wanted)
			*pairs[i].used = pairs[i].scoped;
	}
	bpf_program__set_autoload(skel->progs.live_ages, !wanted);
	bpf_program__set_autoload(skel->progs.scoped_live_ages, wanted);
	bpf_program__set_autoload(skel->progs.scope_thread_exits, wanted);
	bpf_program__set_autoload(skel->progs.scope_thread_execs, wanted);
	bpf_map__set_autocreate(skel->maps.scope_threads, wanted);
	if (!wanted)
		return;
	skel->rodata->scope_config = (struct scope_config){
		.only = options->scope_only,
		.find_vma = options->find_vma,
		.tags = SCOPE_TAGS,
	};
	for (size_t i = 0; i < options->scope_count && i < SCOPE_SPECS; i++)
		skel->rodata->scope_specs[i] = options->scopes[i].tag;
}

int scopes_configure(struct trace *trace)
{
	struct memleakbpf *skel = trace->skel;
	const struct {
		struct bpf_map *map;
		uint32_t entries;
	} sizes[] = {
		{skel->maps.scope_stacks, SCOPE_ROWS},
		{skel->maps.scope_free_rows, SCOPE_ROWS},
		{skel->maps.scope_nodes, SCOPE_NODES},
		{skel->maps.scope_free_nodes, SCOPE_NODES},
		{skel->maps.scope_node_of_key, SCOPE_NODES},
		{skel->maps.scope_tag_counts, SCOPE_FUNCTIONS},
		{skel->maps.scope_tags_known, SCOPE_NODES},
		{skel->maps.scope_others, SCOPE_FUNCTIONS},
		{skel->maps.slot_scopes, trace->options.max_stacks + ABI_TARGET_SLOTS},
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes) && trace->options.scope_count && !err; i++)
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].entries);
	return err;
}

int scopes_start(struct trace *trace)
{
	const struct {
		struct bpf_link **link;
		const struct bpf_program *program;
	} events[] = {
		{&trace->skel->links.scope_thread_exits, trace->skel->progs.scope_thread_exits},
		{&trace->skel->links.scope_thread_execs, trace->skel->progs.scope_thread_execs},
	};
	const struct scopes_options options = {
		.specs = trace->options.scopes,
		.count = trace->options.scope_count,
		.anywhere = trace->options.scope_anywhere,
		.sample_bytes = trace->options.sample_bytes,
	};
	const struct scopes_uses uses = {
		.nodes = trace->skel->maps.scope_nodes,
		.node_of_key = trace->skel->maps.scope_node_of_key,
		.free_nodes = trace->skel->maps.scope_free_nodes,
		.others = trace->skel->maps.scope_others,
		.next_node = &trace->skel->bss->scope_shared.next_node,
		.slots = trace->slots,
		.stacks = trace->stacks,
		.symbolizer = trace->symbolizer,
	};
	int err;

	if (!trace->options.scope_count)
		return 0;
	err = scopes_new(&options, &uses, &trace->scopes);
	for (size_t i = 0; i < ARRAY_SIZE(events) && !err; i++) {
		*events[i].link = bpf_program__attach(events[i].program);
		if (!*events[i].link)
			err = log_errno(errno, "cannot watch the ends of threads (tracepoints)");
	}
	return err;
}
