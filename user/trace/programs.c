// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/programs.h"

#include "user/base/page.h"

#include "user/base/util.h"
#include "user/trace/refused.h"
#include "user/trace/scope_programs.h"

/* Those that keep figures stand in for the usual ones: only one kind is loaded. */
static void programs_choose_figures(struct memleakbpf *skel, bool wanted,
				    struct attach_programs *out)
{
	const struct {
		struct bpf_program **usual, *figures;
	} pairs[] = {
		{&out->alloc_enter, skel->progs.figures_alloc_enter},
		{&out->alloc_leave, skel->progs.figures_alloc_leave},
		{&out->alloc_session, skel->progs.figures_alloc_session},
		{&out->alloc_return, skel->progs.figures_alloc_return},
		{&out->free_enter, skel->progs.figures_free_enter},
		{&out->unmap_enter, skel->progs.figures_unmap_enter},
		{&out->usdt_free, skel->progs.figures_usdt_free},
		{&out->gate_alloc, skel->progs.figures_gate_alloc},
		{&out->gate_free, skel->progs.figures_gate_free},
		{&out->gate_kept, skel->progs.figures_gate_kept},
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		bpf_program__set_autoload(wanted ? *pairs[i].usual : pairs[i].figures, false);
		if (wanted)
			*pairs[i].usual = pairs[i].figures;
	}
}

/* The programs that know runtimes, of one kind. `checked_free`: loaded in the place of the usual one. */
struct programs_kind {
	struct bpf_program *enter, *session, *gate, *checked_free;
};

static struct programs_kind programs_kind_of(const struct memleakbpf *skel,
					     const struct trace_options *options)
{
	if (options->scope_count)
		return (struct programs_kind){
			skel->progs.scoped_managed_enter, skel->progs.scoped_managed_session,
			skel->progs.scoped_managed_gate, skel->progs.scoped_checked_free_enter};
	if (figures_traced(&options->figures))
		return (struct programs_kind){
			skel->progs.figures_managed_enter, skel->progs.figures_managed_session,
			skel->progs.figures_managed_gate, skel->progs.figures_checked_free_enter};
	return (struct programs_kind){skel->progs.managed_enter, skel->progs.managed_session,
				      skel->progs.managed_gate, skel->progs.checked_free_enter};
}

void programs_managed(const struct memleakbpf *skel, const struct trace_options *options,
		      const struct attach_programs *used,
		      struct programs_managed out[static PROGRAMS_MANAGED])
{
	const struct programs_kind kind = programs_kind_of(skel, options);

	out[0] = (struct programs_managed){kind.enter, used->alloc_enter, skel->maps.enter_managed};
	out[1] = (struct programs_managed){kind.session, used->alloc_session,
					   skel->maps.session_managed};
	out[2] = (struct programs_managed){kind.gate, used->gate_alloc, skel->maps.gate_managed};
}

bool programs_is_runtime_map(const struct memleakbpf *skel, const struct bpf_map *map)
{
	const struct bpf_map *const maps[] = {
		skel->maps.python_codes, skel->maps.ruby_codes,	  skel->maps.php_codes,
		skel->maps.perl_codes,	 skel->maps.v8_functions, skel->maps.v8_code_places,
	};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (maps[i] == map)
			return true;
	}
	return false;
}

/* Those programs know runtimes from the start on. */
static bool programs_know_runtimes(const struct trace_options *options)
{
	return !options->old &&
	       (options->check_frees || options->guard.period ||
		(options->task_storage && (!options->managed_later || options->managed_now)));
}

static void programs_replace(struct bpf_program **used, struct bpf_program *program)
{
	bpf_program__set_autoload(*used, false);
	*used = program;
}

/*
 * To be called after the programs for figures and scopes are chosen. Frees that are checked have a
 * program of their own. Where programs that know runtimes cannot come later, they are loaded in
 * place of the usual ones.
 */
static void programs_choose_managed(struct memleakbpf *skel, const struct trace_options *options,
				    struct attach_programs *out)
{
	const struct programs_kind kind = programs_kind_of(skel, options);
	bool at_once = options->task_storage && !options->managed_later && !options->old;

	skel->rodata->config.managed_later = options->managed_later;
	skel->rodata->config.loops = options->loops;
	if (options->check_frees && !options->old)
		programs_replace(&out->free_enter, kind.checked_free);
	if (!at_once)
		return;
	programs_replace(&out->alloc_enter, kind.enter);
	programs_replace(&out->alloc_session, kind.session);
	programs_replace(&out->gate_alloc, kind.gate);
}

/* Those that follow runtimes are attached by nobody but are of the kind of those that go on in them. */
static void programs_prepare_managed(const struct memleakbpf *skel,
				     const struct trace_options *options,
				     const struct attach_programs *used)
{
	struct programs_managed managed[PROGRAMS_MANAGED];

	programs_managed(skel, options, used, managed);
	for (size_t i = 0; i < PROGRAMS_MANAGED && options->managed_later; i++) {
		bpf_program__set_expected_attach_type(
			managed[i].program,
			bpf_program__get_expected_attach_type(managed[i].usual));
		if (options->managed_now && bpf_program__autoload(managed[i].usual))
			bpf_program__set_autoload(managed[i].program, true);
	}
}

/* What is remembered of a thread that is in the language. */
#define PROGRAMS_CHOOSE_THREADS(constant, name, text) \
	bpf_map__set_autocreate(skel->maps.name##_threads, options->task_storage);

/* What no place of attach.h has. */
static void programs_choose_rest(struct memleakbpf *skel, const struct trace_options *options,
				 const struct attach_programs *out)
{
	bool hold = options->children == CHILDREN_EXACT;
	struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj)
	{
		if (programs_is_runtime_map(skel, map))
			bpf_map__set_autocreate(map, programs_know_runtimes(options));
	}
	bpf_program__set_autoload(skel->progs.guard_fault, out->guard);
	bpf_map__set_autocreate(skel->maps.guard_rows, out->guard);
	bpf_map__set_autocreate(skel->maps.guard_blocks, out->guard);
	bpf_map__set_autocreate(skel->maps.guard_saids, out->guard);
	bpf_map__set_autocreate(skel->maps.bad_accesses, out->guard);
	bpf_program__set_autoload(skel->progs.hold_on_fork, hold);
	bpf_program__set_autoload(skel->progs.hold_on_exec, hold);
	bpf_program__set_autoload(skel->progs.on_fork, !hold);
	bpf_program__set_autoload(skel->progs.on_exec, !hold);
	/* The programs that take these are not loaded, or the verifier drops that part of them. */
	bpf_map__set_autocreate(skel->maps.families, options->check_frees != 0);
	bpf_map__set_autocreate(skel->maps.freed, options->check_frees != 0);
	bpf_map__set_autocreate(skel->maps.bad_frees, options->check_frees != 0);
	bpf_map__set_autocreate(skel->maps.holds, hold);
	bpf_map__set_autocreate(skel->maps.slot_numbers, options->old);
	bpf_map__set_autocreate(skel->maps.thread_storage, options->task_storage);
	bpf_map__set_autocreate(skel->maps.thread_trails, options->task_storage);
	RUNTIME_LANGUAGES(PROGRAMS_CHOOSE_THREADS)
}

void programs_choose(struct memleakbpf *skel, const struct trace_options *options,
		     struct attach_programs *out)
{
	bool old = options->old;
	/*
	 * Programs that only one kind of kernel can load, with what stands in for them on the
	 * other. NULL: nothing does, or it stands beside.
	 */
	const struct {
		struct bpf_program *usual, *old;
	} pairs[] = {
		{skel->progs.alloc_enter, skel->progs.old_alloc_enter},
		{skel->progs.free_enter, skel->progs.old_free_enter},
		{skel->progs.unmap_enter, skel->progs.old_unmap_enter},
		{skel->progs.on_unwind, skel->progs.old_on_unwind},
		{NULL, skel->progs.old_usdt_alloc},
		{skel->progs.usdt_free, skel->progs.old_usdt_free},
		{skel->progs.on_fork, skel->progs.old_on_fork},
		{skel->progs.on_exec, skel->progs.old_on_exec},
		{skel->progs.live_ages, NULL},
		{skel->progs.live_sweep, NULL},
		{skel->progs.alloc_session, NULL},
	};

	*out = (struct attach_programs){
		.alloc_enter = old ? skel->progs.old_alloc_enter : skel->progs.alloc_enter,
		.alloc_leave = skel->progs.alloc_leave,
		.alloc_session = skel->progs.alloc_session,
		.alloc_return = skel->progs.alloc_return,
		.free_enter = old ? skel->progs.old_free_enter : skel->progs.free_enter,
		.unmap_enter = old ? skel->progs.old_unmap_enter : skel->progs.unmap_enter,
		.on_unwind = old ? skel->progs.old_on_unwind : skel->progs.on_unwind,
		.on_leave = skel->progs.on_leave,
		.leave = options->hold_at_end,
		.on_loaded = skel->progs.on_loaded,
		.loaded = options->wait_loaded,
		.on_named = skel->progs.on_named,
		.named = options->check_frees != 0,
		.usdt_free = old ? skel->progs.old_usdt_free : skel->progs.usdt_free,
		.usdt = options->usdt != TRACE_USDT_NEVER,
		.gate_alloc = skel->progs.gate_alloc,
		.gate_free = skel->progs.gate_free,
		.gate_kept = skel->progs.gate_kept,
		.gate = options->gate || (options->gate_later && !old),
		.gate_later = !options->gate,
		.guard_probed = skel->progs.guard_probed,
		.guard = options->guard.period != 0,
		.link_bin = -1,
	};
	programs_choose_figures(skel, figures_traced(&options->figures), out);
	scopes_choose_programs(skel, options, out);
	programs_choose_managed(skel, options, out);
	out->usdt_alloc = old ? skel->progs.old_usdt_alloc : out->alloc_enter;
	attach_prepare(options->attach, out);
	programs_prepare_managed(skel, options, out);
	programs_choose_rest(skel, options, out);
	skel->rodata->config.task_storage = options->task_storage;
	skel->rodata->unwind_config.has_find_vma = options->find_vma;
	skel->rodata->unwind_config.page_size = (uint32_t)page_size();
	for (size_t i = 0; old && i < ARRAY_SIZE(pairs); i++) {
		if (pairs[i].usual)
			bpf_program__set_autoload(pairs[i].usual, false);
		if (pairs[i].old)
			bpf_program__set_autoload(pairs[i].old, true);
	}
	refused_choose(skel, options);
}
