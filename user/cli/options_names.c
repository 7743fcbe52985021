// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/options_names.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/log.h"
#include "user/session/selection.h"

static int options_add_pid(void *ctx, pid_t pid)
{
	struct pid_list *list = ctx;
	pid_t *more = realloc((void *)list->pids, (list->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	more[list->count++] = pid;
	list->pids = more;
	return 0;
}

int options_find_named(struct option_values *values)
{
	const struct select_config named = {.names = values->names};
	char text[SELECTION_TEXT_MAX];
	struct selection *selection;
	size_t found = 0;
	int err;

	if (!values->names.count)
		return 0;
	selection = selection_new(&named);
	if (!selection)
		return log_errno(ENOMEM, "looking for processes");
	err = selection_scan(selection, options_add_pid, &values->pids, &found);
	selection_free(selection);
	if (!err && !found) {
		log_error("no process matches %s", selection_text(text, &named));
		err = -ESRCH;
	}
	return err;
}
