// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/suppress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/suppress_rule.h"
#include "user/base/log.h"
#include "user/base/util.h"

#define FILE_MAX (16u << 20) /* bytes */

struct file_name {
	struct file_name *next;
	char name[];
};

struct suppressions {
	struct rule_list rules;
	struct file_name *files;
	bool builtin;
};

struct suppressions *suppressions_new(void)
{
	return calloc(1, sizeof(struct suppressions));
}

void suppressions_free(struct suppressions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rules.count; i++)
		rule_release(&s->rules.items[i]);
	free(s->rules.items);
	while (s->files) {
		struct file_name *next = s->files->next;

		free(s->files);
		s->files = next;
	}
	free(s);
}

static const char *suppress_keep_name(struct suppressions *s, const char *file)
{
	size_t size = strlen(file) + 1;
	struct file_name *kept = malloc(sizeof(*kept) + size);

	if (!kept)
		return NULL;
	memcpy(kept->name, file, size);
	kept->next = s->files;
	s->files = kept;
	return kept->name;
}

int suppressions_parse(struct suppressions *s, const char *file, const char *text, size_t len)
{
	size_t before = s->rules.count, others = s->rules.other_kinds;
	const char *kept = file ? suppress_keep_name(s, file) : NULL;
	int err = file && !kept ? log_errno(ENOMEM, "reading suppressions") : 0;

	if (!err)
		err = rules_parse(&s->rules, file, text, len);
	for (size_t i = before; i < s->rules.count; i++)
		s->rules.items[i].file = kept;
	if (!err && s->rules.other_kinds > others)
		log_debug(
			"%s: %zu suppressions passed over: for errors that are not looked for here",
			file, s->rules.other_kinds - others);
	return err;
}

int suppressions_add_builtin(struct suppressions *s)
{
	s->builtin = true;
	return suppressions_parse(s, NULL, suppress_builtin, strlen(suppress_builtin));
}

/* The whole file, malloc'ed. A pipe will do: `--suppressions <(…)`. */
static int suppress_read_file(FILE *file, const char *path, char **text, size_t *len)
{
	_cleanup_free_ char *buffer = NULL;
	size_t room = 4096, used = 0;

	for (;;) {
		char *grown = realloc(buffer, room);

		if (!grown)
			return log_errno(ENOMEM, "reading suppressions from %s", path);
		buffer = grown;
		used += fread(buffer + used, 1, room - used, file);
		if (used < room)
			break;
		if (room >= FILE_MAX) {
			log_error("%s: more than %u MiB: not a file of suppressions", path,
				  FILE_MAX >> 20);
			return -EFBIG;
		}
		room *= 2;
	}
	if (ferror(file))
		return log_errno(errno ? errno : EIO, "cannot read the suppressions in %s", path);
	*text = TAKE_PTR(buffer);
	*len = used;
	return 0;
}

int suppressions_read(struct suppressions *s, FILE *file, const char *path)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0, before = s->rules.count;
	int err = suppress_read_file(file, path, &text, &len);

	if (!err)
		err = suppressions_parse(s, path, text, len);
	if (!err && s->rules.count == before)
		log_warn("%s: no suppression in it", path);
	return err;
}

/*
 * The classes of the stack's blocks. Without a verdict all are in one unknown class: any will do.
 */
static unsigned suppress_classes_of(const struct snapshot *snapshot, const struct stack *stack)
{
	unsigned classes = 0;

	if (snapshot->verdict.state != VERDICT_TAKEN)
		return RULE_ALL_CLASSES;
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (stack->verdict[i].count || stack->verdict[i].bytes)
			classes |= 1u << i;
	}
	return classes;
}

static void suppress_stack(struct rule *rule, const struct snapshot *snapshot,
			   const struct stack *stack, unsigned classes)
{
	if (snapshot->verdict.state != VERDICT_TAKEN) {
		amount_add(&rule->amount, &stack->live);
	} else {
		for (int i = 0; i < VERDICT_CLASSES; i++) {
			if (classes & 1u << i)
				amount_add(&rule->amount, &stack->verdict[i]);
		}
	}
	rule->stacks++;
	rule->used = true;
}

/*
 * Of the remaining classes, those that the rule is about: all or none where they are unknown. The C
 * library's memory for a thread is lost if nobody joined the thread: that is no design of the
 * library's.
 */
static unsigned suppress_rule_classes(const struct rule *rule, const struct snapshot *snapshot,
				      const struct stack *stack, unsigned left)
{
	if (rule->frees || rule->accesses)
		return 0;
	if (!rule->file && stack->unjoined.count)
		left &= ~(1u << VERDICT_DEFINITE | 1u << VERDICT_INDIRECT);
	if (snapshot->verdict.state == VERDICT_TAKEN)
		return rule->classes & left;
	return rule->classes ? left : 0;
}

bool suppressions_concern(const struct suppressions *s, const struct snapshot *snapshot,
			  const struct stack *stack)
{
	unsigned classes = suppress_classes_of(snapshot, stack);

	for (size_t i = 0; stack->live.count && i < s->rules.count; i++) {
		if (suppress_rule_classes(&s->rules.items[i], snapshot, stack, classes))
			return true;
	}
	return false;
}

static void suppress_apply_to(struct suppressions *s, const struct snapshot *snapshot,
			      const struct stack *stack, struct stack_notes *notes)
{
	unsigned left = suppress_classes_of(snapshot, stack);

	notes->suppressed = 0;
	notes->hidden = false;
	if (!notes->frames || !left || !(stack->live.count || stack->live.bytes))
		return;
	for (size_t i = 0; left && i < s->rules.count; i++) {
		struct rule *rule = &s->rules.items[i];
		unsigned classes = suppress_rule_classes(rule, snapshot, stack, left);

		if (!classes || !rule_matches(rule, notes->frames, notes->frame_count))
			continue;
		suppress_stack(rule, snapshot, stack, classes);
		notes->suppressed |= classes;
		left &= ~classes;
	}
	notes->hidden = !left;
}

/* Several built-in ones are about one thing, and follow each other. */
static bool suppress_same_subject(const struct suppressed *out, const struct rule *rule)
{
	const struct suppressed_by *last = out->count ? &out->by[out->count - 1] : NULL;

	return last && !last->file && !rule->file && !strcmp(last->name, rule->name);
}

/* Collects the rules' sums for the report. */
static struct suppressed *suppress_collect(const struct suppressions *s)
{
	struct suppressed *out;
	size_t n = 0;

	for (size_t i = 0; i < s->rules.count; i++)
		n += s->rules.items[i].stacks != 0;
	out = calloc(1, sizeof(*out) + n * sizeof(out->by[0]));
	if (!out)
		return NULL;
	for (size_t i = 0; i < s->rules.count; i++) {
		const struct rule *rule = &s->rules.items[i];

		if (!rule->stacks)
			continue;
		amount_add(&out->total, &rule->amount);
		if (suppress_same_subject(out, rule)) {
			amount_add(&out->by[out->count - 1].amount, &rule->amount);
			out->by[out->count - 1].stacks += rule->stacks;
			continue;
		}
		out->by[out->count++] = (struct suppressed_by){
			.name = rule->name,
			.file = rule->file,
			.line = rule->line,
			.amount = rule->amount,
			.stacks = rule->stacks,
		};
	}
	return out;
}

int suppressions_apply(struct suppressions *s, struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	struct suppressed *made;

	for (size_t i = 0; i < s->rules.count; i++) {
		s->rules.items[i].amount = (struct amount){0};
		s->rules.items[i].stacks = 0;
	}
	for (size_t i = 0; i < snapshot->stack_count; i++)
		suppress_apply_to(s, snapshot, &snapshot->stacks[i], &report->notes[i]);
	made = suppress_collect(s);
	if (!made)
		return -ENOMEM;
	for (size_t i = 0; i < snapshot->stack_count; i++)
		made->stacks += report->notes[i].hidden;
	free(report->suppressed);
	report->suppressed = made;
	return 0;
}

/*
 * At the end of a thread glibc calls free() for each block in the thread's cache, which the program
 * has freed before (malloc.c, tcache_thread_shutdown). Without its symbol table these frames have
 * no names. Then we know the cache by the frames below: only libc's own unnamed code, down to the
 * thread's start.
 */
static bool suppress_is_thread_cache(const struct frame *const *frames, size_t count)
{
	/* free, tcache_thread_shutdown's code, start_thread, clone3 */
	if (count < 4 || !frame_in_libc(frames[0]))
		return false;
	for (size_t i = 1; i < count; i++) {
		if (frames[i]->function || !frame_in_libc(frames[i]))
			return false;
	}
	return true;
}

const char *suppressions_match_free(struct suppressions *s, const struct frame *const *frames,
				    size_t count)
{
	for (size_t i = 0; i < s->rules.count; i++) {
		struct rule *rule = &s->rules.items[i];

		if (!rule->frees || !rule_matches(rule, frames, count))
			continue;
		rule->used = true;
		return rule->name;
	}
	return s->builtin && suppress_is_thread_cache(frames, count) ? SUPPRESS_THREAD_CACHE : NULL;
}

const char *suppressions_match_access(struct suppressions *s, const struct frame *const *frames,
				      size_t count)
{
	for (size_t i = 0; i < s->rules.count; i++) {
		struct rule *rule = &s->rules.items[i];

		if (!rule->accesses || !rule_matches(rule, frames, count))
			continue;
		rule->used = true;
		return rule->name;
	}
	return NULL;
}

void suppressions_log_unused(const struct suppressions *s)
{
	for (size_t i = 0; i < s->rules.count; i++) {
		const struct rule *rule = &s->rules.items[i];

		if (!rule->used && rule->file)
			log_debug("%s:%u: suppression '%s' was not used", rule->file, rule->line,
				  rule->name);
	}
}
