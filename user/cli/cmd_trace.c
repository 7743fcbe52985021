// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The main job: watches running processes, or runs a command and watches it. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "user/base/log.h"
#include "user/base/starting.h"
#include "user/base/util.h"
#include "user/cli/commands.h"
#include "user/cli/launch.h"
#include "user/kernel/cgroup_namespace.h"
#include "user/session/loop.h"
#include "user/session/loop_events.h"
#include "user/session/selection.h"
#include "user/target/closure.h"

static int cmd_trace_add_pids(struct session *session, const struct watch_config *config)
{
	size_t added = 0;
	int first = 0;

	for (size_t i = 0; i < config->pids.count; i++) {
		int err = trace_add_process(session_trace(session), config->pids.pids[i]);

		if (err == -ECANCELED)
			return err;
		added += !err;
		first = first ? first : err;
	}
	if (!config->pids.count)
		return 0;
	/* Goes on with the processes that can be traced; each other one has been logged. */
	return added ? 0 : first;
}

static int cmd_trace_add(void *session, pid_t pid)
{
	return trace_add_process(session_trace(session), pid);
}

/* *out is NULL without a selection. -ESRCH, logged, when there is nothing to be traced. */
static int cmd_trace_select(struct session *session, const struct watch_config *config,
			    struct selection **out)
{
	char text[SELECTION_TEXT_MAX];
	size_t found = 0;
	int err;

	*out = NULL;
	if (!selection_wanted(&config->select))
		return 0;
	*out = selection_new(&config->select);
	if (!*out)
		return log_errno(ENOMEM, "looking for processes");
	err = selection_scan(*out, cmd_trace_add, session, &found);
	if (starting_is_cancelled())
		return -ECANCELED;
	if (err || found || config->pids.count)
		return err;
	log_error("no process that can be traced matches %s",
		  selection_text(text, &config->select));
	return -ESRCH;
}

static int cmd_trace_watch(const struct watch_config *config)
{
	const struct trace_needs needs = session_needs(config);
	struct selection *selection = NULL;
	struct session *session;
	int status, result_status, close_err, err = session_new(config, NULL, &session);

	if (err)
		return 1;
	/* Before we first look at a stranger's memory or files. */
	trace_drop_privileges(session_trace(session), &needs);
	err = cmd_trace_add_pids(session, config);
	err = err ?: cmd_trace_select(session, config, &selection);
	if (!err)
		err = loop_run(session, config, selection, 0, &status);
	selection_free(selection);
	result_status = err == -ECANCELED ? 0 : session_status(session, 0);
	close_err = session_free(session);
	if (err == -ECANCELED)
		starting_obey();
	return close_err || err ? 1 : result_status;
}

static int cmd_trace_exit_status(int wait_status)
{
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

static int cmd_trace_start(struct session *session, const struct watch_config *config,
			   const struct closure *closure, const struct launch_environment *env,
			   pid_t *child)
{
	const struct trace_needs needs = {0};
	struct launch launch;
	int err = launch_prepare(closure->command, config->argv, env, &launch);

	if (err)
		return err;
	/* The command is a process of its own by now, with all rights that we had. */
	trace_drop_privileges(session_trace(session), &needs);
	err = trace_add_launched(session_trace(session), launch.pid, closure->paths,
				 closure->count);
	if (!err && starting_is_cancelled())
		err = -ECANCELED;
	if (err) {
		launch_abort(&launch);
		return err;
	}
	*child = launch.pid;
	session_set_command(session, launch.pid);
	return launch_go(&launch, config->argv[0]);
}

static int cmd_trace_run(const struct watch_config *config, const struct launch_environment *env)
{
	struct closure *closure = NULL;
	struct session *session = NULL;
	int status = 0, err, close_err;
	pid_t child;

	err = closure_find(config->argv[0], &closure);
	/* Like a shell: 127 not found, 126 not executable. */
	if (err)
		return err == -ENOENT ? 127 : 126;
	err = session_new(config, closure, &session);
	if (!err)
		err = cmd_trace_start(session, config, closure, env, &child);
	if (!err)
		err = loop_run(session, config, NULL, child, &status);
	if (!err)
		status = session_status(session, cmd_trace_exit_status(status));
	close_err = session_free(session);
	closure_free(closure);
	if (err == -ECANCELED)
		starting_obey();
	if (err || close_err)
		return 1;
	return status;
}

int cmd_trace(const union command_config *command)
{
	const struct watch_config *config = &command->watch;
	struct launch_environment env;

	if (loop_block_signals(&env.mask))
		return 1;
	loop_raise_file_limit(&env.files);
	if (config->argv)
		return cmd_trace_run(config, &env);
	/* Only here: a command would find itself in the other namespace. */
	cgroup_namespace_enter_first();
	return cmd_trace_watch(config);
}
