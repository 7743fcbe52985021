// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* libFuzzer: a command line, one word a line. */
#include "tests/fuzz/fuzz.h"

#include "user/base/parse.h"
#include "user/cli/commands.h"
#include "user/cli/options.h"
#include "user/target/allocator.h"

#define MAX_WORDS 64

/* The parsers behind single options, which getopt would hand whole words to anyhow. */
static void parse_word(const char *word)
{
	_cleanup_free_ pid_t *pids = NULL;
	struct alloc_fn fn = {.name = NULL};
	uint64_t value;
	size_t count = 0;

	parse_duration(word, &value);
	parse_size(word, &value);
	parse_date(word, &value);
	parse_count(word, 1, 1000, &value);
	parse_pids(word, &pids, &count);
	for (size_t i = 0; i < count; i++)
		MUST(pids[i] > 0);
	if (!alloc_fn_parse_alloc(word, &fn)) {
		MUST(fn.size_arg >= 1 && fn.size_arg <= 6 && fn.count_arg <= 6);
		alloc_fn_release(&fn);
	}
	if (!alloc_fn_parse_free(word, &fn)) {
		MUST(fn.ptr_arg >= 1 && fn.ptr_arg <= 6);
		alloc_fn_release(&fn);
	}
}

/*
 * glibc's regcomp() doubles what it holds at each nested repetition. Whoever types such a --comm
 * takes his own memory; found again and again it would only hide other things.
 */
static bool repeats_too_often(const char *text)
{
	unsigned plus = 0, brace = 0;

	for (; *text; text++) {
		plus += *text == '+';
		brace += *text == '{';
	}
	return plus > 8 || brace > 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	const struct options *options = NULL;
	char *words[MAX_WORDS + 2] = {"memleakbpf"};
	char *at = text, *word;
	int count = 1, err;

	if (repeats_too_often(text))
		return 0;
	while (count <= MAX_WORDS && (word = strsep(&at, "\n"))) {
		words[count++] = word;
		parse_word(word);
	}
	err = options_parse(cli_commands, count, words, &options);
	MUST(!err == !!options);
	options_free(options);
	return 0;
}
