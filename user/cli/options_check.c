// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Refuses what does not go together, and makes the subcommands' structs. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpf/scope_abi.h"
#include "user/base/log.h"
#include "user/base/clock.h"
#include "user/cli/options.h"
#include "user/cli/options_inspecting.h"
#include "user/cli/options_names.h"
#include "user/guard/guard_stub.h"

/* Defaults of `top`. */
#define TOP_SURVEY_INTERVAL_NS (2 * NS_PER_S)
#define TOP_SURVEY_SAMPLE      (64u << 10)
#define TOP_STACKS	       10

/* For processes that are sampled all the time: it costs a nanosecond a call. */
#define KEEP_SAMPLE (512u << 10)

static int check_target(const struct option_values *values)
{
	const struct survey_scope_config *scope = &values->scope;
	const char *select = values->pids.count || values->names.count ? "-p"
			     : scope->cgroup			       ? "--cgroup"
			     : scope->container			       ? "--container"
			     : scope->unit			       ? "--unit"
								       : NULL;

	if (select && values->argv) {
		log_error("%s: excludes running a COMMAND ('%s'); give only one of them", select,
			  values->argv[0]);
		return -EINVAL;
	}
	if (!select && !values->argv) {
		log_error("nothing to trace; give -p PID or -- COMMAND, or see memleakbpf --help");
		return -EINVAL;
	}
	return 0;
}

/* A target that reports its allocations itself reports its own samples only. */
static int check_usdt(const struct option_values *values)
{
	const struct trace_config *trace = &values->trace;
	const char *what = values->sample_bytes ? "-s (how often it samples is the target's own)"
			   : trace->check_frees ? "--check-frees"
			   : trace->mmap	? "--mmap"
			   : trace->object	? "-O"
			   : trace->alloc_fns.count	   ? "--alloc-fn"
			   : trace->realloc_fns.count	   ? "--realloc-fn"
			   : trace->free_fns.count	   ? "--free-fn"
			   : trace->symbols_prefixes.count ? "--symbols-prefix"
							   : NULL;

	if (trace->attach != ATTACH_USDT || !what)
		return 0;
	log_error("--attach usdt: excludes %s: no function is traced; leave one out", what);
	return -EINVAL;
}

/* Keeps the figures that the order needs. */
static void check_sort_figures(struct option_values *values)
{
	struct figures_kept *figures = &values->trace.figures;

	figures->lifetimes |= values->show.sort == RANK_LIFETIME;
	figures->temporary |= values->show.sort == RANK_TEMPORARY;
	figures->peak |= values->show.sort == RANK_PEAK;
	figures->sizes |= values->trace.group_sizes;
}

/* Rows do not know what is asked of single blocks. */
static int check_group(const struct option_values *values)
{
	if (!values->trace.group_sizes || (!values->verdict.wanted && !values->trace.older_ns))
		return 0;
	log_error("--group size: excludes %s, which is told by stack; give only one of them",
		  values->trace.older_ns ? "--older" : "--verdict");
	return -EINVAL;
}

static int check_figures(const struct trace_config *trace)
{
	if (!trace->figures.lifetimes || trace->max_stacks <= TRACE_LIFETIMES_MAX_STACKS)
		return 0;
	log_error("--lifetimes: --max-stacks is at most %u then", TRACE_LIFETIMES_MAX_STACKS);
	return -EINVAL;
}

static int check_scopes(const struct trace_config *trace)
{
	if (trace->scopes.count > SCOPE_SPECS) {
		log_error("--scope: may be given %d times; name several functions by a glob",
			  SCOPE_SPECS);
		return -EINVAL;
	}
	if (trace->scope_only && !trace->scopes.count) {
		log_error("--scope-only: leaves out what is in no scope, and there is none; name a "
			  "function with --scope");
		return -EINVAL;
	}
	if (trace->scope_only && trace->check_frees) {
		log_error("--check-frees: needs every block to be known; leave --scope-only out");
		return -EINVAL;
	}
	return 0;
}

static int check_guard(const struct options *options)
{
	const struct trace_config *trace = &options->values.trace;
	const char *what = trace->attach == ATTACH_USDT		    ? "--attach usdt"
			   : trace->children == CHILDREN_SYSTEMWIDE ? "--children exact-systemwide"
								    : NULL;

	if (!trace->guard.period) {
		if (!OPTION_GIVEN(options, trace.guard.places))
			return 0;
		log_error("--guard-slots: nothing is guarded; give --guard as well");
		return -EINVAL;
	}
	if (!guard_count_fits(trace->guard.places)) {
		log_error("--guard-slots: '%u' is not a power of two; give 8, 16 … 4096",
			  trace->guard.places);
		return -EINVAL;
	}
	if (!what)
		return 0;
	log_error("--guard: does not go with %s; leave one of them out", what);
	return -EINVAL;
}

static int check_trace(const struct options *options)
{
	const struct option_values *values = &options->values;
	const struct trace_config *trace = &values->trace;

	if (check_figures(trace) || check_group(values))
		return -EINVAL;
	if (trace->max_size < trace->min_size) {
		log_error("-Z: %" PRIu64 " is below -z %" PRIu64 ", so nothing would be traced; "
			  "give -Z at least as much as -z",
			  trace->max_size, trace->min_size);
		return -EINVAL;
	}
	if (values->show.merge && values->verdict.wanted) {
		log_error("--merge: excludes %s, which is about one process's memory; give "
			  "only one of them",
			  values->verdict.inspect	 ? "--inspect"
			  : values->trace.figures.usable ? "--usable"
							 : "--verdict");
		return -EINVAL;
	}
	if (options_check_inspecting(values))
		return -EINVAL;
	if (values->show.merge && trace->check_frees) {
		log_error("--merge: excludes --check-frees, which is about one process's blocks; "
			  "give only one of them");
		return -EINVAL;
	}
	if ((trace->gate || trace->attach == ATTACH_GATE) &&
	    (trace->mmap || trace->check_frees || trace->children == CHILDREN_SYSTEMWIDE ||
	     trace->attach == ATTACH_USDT)) {
		log_error("--gate: does not go with %s, which has other probes",
			  trace->mmap			 ? "--mmap"
			  : trace->check_frees		 ? "--check-frees"
			  : trace->attach == ATTACH_USDT ? "--attach usdt"
							 : "--children exact-systemwide");
		return -EINVAL;
	}
	if (trace->check_frees &&
	    (values->sample_bytes || trace->min_size || trace->max_size != UINT64_MAX)) {
		log_error("--check-frees: needs every block to be known; leave -s, -z and -Z out");
		return -EINVAL;
	}
	return check_scopes(trace) ?: check_usdt(values) ?: check_guard(options);
}

static struct watch_config check_watch_config(const struct option_values *values)
{
	return (struct watch_config){
		.pids = values->pids,
		.select = {.names = values->names,
			   .cgroup = values->scope.cgroup,
			   .container = values->scope.container,
			   .unit = values->scope.unit},
		.argv = values->argv,
		.pace = values->pace,
		.trace = values->trace,
		.sample_bytes = values->sample_bytes,
		.symbols = values->symbols,
		.verdict = values->verdict,
		.error_exitcode = values->error_exitcode,
		.filter = values->filter,
		.show = values->show,
	};
}

/* Formats without rows have the stacks, each with its site. */
static int check_by(struct options *options)
{
	struct option_values *values = &options->values;
	bool given = OPTION_GIVEN(options, show.by);

	if (given && !values->show.format->rows && values->show.by != BY_STACK) {
		log_error("--by: -f %s has stacks, and no rows; leave it out, or give -f text",
			  values->show.format->name);
		return -EINVAL;
	}
	if (given && values->trace.group_sizes && values->show.by != BY_STACK) {
		log_error("--by: --group size has a row for each size of a stack; give only one of "
			  "them");
		return -EINVAL;
	}
	if (values->trace.group_sizes)
		values->show.by = BY_STACK;
	return 0;
}

static int check_make_watch(struct options *options)
{
	struct option_values *values = &options->values;
	int err = check_target(values);

	check_sort_figures(values);
	if (!err)
		err = check_trace(options);
	err = err ?: check_by(options);
	if (err)
		return err;
	if (values->argv && !OPTION_GIVEN(options, trace.children))
		values->trace.children = CHILDREN_EXACT;
	options->config.watch = check_watch_config(values);
	return 0;
}

int options_check_watch(struct options *options)
{
	struct option_values *values = &options->values;

	/* A command is reported at its end; -n asks for earlier snapshots. */
	if (values->argv && !values->pace.count && !OPTION_GIVEN(options, pace.interval_ns))
		values->pace.interval_ns = 0;
	return check_make_watch(options);
}

static struct survey_config check_survey_config(const struct option_values *values)
{
	return (struct survey_config){
		.pace = values->pace,
		.scope = values->scope,
		.probes = values->probes,
		.sample_bytes = values->sample_bytes,
		.scopes = values->trace.scopes,
		.gate = values->trace.gate,
		.keep = values->keep,
		.symbols = values->symbols,
		.metrics = values->metrics,
		.container_runtime = values->container_runtime,
		.profiles = values->profiles,
		.record = values->record,
		.filter = values->filter,
		.show = values->show,
	};
}

/* Refuses options of the survey for one process, and the other way round. */
static int check_top_options(const struct options *options)
{
	bool by_name = options->values.names.count > 0;
	bool by_pid = options->values.pids.count > 0, of_process = by_pid || by_name;
	const struct {
		bool given;
		const char *name;
	} rows[] = {
		/* With a name these choose one process. */
		{by_pid && OPTION_GIVEN(options, scope.cgroup), "--cgroup"},
		{by_pid && OPTION_GIVEN(options, scope.container), "--container"},
		{by_pid && OPTION_GIVEN(options, scope.unit), "--unit"},
		{of_process && OPTION_GIVEN(options, scope.user), "--user"},
		{of_process && OPTION_GIVEN(options, scope.comm), "--comm"},
		{of_process && OPTION_GIVEN(options, scope.exclude), "--exclude"},
		{of_process && OPTION_GIVEN(options, probes.budget), "--budget"},
		{!of_process && OPTION_GIVEN(options, show.sort), "--sort"},
		{!of_process && OPTION_GIVEN(options, trace.min_size), "-z"},
		{!of_process && OPTION_GIVEN(options, trace.max_size), "-Z"},
		{!of_process && OPTION_GIVEN(options, trace.attach), "--attach"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].given)
			continue;
		log_error("top: %s is %s; leave one of them out", rows[i].name,
			  of_process ? "about the processes of a survey, and -p names one"
				     : "about one process, and no -p names it");
		return -EINVAL;
	}
	return 0;
}

/* Sets the survey's defaults. */
static void check_top_survey(struct options *options)
{
	struct option_values *values = &options->values;

	if (!OPTION_GIVEN(options, pace.interval_ns))
		values->pace.interval_ns = TOP_SURVEY_INTERVAL_NS;
	if (!OPTION_GIVEN(options, sample_bytes))
		values->sample_bytes = TOP_SURVEY_SAMPLE;
}

int options_check_top(struct options *options)
{
	struct option_values *values = &options->values;
	int err;

	if (values->pids.count + values->names.count > 1) {
		log_error("top: shows one process at a time, or without -p the survey; give -p and "
			  "one PID");
		return -EINVAL;
	}
	err = check_top_options(options);
	if (err)
		return err;
	values->show.format = export_find_format("text"); /* of a stack's page */
	values->show.top = TOP_STACKS;
	values->trace.children = CHILDREN_NONE;
	/* Hides nothing of a verdict: the viewer decides. */
	values->filter.default_suppressions = false;
	if (!values->pids.count && !values->names.count)
		check_top_survey(options);
	check_sort_figures(values);
	err = check_trace(options);
	if (!err)
		options->config.top = (struct top_config){.watch = check_watch_config(values),
							  .survey = check_survey_config(values)};
	return err;
}

int options_check_record(struct options *options)
{
	int err = check_make_watch(options);

	if (err)
		return err;
	if (!options->values.show.output) {
		log_error("-o: record needs a file; give e.g. -o leaks.mlb");
		return -EINVAL;
	}
	options->config.watch.show.format = &export_recording;
	return 0;
}

static int check_times(const struct replay_times *times)
{
	const struct replay_time *from = &times->from, *to = &times->to;

	if (times->at.given && (from->given || to->given)) {
		log_error(
			"--at: one point of time excludes --from and --to; give only one of them");
		return -EINVAL;
	}
	if (from->given && to->given && from->absolute == to->absolute && from->ns > to->ns) {
		log_error("--to: is before --from; give a later time");
		return -EINVAL;
	}
	return 0;
}

static int check_make_replay(struct options *options)
{
	const struct option_values *values = &options->values;

	options->config.replay = (struct replay_config){
		.files = values->files,
		.file_count = values->file_count,
		.pids = values->pids,
		.times = values->times,
		.filter = values->filter,
		.show = values->show,
	};
	return check_times(&values->times);
}

int options_check_report(struct options *options)
{
	if (options->values.file_count != 1) {
		log_error("report needs one recording; give memleakbpf report FILE");
		return -EINVAL;
	}
	return check_by(options) ?: check_make_replay(options);
}

int options_check_diff(struct options *options)
{
	const struct option_values *values = &options->values;
	const struct exporter_format *format = values->show.format;
	char names[EXPORT_NAMES_MAX];
	int err;

	if (values->file_count < 1 || values->file_count > 2) {
		log_error(
			"diff needs two recordings, or two times of one; give memleakbpf diff OLD "
			"NEW");
		return -EINVAL;
	}
	if (values->file_count == 2 && (values->times.from.given || values->times.to.given)) {
		log_error("--from, --to: diff of two files compares their last snapshots; give one "
			  "FILE with --from and --to");
		return -EINVAL;
	}
	if (values->show.by == BY_SCOPE) {
		log_error("--by: diff has no rows by scope; leave it out");
		return -EINVAL;
	}
	if (!export_can(format, EXPORT_COMPARISONS)) {
		log_error("-f: diff has no format '%s'; give one of %s", format->name,
			  export_names(names, EXPORT_COMPARISONS, ", "));
		return -EINVAL;
	}
	err = check_by(options);
	/* Of two builds the same function has its lines elsewhere. */
	if (!err && !OPTION_GIVEN(options, show.by))
		options->values.show.by = BY_STACK;
	return err ?: check_make_replay(options);
}

int options_check_survey(struct options *options)
{
	const struct option_values *values = &options->values;
	const struct exporter_format *format = values->show.format;
	char names[EXPORT_NAMES_MAX];

	if (!export_can(format, EXPORT_SURVEYS)) {
		log_error("-f: '%s' is not a format of the survey; give one of %s", format->name,
			  export_names(names, EXPORT_SURVEYS, ", "));
		return -EINVAL;
	}
	if (values->keep.filters.count && !values->trace.gate) {
		log_error("--keep: probes cost too much to stay; give --gate as well");
		return -EINVAL;
	}
	if (values->profiles.wanted && !values->keep.filters.count) {
		log_error("--profiles: nothing is sampled all the time; give --gate --keep FILTER "
			  "as well, e.g. --keep unit=shop.service");
		return -EINVAL;
	}
	if (values->profiles.token_file && !values->profiles.wanted) {
		log_error("--profiles-token: nothing asks for it; give --profiles as well");
		return -EINVAL;
	}
	if (values->trace.guard.period && !values->keep.filters.count) {
		log_error(
			"--guard: a survey guards the processes that it keeps; give --gate --keep "
			"FILTER as well, e.g. --keep unit=shop.service");
		return -EINVAL;
	}
	if (values->filter.suppressions.count && !values->trace.guard.period) {
		log_error("--suppressions: of a survey they hide bad accesses alone; give --gate "
			  "--keep "
			  "FILTER --guard as well");
		return -EINVAL;
	}
	if (check_guard(options))
		return -EINVAL;
	options->config.survey = check_survey_config(values);
	options->config.survey.keep.guard = values->trace.guard;
	options->config.survey.keep.stacks = values->trace.max_stacks;
	options->config.survey.keep.sample_bytes =
		OPTION_GIVEN(options, sample_bytes) ? values->sample_bytes : KEEP_SAMPLE;
	return 0;
}

int options_check_doctor(struct options *options)
{
	const struct option_values *values = &options->values;
	const struct exporter_format *format = values->show.format;
	char names[EXPORT_NAMES_MAX];

	if (!export_can(format, EXPORT_FINDINGS)) {
		log_error("-f: doctor has no format '%s'; give %s", format->name,
			  export_names(names, EXPORT_FINDINGS, " or "));
		return -EINVAL;
	}
	if (format->findings == EXPORT_OBJECT && values->pids.count) {
		log_error("-f: %s says nothing of processes; leave -p out", format->name);
		return -EINVAL;
	}
	options->config.doctor = (struct doctor_config){
		.pids = values->pids,
		.format = format,
		.verbose = values->show.verbose,
		.try_load = values->try_load,
	};
	return 0;
}

/* A typing error is likelier than a file of that name. */
static bool check_looks_like_pid(const char *word)
{
	return *word && word[strspn(word, "0123456789,")] == '\0';
}

static int check_cores(struct options *options)
{
	const struct option_values *values = &options->values;
	const char *first = values->files[0];

	if (check_looks_like_pid(first)) {
		log_error(
			"'%s': looks like a PID; give -p %s (or ./%s for a core file of that name)",
			first, first, first);
		return -EINVAL;
	}
	if (values->pids.count) {
		log_error("'%s': a core file beside -p; give one or the other", first);
		return -EINVAL;
	}
	if (values->pace.count || values->pace.duration_ns ||
	    OPTION_GIVEN(options, pace.interval_ns)) {
		log_error("-i, -n, --duration: a core file stays as it is; leave them out");
		return -EINVAL;
	}
	return 0;
}

int options_check_inspect(struct options *options)
{
	struct option_values *values = &options->values;
	const struct exporter_format *format = values->show.format;
	char names[EXPORT_NAMES_MAX];
	int err = options_find_named(values);

	if (err)
		return err;
	if (!values->pids.count && !values->file_count) {
		log_error("nothing to inspect; give -p PID or a core file, or see memleakbpf "
			  "inspect --help");
		return -EINVAL;
	}
	if (values->file_count && check_cores(options))
		return -EINVAL;
	if (!export_can(format, EXPORT_PROFILES)) {
		log_error("-f: '%s' is not a format of inspect; give one of %s", format->name,
			  export_names(names, EXPORT_PROFILES, ", "));
		return -EINVAL;
	}
	if (values->show.sort != RANK_LIVE && values->show.sort != RANK_COUNT &&
	    values->show.sort != RANK_GROWTH) {
		log_error("--sort: nobody has seen the blocks come; give one of live, count, "
			  "growth");
		return -EINVAL;
	}
	/* A file gets the format that report and diff read, unless another is asked for. */
	if (values->show.output && !OPTION_GIVEN(options, show.format))
		values->show.format = &export_recording;
	/* With several looks the user wants to see growth. */
	if (OPTION_GIVEN(options, pace.interval_ns) && !OPTION_GIVEN(options, show.sort))
		values->show.sort = RANK_GROWTH;
	/* One look, without an interval, a count or a time. */
	if (!OPTION_GIVEN(options, pace.interval_ns) && !values->pace.count &&
	    !values->pace.duration_ns)
		values->pace = (struct pace_config){.count = 1};
	if (values->pace.count == 1)
		values->pace.interval_ns = 0;
	options->config.inspect = (struct inspect_config){
		.pids = values->pids,
		.files = values->files,
		.file_count = values->file_count,
		.symbols = values->symbols,
		.sysroot = values->sysroot,
		.pace = values->pace,
		.verdict = values->verdict,
		.error_exitcode = values->error_exitcode,
		.show = values->show,
	};
	return 0;
}
