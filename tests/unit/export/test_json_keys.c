// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The keys of -f json are those that the manual page and the schemas name, all of them and no
 * others: a snapshot that has everything is printed.
 */
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/sample_inspection.h"
#include "tests/unit/sample_snapshot.h"
#include "bpf/kinds.h"
#include "user/base/util.h"

/* Keys as a set. */
static void add(struct json_object *set, const char *key)
{
	json_object_object_add(set, key, json_object_new_boolean(true));
}

static void collect(struct json_object *value, struct json_object *set)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			collect(json_object_array_get_idx(value, i), set);
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			add(set, key);
			collect(member, set);
		}
	}
}

static void print(const struct export_options *options, const struct report *r,
		  struct json_object *set)
{
	_cleanup_free_ char *text =
		sample_export_report("json", options, r, r->snapshot->stack_count);
	struct json_object *object = json_tokener_parse(text);

	assert_non_null(object);
	collect(object, set);
	json_object_put(object);
}

static void print_inspection(struct json_object *set)
{
	const struct export_options options = {.verbose = true};
	_cleanup_free_ char *text = NULL;
	struct sample_inspection s;
	struct json_object *object;

	sample_inspection_fill(&s);
	s.inspection.core = (char *)"core";
	text = sample_inspection_export("json", &options, &s.inspection, SIZE_MAX);
	object = json_tokener_parse(text);
	assert_non_null(object);
	collect(object, set);
	json_object_put(object);
	s.inspection.core = NULL;
	s.inspection.traced = true;
	s.groups[0].origin.stack_id = 1;
	free(text);
	text = sample_inspection_export("json", &options, &s.inspection, SIZE_MAX);
	object = json_tokener_parse(text);
	assert_non_null(object);
	collect(object, set);
	json_object_put(object);
}

static void guard(struct snapshot *s, struct misuse *bad, const struct reported_call *call)
{
	*bad = (struct misuse){.finder = MISUSE_BY_GUARD,
			       .kind = MISUSE_SLACK_OVERWRITE,
			       .mode = ACCESS_WRITE,
			       .count = 1,
			       .address = 15,
			       .block = 16,
			       .thread = 1,
			       .comm = "shop",
			       .calls = {*call, *call, *call},
			       .suppressed = "known"};
	s->guard = (struct guard_state){.asked = true,
					.reason = "it has ended",
					.oldest_free_ms = 1,
					.amid = 1,
					.unseen = 1};
	s->misuses[MISUSE_BY_GUARD] = (struct misuse_list){bad, 1};
}

static const struct export_options all_options = {
	.verbose = true, .show_older = true, .older_ns = 1, .suppressions = SUPPRESSION_VALGRIND};

static struct misuse bad_free_by(const struct reported_call *call)
{
	return (struct misuse){.finder = MISUSE_BY_CHECK,
			       .kind = MISUSE_INSIDE_BLOCK,
			       .count = 1,
			       .alloc_family = FAMILY_NEW,
			       .free_family = FAMILY_MALLOC,
			       .address = 24,
			       .block = 16,
			       .size = 32,
			       .calls = {*call, *call, *call},
			       .suppressed = "known"};
}

static struct findings *findings_of_all_keys(void)
{
	struct findings *f = calloc(1, sizeof(*f));
	struct finding *one;

	assert_non_null(f);
	one = findings_add(f, FINDING_HOLDS, 1, "text");
	assert_non_null(one);
	one->share = 1;
	one->where = (struct finding_place){strdup("f"), strdup("file"), strdup("module"), 1,
					    strdup("variable")};
	return f;
}

static void print_everything(struct json_object *set)
{
	struct frame mangled = sample_caller;
	const struct frame *const frames[] = {&sample_malloc, &mangled, &sample_nowhere};
	struct stack_figures figures = {.lifetimes = {1, 2},
					.outlived_ns = 1,
					.outlived = {1, 1},
					.temporary = {1, 1},
					.usable = {2, 1},
					.usable_asked = 1,
					.sizes = {.counts = {1}}};
	struct stack stack = sample_stacks[0];
	const struct reported_call call = {
		.known = true, .frames = frames, .frame_count = ARRAY_SIZE(frames)};
	struct misuse bad = bad_free_by(&call);
	struct misuse access;
	struct suppressed *suppressed = calloc(1, sizeof(*suppressed) + sizeof(suppressed->by[0]));
	struct scope_kept kept = {.bytes = 1, .bytes_max = 2, .calls = 1};
	struct scope scope = {.function = (char *)"handle",
			      .tag = (char *)"GET",
			      .tags = 1,
			      .kept_calls = &kept,
			      .kept_count = 1};
	struct snapshot s = sample_snapshot();
	struct report *r;

	assert_non_null(suppressed);
	*suppressed = (struct suppressed){.total = {1, 1}, .stacks = 1, .count = 1};
	suppressed->by[0] = (struct suppressed_by){
		.name = "known", .file = "file", .line = 1, .amount = {1, 1}, .stacks = 1};
	mangled.symbol = "_ZN4Cart3addERK5Order";
	mangled.line_begins = true;
	stack.frames = frames;
	stack.held_by = "a global\na block";
	stack.contents = "x";
	stack.contents_len = 1;
	s.stacks = &stack;
	s.stack_count = 1;
	stack.figures = s.figures = &figures;
	s.figures_kept = figures_of_bits(UINT64_MAX);
	s.peak = (struct peak){.bytes = 1, .time_ns = 1, .captured_bytes = 1, .captured_ns = 1};
	scope.times[3] = 1;
	s.scoped = true;
	s.scopes = (struct scopes_list){.items = &scope, .count = 1};
	stack.scope = 1;
	s.processes = 2;
	s.execed = s.children_late = s.frees_checked = true;
	s.end = (struct process_end){END_MEMORY_LIMIT, 9, 1, "/a", 1, END_SENT_AGAIN, "init"};
	s.sample_bytes = 4096;
	s.attached = ATTACHED_BY_USDT;
	s.ages_unread = 300000;
	missing_add(&s.missing, "ages", "ages of blocks are not known", "running it: no");
	s.arenas.count = 1;
	s.heaps.kinds = 1u << UNTRACED_GO;
	s.heaps.bytes[UNTRACED_GO] = 1;
	s.growth = (struct growth){3, 2, "a mapping", false, 1, 1};
	s.verdict.state = VERDICT_TAKEN;
	s.verdict.before[VERDICT_DEFINITE].count = 1;
	s.verdict.unjoined.count = 1;
	stack.kept.count = stack.hangs.count = 1;
	s.misuses[MISUSE_BY_CHECK] = (struct misuse_list){&bad, 1};
	guard(&s, &access, &call);
	r = sample_report(&s);
	r->suppressed = suppressed;
	r->findings = findings_of_all_keys();
	r->notes[0].trend =
		(struct trend){.kind = TREND_GROWING, .growth_known = true, .growth = 1};
	print(&all_options, r, set);
	s.verdict.state = VERDICT_REFUSED;
	s.end = (struct process_end){.cause = END_EXIT};
	/* A sample says nothing of one call. */
	s.sample_bytes = 0;
	print(&all_options, r, set);
	report_drop(r);
	print_inspection(set);
}

/* What is marked as a name (.Va, .It Va) in the section, and quoted in its example. */
static void read_manual(struct json_object *set)
{
	_cleanup_fclose_ FILE *file = fopen("docs/memleakbpf.1", "re");
	char line[1024];
	bool inside = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *rest = line, *word;

		/* Those of a survey, and of the kernel's memory, are objects of their own. */
		if (inside &&
		    (!strncmp(line, ".Cm kernel", 10) || !strncmp(line, ".Cm survey", 10)))
			break;
		inside |= !strcmp(line, ".Ss JSON\n");
		if (!inside)
			continue;
		if (!strncmp(line, ".Va ", 4) || !strncmp(line, ".It Va ", 7)) {
			rest = strstr(line, "Va ") + 3;
			while ((word = strsep(&rest, " \n")) != NULL) {
				/* Macros and punctuation are no names. */
				if (*word >= 'a' && *word <= 'z')
					add(set, word);
			}
			continue;
		}
		while ((word = strchr(rest, '"')) != NULL &&
		       (rest = strchr(word + 1, '"')) != NULL) {
			*rest++ = '\0';
			if (*rest == ':' && strcmp(word + 1, "CAUSE") != 0)
				add(set, word + 1);
		}
	}
	assert_true(inside);
}

static size_t missing(struct json_object *from, struct json_object *in, const char *where)
{
	size_t count = 0;

	json_object_object_foreach(from, key, value)
	{
		(void)value;
		if (json_object_object_get_ex(in, key, NULL))
			continue;
		fprintf(stderr, "\"%s\" is not in %s\n", key, where);
		count++;
	}
	return count;
}

static void manual(void **state)
{
	struct json_object *printed = json_object_new_object(), *named = json_object_new_object();

	(void)state;
	print_everything(printed);
	read_manual(named);
	assert_int_equal(missing(printed, named, "docs/memleakbpf.1, JSON"), 0);
	assert_int_equal(missing(named, printed, "what -f json prints"), 0);
	json_object_put(printed);
	json_object_put(named);
}

/* The keys of each "properties" in it. */
static void collect_properties(struct json_object *value, struct json_object *set)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			collect_properties(json_object_array_get_idx(value, i), set);
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			if (!strcmp(key, "properties")) {
				json_object_object_foreach(member, property, schema)
				{
					(void)schema;
					add(set, property);
				}
			}
			collect_properties(member, set);
		}
	}
}

static void schemas(void **state)
{
	static const char *const files[] = {"docs/schema/common.json", "docs/schema/snapshot.json",
					    "docs/schema/inspection.json"};
	struct json_object *printed = json_object_new_object(), *named = json_object_new_object();

	(void)state;
	print_everything(printed);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct json_object *schema = json_object_from_file(files[i]);

		assert_non_null(schema);
		collect_properties(schema, named);
		json_object_put(schema);
	}
	assert_int_equal(missing(printed, named, "docs/schema"), 0);
	assert_int_equal(missing(named, printed, "what -f json prints"), 0);
	json_object_put(printed);
	json_object_put(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(manual),
		cmocka_unit_test(schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
