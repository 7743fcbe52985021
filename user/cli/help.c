// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/help.h"

#include <errno.h>
#include <string.h>

static const char usage[] =
	"Usage: memleakbpf -p PID[,PID...] [OPTION...]   watch running processes\n"
	"       memleakbpf [OPTION...] -- COMMAND [ARG...]   run one, report at its end\n";

static const char examples[] =
	"Examples:\n"
	"  memleakbpf -p 1234 -i 10          top unfreed stacks of PID 1234 every 10 s\n"
	"  memleakbpf -p 1234 --older 5m     only blocks that live for 5 minutes or more\n"
	"  memleakbpf -p 1234 -s 512k        sampled: cheap enough for busy servers\n"
	"  memleakbpf --error-exitcode 9 -- ./test   exit with 9 if it leaks\n";

/* Sizes: 4096, 64k, 1M; durations: 10, 500ms, 2s, 5m, 1h. */
static const char options_text[] =
	"Options (sizes: 4096, 64k, 1M; durations: 10, 500ms, 2s, 5m, 1h):\n"
	"  -i, --interval DUR  time between snapshots [10]  -n, --count N  stop after N\n"
	"  -T, --top N         stacks to show [10]   --sort live|alloc|growth|count\n"
	"  -f, --format FMT    %-20s  -o, --output FILE\n"
	"  -z, -Z SIZE         blocks of at least, at most SIZE   --older DUR  older than\n"
	"  -s, --sample SIZE   record one in SIZE bytes, estimate the rest\n"
	"  --children HOW      late|exact|none   --no-follow  same as none\n"
	"  -O, --object FILE   only this allocator   --symbols-prefix PREFIX  e.g. je_\n"
	"  --alloc-fn NAME:SIZEARG[:COUNTARG], --free-fn NAME:PTRARG  own allocators\n"
	"  --mmap              mmap and munmap too   --no-inlines  leave inlined calls out\n"
	"  --attach auto|session|multi|single, --stack auto|dwarf|fp, --depth N [128]\n"
	"  --max-live N [2097152], --max-stacks N [65536]  table sizes\n"
	"  --[no-]debuginfod   ask DEBUGINFOD_URLS   --error-exitcode N  if leaks remain\n"
	"  -v, --verbose  more; twice: all   --version   -h, --help   man memleakbpf\n";

const char help_doctor[] =
	"Usage: memleakbpf doctor [-p PID[,PID...]] [-v]\n"
	"Says what this kernel and machine allow, and what to do about what they do not.\n"
	"\n"
	"  -p, --pid PID       also what would be traced in these processes, and how\n"
	"  -v, --verbose       more detail\n"
	"  --version   -h, --help\n";

static int result_of(FILE *out)
{
	errno = 0;
	if (!fflush(out) && !ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

static void print_commands(FILE *out, const struct command *commands)
{
	for (const struct command *c = commands; c->run || c->check || c->name; c++) {
		if (c->name)
			fprintf(out, "       memleakbpf %-8s %s\n", c->name, c->summary);
	}
}

int help_print(FILE *out, const struct command *commands, const struct command *command)
{
	const struct exporter_format *format;
	char formats[128] = "";

	if (command->help) {
		fputs(command->help, out);
		return result_of(out);
	}
	for (size_t i = 0; (format = export_format_at(i)) != NULL; i++) {
		size_t used = strlen(formats);

		snprintf(formats + used, sizeof(formats) - used, "%s%s", i ? "|" : "",
			 format->name);
	}
	fputs(usage, out);
	print_commands(out, commands);
	fputs("\n", out);
	fputs(examples, out);
	fputs("\n", out);
	fprintf(out, options_text, formats);
	return result_of(out);
}

int help_print_version(FILE *out)
{
	fprintf(out, "memleakbpf %s\n", MEMLEAKBPF_VERSION);
	return result_of(out);
}
