// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs a program that prints the truth about its stacks (tests/unwind/targets/truth.h) and compares
 * ours, frame by frame:
 *   harness [-v] [-f] [-e END] PROGRAM [ARG…]      -f: by frame pointers only; -e "no rows": stacks
 *   may end so as well
 * or measures a running process, whose stacks are only counted:
 *   harness [-k|-c] -p PID -o OBJECT -s SYMBOL -t SECONDS      -k: the kernel's bpf_get_stackid()
 *   instead of our walk;
 *                                                             -c: every walk is the thread's first
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "bpf/config.h" /* for the skeleton */
#include "tests/unwind/harness.h"
#include "harness.skel.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/target/image.h"
#include "user/unwind/publish_bpf.h"

#define TARGET_ID  1
#define MAX_STACKS 65536
#define OWN_FRAMES 2 /* truth_probe, and the return address into malloc */
#define LINE_SIZE  16384

static const char *const end_names[STACK_ENDS] = {
	"complete",   "truncated", "no rows", "no mapping",
	"read fault", "bad cfa",   "bad pc",  "unsupported",
};

struct harness {
	bool verbose, kernel_walks, forgetful;
	/* enum stack_end besides complete and truncated; else STACK_END_COMPLETE */
	int end_allowed;
	struct harness_bpf *bpf;
	struct object_cache *cache;
	struct image *image;
	struct unwind_publisher *publisher;
	struct ring_buffer *ring;
	struct harness_event *events[MAX_STACKS]; /* by sequence */
	size_t compared, wrong, missing;
};

static int on_event(void *context, void *data, size_t size)
{
	struct harness *h = context;
	const struct harness_event *event = data;

	if (size < sizeof(*event) || event->sequence >= MAX_STACKS || h->events[event->sequence])
		return 0;
	h->events[event->sequence] = malloc(sizeof(*event));
	if (h->events[event->sequence])
		*h->events[event->sequence] = *event;
	return 0;
}

static int load(struct harness *h, pid_t pid, uint32_t flags, uint8_t quiet)
{
	h->bpf = harness_bpf__open();
	if (!h->bpf)
		return -1;
	h->bpf->rodata->flags = flags;
	h->bpf->rodata->tgid = (uint32_t)pid;
	h->bpf->rodata->quiet = quiet;
	h->bpf->rodata->kernel_walks = h->kernel_walks;
	h->bpf->rodata->forgetful = h->forgetful;
	h->bpf->rodata->unwind_config.has_find_vma = true;
	h->bpf->rodata->unwind_config.page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	return harness_bpf__load(h->bpf);
}

static int publish(struct harness *h, pid_t pid)
{
	struct unwind_map_fds fds = {
		.chunks = bpf_map__fd(h->bpf->maps.unwind_chunks),
		.rules = bpf_map__fd(h->bpf->maps.unwind_rules),
		.targets = bpf_map__fd(h->bpf->maps.unwind_targets),
		.objects = bpf_map__fd(h->bpf->maps.unwind_objects),
	};
	struct unwind_publisher_stats stats;

	if (unwind_publisher_new_bpf(&fds, NULL, false, &h->publisher))
		return -1;
	h->cache = object_cache_new();
	if (!h->cache || image_new(pid, h->cache, &h->image) ||
	    unwind_publisher_set(h->publisher, TARGET_ID, h->image))
		return -1;
	unwind_publisher_stats(h->publisher, &stats);
	fprintf(stderr, "%zu objects, %zu rows, %zu rules, %zu KiB used of %zu KiB, %.1f ms\n",
		stats.objects, stats.rows, stats.rules, stats.bytes / 1024,
		stats.chunk_bytes / 1024, (double)stats.build_ns / 1e6);
	return 0;
}

/* Attaches to a function of the object whose path ends in `object`. */
static int attach(struct harness *h, pid_t pid, const char *object, const char *symbol)
{
	for (size_t i = 0; i < image_range_count(h->image); i++) {
		const struct image_range *range = image_range_at(h->image, i);
		LIBBPF_OPTS(bpf_uprobe_opts, options, .func_name = symbol);

		if (!range->object || !strstr(object_path(range->object), object))
			continue;
		h->bpf->links.on_allocation = bpf_program__attach_uprobe_opts(
			h->bpf->progs.on_allocation, pid, object_path(range->object), 0, &options);
		if (!h->bpf->links.on_allocation)
			return -1;
		h->bpf->links.on_mapping = bpf_program__attach(h->bpf->progs.on_mapping);
		return h->bpf->links.on_mapping ? 0 : -1;
	}
	fprintf(stderr, "no %s in process %d\n", object, pid);
	return -1;
}

static void print_event(const struct harness_event *event)
{
	fprintf(stderr, "  ours  %" PRIx64 " [%s]", event->sequence,
		end_names[event->stack.end % STACK_ENDS]);
	for (uint32_t i = OWN_FRAMES; i < event->stack.frame_count; i++)
		fprintf(stderr, " %" PRIx64, (uint64_t)event->stack.frames[i]);
	fprintf(stderr, "\n");
}

/* One line of truth against what we saw of the same call. */
static void compare(struct harness *h, char *line)
{
	char *next = line + strlen("truth ");
	uint64_t sequence = strtoull(next, &next, 16);
	const struct harness_event *event;
	uint32_t i = OWN_FRAMES;
	bool equal = true;

	ring_buffer__consume(h->ring);
	h->compared++;
	event = sequence < MAX_STACKS ? h->events[sequence] : NULL;
	if (!event) {
		h->missing++;
		fprintf(stderr, "missing: %s", line);
		return;
	}
	while (*next == ' ') {
		uint64_t pc = strtoull(next + 1, &next, 16);

		if (i >= event->stack.frame_count) {
			/* Ours may be shorter only by reaching the limit. */
			if (event->stack.end != STACK_END_TRUNCATED)
				equal = false;
			i = event->stack.frame_count;
			break;
		}
		if (event->stack.frames[i++] != pc)
			equal = false;
	}
	if (i != event->stack.frame_count)
		equal = false;
	if (event->stack.end != STACK_END_COMPLETE && event->stack.end != STACK_END_TRUNCATED &&
	    event->stack.end != h->end_allowed)
		equal = false;
	if (!equal)
		h->wrong++;
	if (!equal || h->verbose) {
		fprintf(stderr, "%s:\n  %s", equal ? "equal" : "WRONG", line);
		print_event(event);
	}
}

struct child {
	pid_t pid;
	FILE *in, *out;
};

static int start(char *const *argv, struct child *child)
{
	int in[2], out[2];

	if (pipe(in) || pipe(out))
		return -1;
	child->pid = fork();
	if (child->pid < 0)
		return -1;
	if (!child->pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		close(out[0]);
		execv(argv[0], argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	child->in = fdopen(in[1], "w");
	child->out = fdopen(out[0], "r");
	return child->in && child->out ? 0 : -1;
}

static void print_cost(const struct harness *h)
{
	uint64_t walks = h->bpf->bss->walks;

	if (!walks)
		return;
	if (h->kernel_walks) {
		printf("%" PRIu64 " walks, %.0f ns a walk\n", walks,
		       (double)h->bpf->bss->nanoseconds / (double)walks);
		return;
	}
	printf("%" PRIu64 " walks, %.1f frames, %.0f ns a walk, %.1f ns a frame;", walks,
	       (double)h->bpf->bss->frames / (double)walks,
	       (double)h->bpf->bss->nanoseconds / (double)walks,
	       (double)h->bpf->bss->nanoseconds / (double)h->bpf->bss->frames);
	for (int i = 0; i < STACK_ENDS; i++) {
		if (h->bpf->bss->ends[i])
			printf(" %s %" PRIu64, end_names[i], (uint64_t)h->bpf->bss->ends[i]);
	}
	printf("\n");
}

static int run_truth(struct harness *h, char *const *argv, uint32_t flags)
{
	static char line[LINE_SIZE];
	struct child child;
	bool done = false;
	int status;

	if (start(argv, &child))
		return 1;
	if (!fgets(line, sizeof(line), child.out) || strcmp(line, "ready\n") != 0) {
		fprintf(stderr, "%s did not get ready\n", argv[0]);
		return 1;
	}
	if (load(h, child.pid, flags, 0) || publish(h, child.pid) ||
	    attach(h, child.pid, "libtruth.so", "truth_probe")) {
		kill(child.pid, SIGKILL);
		return 1;
	}
	h->ring = ring_buffer__new(bpf_map__fd(h->bpf->maps.output), on_event, h, NULL);
	fputs("\n", child.in);
	fclose(child.in);
	while (fgets(line, sizeof(line), child.out)) {
		if (strncmp(line, "truth ", 6) == 0)
			compare(h, line);
		else if (strcmp(line, "done\n") == 0)
			done = true;
	}
	fclose(child.out);
	if (waitpid(child.pid, &status, 0) != child.pid || status || !done) {
		fprintf(stderr, "%s did not finish\n", argv[0]);
		return 1;
	}
	printf("%s: %zu compared, %zu wrong, %zu missing; ", argv[0], h->compared, h->wrong,
	       h->missing);
	print_cost(h);
	return h->wrong || h->missing || !h->compared;
}

static int run_process(struct harness *h, pid_t pid, const char *object, const char *symbol,
		       uint32_t flags, int seconds)
{
	struct timespec time = {.tv_sec = seconds};

	if (load(h, pid, flags, h->verbose ? 1 : 2) || publish(h, pid) ||
	    attach(h, pid, object, symbol))
		return 1;
	while (nanosleep(&time, &time) && errno == EINTR)
		;
	print_cost(h);
	return 0;
}

/* STACK_ENDS when there is none of that name. */
static int end_by_name(const char *name)
{
	int end = 0;

	while (end < STACK_ENDS && strcmp(name, end_names[end]) != 0)
		end++;
	return end;
}

int main(int argc, char **argv)
{
	static struct harness h;
	const char *object = "libc.so", *symbol = "malloc";
	uint32_t flags = 0;
	pid_t pid = 0;
	int option, seconds = 2, result;

	while ((option = getopt(argc, argv, "+vfkce:p:o:s:t:")) != -1) {
		switch (option) {
		case 'v':
			h.verbose = true;
			log_set_level(LOG_DEBUG);
			break;
		case 'f':
			flags = 1; /* UNWIND_FP_ONLY */
			break;
		case 'k':
			h.kernel_walks = true;
			break;
		case 'c':
			h.forgetful = true;
			break;
		case 'e':
			h.end_allowed = end_by_name(optarg);
			if (h.end_allowed == STACK_ENDS)
				return 2;
			break;
		case 'p':
			pid = atoi(optarg);
			break;
		case 'o':
			object = optarg;
			break;
		case 's':
			symbol = optarg;
			break;
		case 't':
			seconds = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (pid)
		result = run_process(&h, pid, object, symbol, flags, seconds);
	else if (optind < argc)
		result = run_truth(&h, argv + optind, flags);
	else
		return 2;
	ring_buffer__free(h.ring);
	harness_bpf__destroy(h.bpf);
	unwind_publisher_free(h.publisher);
	image_free(h.image);
	object_cache_free(h.cache);
	for (size_t i = 0; i < MAX_STACKS; i++)
		free(h.events[i]);
	return result;
}
