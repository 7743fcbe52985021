// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `memleakbpf top`: a live screen of what a process has allocated, or of all processes. */
#include <errno.h>
#include <stdio.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/kernel/cgroup_namespace.h"
#include "user/live/top.h"
#include "user/session/loop_events.h"
#include "user/session/selection.h"

/* The matches; a message names the first ones. */
struct top_matches {
	pid_t pids[8];
	size_t count; /* of all */
};

static int top_match(void *ctx, pid_t pid)
{
	struct top_matches *m = ctx;

	if (m->count < ARRAY_SIZE(m->pids))
		m->pids[m->count] = pid;
	m->count++;
	return 0;
}

static void top_refuse_several(const struct select_config *select, const struct top_matches *m)
{
	size_t used = 0, shown = m->count < ARRAY_SIZE(m->pids) ? m->count : ARRAY_SIZE(m->pids);
	char text[SELECTION_TEXT_MAX], list[ARRAY_SIZE(m->pids) * 16] = "";

	for (size_t i = 0; i < shown; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d", i ? ", " : "",
					 (int)m->pids[i]);
	log_error("top: shows one process at a time, and %zu match %s (%s%s); give -p and one of "
		  "them, or --comm for a survey of all",
		  m->count, selection_text(text, select), list, shown < m->count ? ", ..." : "");
}

/* Finds the one process with the name of -p NAME. 0; -ESRCH, -EINVAL or another -errno, logged. */
static int top_find(const struct select_config *select, pid_t *pid)
{
	struct selection *selection = selection_new(select);
	struct top_matches matches = {.count = 0};
	char text[SELECTION_TEXT_MAX];
	int err = selection ? selection_scan(selection, top_match, &matches, NULL)
			    : log_errno(ENOMEM, "looking for processes");

	selection_free(selection);
	if (err)
		return err;
	if (matches.count == 1) {
		*pid = matches.pids[0];
		return 0;
	}
	if (matches.count) {
		top_refuse_several(select, &matches);
		return -EINVAL;
	}
	log_error("no process matches %s", selection_text(text, select));
	return -ESRCH;
}

static int top_watch(const struct watch_config *config)
{
	struct watch_config watch = *config;
	pid_t pid;
	int err;

	if (!watch.pids.count) {
		err = top_find(&watch.select, &pid);
		if (err)
			return err;
		watch.pids = (struct pid_list){.pids = &pid, .count = 1};
	}
	return live_watch(&watch);
}

int cmd_top(const union command_config *config)
{
	const struct watch_config *watch = &config->top.watch;
	struct rlimit old_files;
	sigset_t old;
	int err;

	if (loop_block_signals(&old))
		return 1;
	loop_raise_file_limit(&old_files);
	cgroup_namespace_enter_first();
	err = watch->pids.count || watch->select.names.count ? top_watch(watch)
							     : live_survey(&config->top.survey);
	return err == -EINVAL ? EXIT_STATUS_USAGE : err ? 1 : 0;
}
