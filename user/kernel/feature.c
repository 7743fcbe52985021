// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/feature.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/feature_try.h"

struct features {
	struct {
		bool tried, have;
		int error;
		char why[128];
	} features[FEATURES];
};

static int (*const trials[FEATURES])(const char **step) = {
	[FEATURE_BTF] = feature_try_btf,
	[FEATURE_BPF] = feature_try_bpf,
	[FEATURE_RINGBUF] = feature_try_ringbuf,
	[FEATURE_THREAD_ITERATOR] = feature_try_thread_iterator,
	[FEATURE_TASK_EVENTS] = feature_try_task_events,
	[FEATURE_FIND_VMA] = feature_try_find_vma,
	[FEATURE_LOOP] = feature_try_loop,
	[FEATURE_TAIL_CALL] = feature_try_tail_call,
	[FEATURE_READ_KERNEL] = feature_try_read_kernel,
	[FEATURE_TASK_STORAGE] = feature_try_task_storage,
	[FEATURE_TASK_WORK] = feature_try_task_work,
	[FEATURE_UPROBE] = feature_try_uprobe,
	[FEATURE_UPROBE_COOKIE] = feature_try_uprobe_cookie,
	[FEATURE_UPROBE_SLEEPS] = feature_try_uprobe_sleeps,
	[FEATURE_UPROBE_MULTI] = feature_try_uprobe_multi,
	[FEATURE_UPROBE_MULTI_PID] = feature_try_uprobe_multi_pid,
	[FEATURE_UPROBE_SESSION] = feature_try_uprobe_session,
};

struct features *features_new(void)
{
	return calloc(1, sizeof(struct features));
}

void features_free(struct features *features)
{
	free(features);
}

bool features_have(struct features *features, enum feature feature)
{
	const char *step = "";
	int err;

	if (features->features[feature].tried)
		return features->features[feature].have;
	err = trials[feature](&step);
	features->features[feature].tried = true;
	features->features[feature].have = !err;
	features->features[feature].error = err == -ENODATA ? 0 : err;
	if (err == -ENODATA)
		snprintf(features->features[feature].why, sizeof(features->features[feature].why),
			 "%s", step);
	else if (err)
		snprintf(features->features[feature].why, sizeof(features->features[feature].why),
			 "%s: %s", step, strerror(-err));
	return !err;
}

const char *features_why(const struct features *features, enum feature feature)
{
	return features->features[feature].why;
}

int features_error(const struct features *features, enum feature feature)
{
	return features->features[feature].error;
}
