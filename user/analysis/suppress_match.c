// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/suppress_rule.h"

/* Valgrind's name for an unknown function or object. */
#define UNKNOWN "???"

void rule_release(struct rule *rule)
{
	for (size_t i = 0; i < rule->location_count; i++)
		free(rule->locations[i].pattern);
	free(rule->locations);
	free(rule->name);
}

bool wildcard_match(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = text;

	while (*text || *pattern) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*text && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star && *retry) {
			/* The last star takes one character more. */
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	return true;
}

/* The first place of the pattern's next piece, which ends before `*`, `$` or the end. */
static const char *match_find_piece(const char *text, const char *piece, size_t len)
{
	return memmem(text, strlen(text), piece, len);
}

/*
 * Decides like sanitizer_common/sanitizer_suppressions.cpp, to the letter: each piece goes to the
 * first place where it fits, so `o$` does not match "foo".
 */
bool template_match(const char *pattern, const char *text)
{
	bool anchored = *pattern == '^', star = false;

	if (!text || !*text)
		return false;
	pattern += anchored;
	while (*pattern) {
		size_t len = strcspn(pattern, "*$");
		const char *found;

		if (*pattern == '*') {
			anchored = false;
			star = true;
			pattern++;
			continue;
		}
		if (*pattern == '$')
			return !*text || star;
		if (!*text)
			return false;
		found = match_find_piece(text, pattern, len);
		if (!found || (anchored && found != text))
			return false;
		text = found + len;
		pattern += len;
		anchored = star = false;
	}
	return true;
}

static const char *match_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Valgrind's name for all frames outside of main(). */
static bool match_is_below_main(const char *function)
{
	static const char *const names[] = {"__libc_start_main", "__libc_start_call_main",
					    "__libc_start_main_impl", "generic_start_main",
					    "_start"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(function, names[i]))
			return true;
	}
	return false;
}

/*
 * libstdc++'s new[] jumps to new, which leaves no frame of its own: a frame of new may stand for
 * both.
 */
static bool match_array(const char *pattern, const struct frame *frame)
{
	char name[64];

	if (!frame->symbol || strncmp(frame->symbol, "_Znw", 4) != 0)
		return false;
	snprintf(name, sizeof(name), "_Zna%s", frame->symbol + 4);
	return wildcard_match(pattern, name) ||
	       wildcard_match(pattern, "operator new[](unsigned long)");
}

/* Valgrind writes mangled names; people may write what they read in reports. */
static bool match_function(const char *pattern, const struct frame *frame)
{
	if (!frame->function)
		return wildcard_match(pattern, UNKNOWN);
	if (wildcard_match(pattern, frame->function) ||
	    (frame->symbol && wildcard_match(pattern, frame->symbol)) ||
	    match_array(pattern, frame))
		return true;
	return frame->kind == FRAME_KIND_NATIVE && match_is_below_main(frame->function) &&
	       wildcard_match(pattern, "(below main)");
}

bool frame_in_libc(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_NATIVE && frame->module &&
	       (!strncmp(frame->module, "libc.so", 7) || !strncmp(frame->module, "libc-", 5));
}

static bool match_object(const char *pattern, const struct frame *frame)
{
	const char *path = frame->module_path ? frame->module_path : frame->module;

	return wildcard_match(pattern, path ? path : UNKNOWN);
}

static bool match_source(const struct rule_location *location, const struct frame *frame)
{
	if (!frame->file || (location->lineno && location->lineno != frame->line))
		return false;
	/* Valgrind knows the name without the directory. */
	return wildcard_match(location->pattern, match_base_name(frame->file)) ||
	       wildcard_match(location->pattern, frame->file);
}

static bool match_location(const struct rule_location *location, const struct frame *frame)
{
	switch (location->kind) {
	case LOCATION_FUNCTION:
		return match_function(location->pattern, frame) &&
		       (!location->in_libc || frame_in_libc(frame));
	case LOCATION_OBJECT:
		return match_object(location->pattern, frame);
	case LOCATION_SOURCE:
		return match_source(location, frame);
	case LOCATION_ANY:
		break;
	}
	return false;
}

/* The locations are a prefix of the stack; "..." means for frames what `*` means for characters. */
static bool match_locations(const struct rule *rule, const struct frame *const *frames,
			    size_t count)
{
	size_t at = 0, frame = 0, star = SIZE_MAX, retry = 0;

	while (at < rule->location_count) {
		const struct rule_location *location = &rule->locations[at];

		if (location->kind == LOCATION_ANY) {
			star = at++;
			retry = frame;
		} else if (frame < count && match_location(location, frames[frame])) {
			at++;
			frame++;
		} else if (star != SIZE_MAX && retry < count) {
			at = star + 1;
			frame = ++retry;
		} else {
			return false;
		}
	}
	return true;
}

static bool match_pattern(const char *pattern, const struct frame *const *frames, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = frames[i];
		const char *path = frame->module_path ? frame->module_path : frame->module;

		if (template_match(pattern, frame->function) ||
		    template_match(pattern, frame->symbol) ||
		    template_match(pattern, frame->file) || template_match(pattern, path))
			return true;
	}
	return false;
}

static bool match_is_operator(const struct frame *frame)
{
	return frame_is_operator_new(frame) ||
	       (frame->function && !strncmp(frame->function, "operator delete", 15));
}

bool rule_matches(const struct rule *rule, const struct frame *const *frames, size_t count)
{
	if (rule->pattern)
		return match_pattern(rule->name, frames, count);
	for (size_t start = 0; start < count; start++) {
		if (match_locations(rule, frames + start, count - start))
			return true;
		/*
		 * Valgrind replaces `operator new` by a function of its own, which then is the
		 * innermost frame. The real one calls malloc (and new[] calls new).
		 */
		if (start + 1 >= count || !match_is_operator(frames[start + 1]))
			return false;
	}
	return false;
}
