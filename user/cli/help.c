// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/help.h"

#include <errno.h>
#include <string.h>

/* Spaces up to here align what commands do. */
#define USAGE_WIDTH 44

static const char usage[] =
	"Usage: memleakbpf -p PID[,PID...] [OPTION...]       watch running processes\n"
	"       memleakbpf [OPTION...] -- COMMAND [ARG...]   run it, report at its end\n";

static const char options_text[] =
	"Options (TIME: 10, 500ms, 2s, 5m, 1h; SIZE: 4096, 64k, 1M):\n"
	"  -p, --pid PID,...       watch these processes\n"
	"  -i, --interval TIME     time between snapshots (10; a COMMAND: at its end)\n"
	"  -n, --count N           stop after N snapshots\n"
	"  -T, --top N             stacks to show (10)\n"
	"      --sort ORDER        live, alloc, growth, count or suspect\n"
	"      --older TIME        rank only what is older than TIME\n"
	"      --merge             one report for all processes of a program\n"
	"  -f, --format FORMAT     %s\n"
	"  -o, --output FILE       instead of standard output\n"
	"  -s, --sample SIZE       record one in SIZE bytes: cheap, numbers are estimates\n"
	"  -z, --min-size SIZE, -Z, --max-size SIZE   trace only blocks of these sizes\n"
	"      --verdict           tell lost from held (stops it for a moment)\n"
	"      --leak-only         only lost blocks, with --verdict\n"
	"      --error-exitcode N  exit status if leaks were found\n"
	"      --no-inlines        leave inlined calls out\n"
	"      --debuginfod, --no-debuginfod  fetch symbols (if DEBUGINFOD_URLS is set)\n"
	"  -v, --verbose           more; -vv: all of it\n"
	"      --version, -h, --help\n"
	"      --help=leaks        more of verdicts, suppressions and wrong frees\n"
	"      --help=probes       which functions are traced, how, and how deep\n";

static const char examples[] =
	"Examples:\n"
	"  memleakbpf -p 1234 -i 10           top unfreed stacks of 1234 every 10 s\n"
	"  memleakbpf -p 1234 --older 5m      rank only blocks older than 5 minutes\n"
	"  memleakbpf -p 1234 -s 512k         sampled, for busy servers\n"
	"  memleakbpf --leak-only --error-exitcode 9 -- ./test   for CI\n";

static const char leaks_text[] =
	"What is a leak (watch, run and record; see also memleakbpf --help):\n"
	"      --verdict           at each snapshot, or at once at SIGUSR2: which blocks\n"
	"                          nothing points to any more\n"
	"      --max-pause TIME    stop the process for no longer than that (500ms)\n"
	"      --snapshot=fork     by a copy of it: a shorter pause on large heaps\n"
	"      --leak-check-heuristics LIST   which pointers into a block hold it: none,\n"
	"                          all, or some of stdstring, length64, newarray,\n"
	"                          multipleinheritance\n"
	"      --tagged            pointers may have tags in their top byte\n"
	"      --contents N        show so many bytes of lost blocks (may be private)\n"
	"      --leak-only         show only lost blocks\n"
	"      --sort suspect      rank by what is lost, grows and is old\n"
	"      --error-exitcode N  exit status if leaks were found\n"
	"      --suppressions FILE hide known leaks: a file of LeakSanitizer or Valgrind\n"
	"      --gen-suppressions[=valgrind|lsan]   print one for each stack shown\n"
	"      --no-default-suppressions   show what libraries keep by design, too\n"
	"      --check-frees[=N]   report double, wild and mismatched frees as well\n"
	"                          (remembers N freed blocks: 65536)\n"
	"\n"
	"Examples:\n"
	"  memleakbpf -p 1234 --verdict --sort suspect -i 60\n"
	"  memleakbpf --leak-only --suppressions ci.supp --error-exitcode 9 -- ./test\n"
	"  memleakbpf --check-frees -- ./test\n";

static const char probes_text[] =
	"Which functions are traced, and how (see also memleakbpf --help):\n"
	"      --children HOW      forked children: late (from when they are seen), exact\n"
	"                          (from their first instruction; a COMMAND's default) or\n"
	"                          none (--no-follow)\n"
	"      --mmap              trace mmap and munmap as well\n"
	"  -O, --object FILE       trace this allocator only\n"
	"      --symbols-prefix P  trace Pmalloc, Pfree ... too, e.g. je_\n"
	"      --alloc-fn NAME:SIZEARG[:COUNTARG]   this function allocates\n"
	"      --free-fn NAME:PTRARG   and this one frees; arguments count from 1\n"
	"      --attach HOW        kind of probe: auto, session, multi or single\n"
	"      --stack HOW         auto, dwarf (unwind tables) or fp (frame pointers)\n"
	"      --depth N           frames of a stack (128)\n"
	"      --max-live N        blocks that can be live at a time (2097152)\n"
	"      --max-stacks N      stacks that can be told apart (65536)\n"
	"\n"
	"Examples:\n"
	"  memleakbpf doctor -p 1234          which functions would be traced, and how\n"
	"  memleakbpf -p 1234 --alloc-fn pool_get:2 --free-fn pool_put:1\n"
	"  memleakbpf -p 1234 --symbols-prefix je_ --stack fp\n";

const char help_doctor[] =
	"Usage: memleakbpf doctor [-p PID[,PID...]] [-f text|json] [-v]\n"
	"Says what this kernel and machine allow, and what to do about what they do not.\n"
	"\n"
	"  -p, --pid PID       also what would be traced in these processes, and how\n"
	"  -f, --format FORMAT text or json: one object about the machine, without -p\n"
	"  -v, --verbose       more detail\n"
	"  --version   -h, --help\n"
	"\n"
	"Examples:\n"
	"  memleakbpf doctor                  what is missing here, and the cure\n"
	"  memleakbpf doctor -p 1234          which probes 1234 would get\n";

const char help_record[] =
	"Usage: memleakbpf record -p PID[,PID...] -o FILE [OPTION...]\n"
	"       memleakbpf record -o FILE [OPTION...] -- COMMAND [ARG...]\n"
	"Writes a snapshot every interval into a file that report and diff read on any machine.\n"
	"\n"
	"  -o, --output FILE   the recording\n"
	"  -i, --interval TIME, -n, --count N, and the options of memleakbpf that say what is\n"
	"  traced: see memleakbpf --help\n"
	"  -v, --verbose   --version   -h, --help\n"
	"\n"
	"Examples:\n"
	"  memleakbpf record -p 1234 -i 60 -o shop.mlb     until Ctrl-C\n"
	"  memleakbpf record -o test.mlb -- ./test\n";

const char help_report[] =
	"Usage: memleakbpf report FILE [OPTION...]\n"
	"Shows a recording: the last snapshot of each process, or all of them "
	"in formats that hold\n"
	"a history (json, perfetto, html). TIME: 90s, 5m since its beginning, or "
	"2026-01-02T03:04:05[Z].\n"
	"\n"
	"      --at TIME             the last snapshot until then\n"
	"      --from TIME, --to TIME  all snapshots between\n"
	"  -p, --pid PID,...         of these processes only\n"
	"  -f, --format FORMAT, -T, --top N, --sort ORDER, -o, --output FILE: "
	"see memleakbpf --help\n"
	"      --suppressions FILE, --gen-suppressions, --leak-only: too\n"
	"  -v, --verbose   --version   -h, --help\n"
	"\n"
	"Examples:\n"
	"  memleakbpf report shop.mlb --at 1h\n"
	"  memleakbpf report shop.mlb -f html -o shop.html\n"
	"  memleakbpf report shop.mlb -f folded | flamegraph.pl --countname=bytes >shop.svg\n";

const char help_diff[] =
	"Usage: memleakbpf diff OLD NEW [OPTION...]\n"
	"       memleakbpf diff FILE [--from TIME] [--to TIME] [OPTION...]\n"
	"Says what grew between the last snapshots of two recordings, or between two times of "
	"one.\n"
	"Stacks are matched by their names, so the program may have been restarted or rebuilt.\n"
	"\n"
	"  -p, --pid PID,...     of these processes only\n"
	"  -f, --format FORMAT   text, json, or folded (\"stack old new\", for difffolded.pl's "
	"readers)\n"
	"  -T, --top N           stacks to show (10)\n"
	"      --sort count      by blocks, not bytes\n"
	"      --suppressions FILE   leave these stacks out\n"
	"  -o, --output FILE     instead of standard output\n"
	"  -v, --verbose   --version   -h, --help\n"
	"\n"
	"Examples:\n"
	"  memleakbpf diff shop.mlb --from 5m --to 1h      what grew meanwhile\n"
	"  memleakbpf diff before.mlb after.mlb            the same program, twice\n";

const char help_survey[] =
	"Usage: memleakbpf survey [OPTION...]\n"
	"Watches the memory of all processes, says which of them grow and why it thinks so,\n"
	"and puts sampled probes on the most suspect for a while to name what they allocate.\n"
	"Growing: a suspect from 12 intervals on, leaking from 30 on.\n"
	"\n"
	"  -i, --interval TIME   time between two looks (2)\n"
	"  -n, --count N         stop after N looks\n"
	"  -T, --top N           processes, and stacks of each, to show (10)\n"
	"  -f, --format FORMAT   text, json, perfetto or html\n"
	"  -o, --output FILE     instead of standard output\n"
	"      --record FILE     a recording as well, for report\n"
	"      --cgroup PATH     only what runs in this control group or below\n"
	"      --container NAME  only this container: a name, or the beginning of an id\n"
	"      --user USER       only this user's processes\n"
	"      --comm REGEX, --exclude REGEX   by the name of the command\n"
	"      --suspects N      processes that get probes at a time (3)\n"
	"      --min-growth SIZE probes only on what grows by SIZE an hour (1M)\n"
	"      --window TIME     how long the probes stay (10)\n"
	"      --budget PERCENT  of a CPU that the probes may take, over a minute (2)\n"
	"  -s, --sample SIZE     record one in SIZE bytes (64k)\n"
	"      --no-drill        no probes at all\n"
	"      --metrics ADDRESS:PORT   serve metrics for Prometheus; :9435 is on the loopback\n"
	"      --metrics-processes N    with series of their own (50); the others are summed\n"
	"      --no-inlines, --debuginfod, --no-debuginfod   as in memleakbpf --help\n"
	"  -v, --verbose         more detail\n"
	"  --version   -h, --help\n"
	"\n"
	"Examples:\n"
	"  memleakbpf survey                  until Ctrl-C; a report at every look\n"
	"  memleakbpf survey -i 1 -n 60 --user www-data\n"
	"  memleakbpf survey --container shop --record shop.mlb\n";

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
			fprintf(out, "       memleakbpf %-*s %s\n", USAGE_WIDTH - 11, c->name,
				c->summary);
	}
}

int help_print(FILE *out, const struct command *commands, const struct command *command,
	       enum help_topic topic)
{
	char formats[EXPORT_NAMES_MAX];

	if (topic != HELP_GENERAL) {
		fputs(topic == HELP_LEAKS ? leaks_text : probes_text, out);
		return result_of(out);
	}
	if (command->help) {
		fputs(command->help, out);
		return result_of(out);
	}
	fputs(usage, out);
	print_commands(out, commands);
	fputs("\n", out);
	fprintf(out, options_text, export_names(formats, EXPORT_ANYTHING, ", "));
	fputs("\n", out);
	fputs(examples, out);
	return result_of(out);
}

int help_print_version(FILE *out)
{
	fprintf(out, "memleakbpf %s\n", MEMLEAKBPF_VERSION);
	return result_of(out);
}
