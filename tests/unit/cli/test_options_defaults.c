// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Defaults of options from a file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/cli/options_line.h"

static char base[] = "/tmp/defaults.XXXXXX", directory[64], file[96];

static int make_place(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(directory, sizeof(directory), "%s/memleakbpf", base);
	snprintf(file, sizeof(file), "%s/config", directory);
	return mkdir(directory, 0755) || setenv("XDG_CONFIG_HOME", base, 1);
}

static int remove_place(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(directory) || rmdir(base);
}

static void put(const char *text)
{
	FILE *out = fopen(file, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(file, 0644), 0);
}

static size_t top_of(const char *line)
{
	const struct options *options = parse_good(line);
	size_t top = options->values.show.top;

	options_free(options);
	return top;
}

static void applied(void **state)
{
	const struct options *options;

	(void)state;
	put("# mine\n\n  top = 20   # more\nno-inlines\nsort growth\nmin-growth = "
	    "2M\nalloc-fn=get:1");
	options = parse_good("-p 1");
	assert_int_equal(options->config.watch.show.top, 20);
	assert_int_equal(options->config.watch.show.sort, RANK_GROWTH);
	assert_false(options->config.watch.symbols.inlines);
	assert_int_equal(options->config.watch.trace.alloc_fns.count, 1);
	assert_string_equal(options->config.watch.trace.alloc_fns.items[0], "get:1");
	options_free(options);
	/* What argv says comes before it; what another subcommand takes is its own affair. */
	assert_int_equal(top_of("-p 1 -T 3"), 3);
	assert_int_equal(top_of("--no-config -p 1"), 10);
	assert_int_equal(top_of("survey"), 20);
	options = parse_good("survey");
	assert_int_equal(options->config.survey.probes.min_growth, 2 << 20);
	options_free(options);
	/* A COMMAND's own words are no options. */
	assert_int_equal(top_of("-- true --no-config"), 20);
}

/* What the line logs, cut to what fits. */
static void assert_refused(const char *text, const char *says)
{
	const struct options *options = NULL;
	FILE *log = tmpfile();
	int old = dup(STDERR_FILENO), err;
	char line[512] = "";

	put(text);
	assert_non_null(log);
	assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
	err = parse("-p 1", &options);
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	rewind(log);
	fread(line, 1, sizeof(line) - 1, log);
	fclose(log);
	if (err != -EINVAL || !strstr(line, says))
		fail_msg("'%s': %d, %s", text, err, line);
	/* Without it all is well. */
	assert_int_equal(top_of("-p 1 --no-config"), 10);
}

static void refused(void **state)
{
	(void)state;
	assert_refused("top = 5\nnosuch = 1\n", "memleakbpf/config:2: 'nosuch' is no option");
	assert_refused("top = x\n", "memleakbpf/config:1: top: 'x' is not a number");
	assert_refused("\n\ntop\n", "memleakbpf/config:3: top: needs a value");
	assert_refused("merge = yes\n", "memleakbpf/config:1: merge: takes no value");
	assert_refused("help\n", "memleakbpf/config:1: 'help' is no option");
	assert_refused("no-config\n", "memleakbpf/config:1: 'no-config' is no option");
	assert_refused("= 5\n", "memleakbpf/config:1: ");
}

static void untrusted(void **state)
{
	(void)state;
	put("top = 20\n");
	assert_int_equal(top_of("-p 1"), 20);
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(top_of("-p 1"), 10);
	assert_int_equal(chmod(file, 0644), 0);
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(top_of("-p 1"), 10);
	assert_int_equal(chmod(directory, 0755), 0);
	if (!geteuid()) {
		assert_int_equal(chown(file, 12345, 12345), 0);
		assert_int_equal(top_of("-p 1"), 10);
	}
	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink("/etc/hostname", file), 0);
	assert_int_equal(top_of("-p 1"), 10);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(mkfifo(file, 0644), 0);
	assert_int_equal(top_of("-p 1"), 10);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(top_of("-p 1"), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(applied),
		cmocka_unit_test(refused),
		cmocka_unit_test(untrusted),
	};

	return cmocka_run_group_tests(tests, make_place, remove_place);
}
