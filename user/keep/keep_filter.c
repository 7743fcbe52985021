// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_filter.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/linkage.h"
#include "user/base/util.h"
#include "user/look/survey_scope.h"

static int keep_filter_regex(const char *value)
{
	regex_t regex;

	if (regcomp(&regex, value, REG_EXTENDED | REG_NOSUB))
		return -EINVAL;
	regfree(&regex);
	return 0;
}

int keep_filter_parse(const char *text, struct survey_scope_config *out)
{
	const struct {
		const char *key;
		const char **member;
	} keys[] = {
		{"unit=", &out->unit},	   {"container=", &out->container},
		{"cgroup=", &out->cgroup}, {"comm=", &out->comm},
		{"user=", NULL},
	};

	*out = (struct survey_scope_config){.user = (uid_t)-1};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = text + strlen(keys[i].key);

		if (strncmp(text, keys[i].key, strlen(keys[i].key)) != 0)
			continue;
		if (!*value)
			return -EINVAL;
		if (!keys[i].member)
			return linkage_user(value, &out->user) ? -EINVAL : 0;
		*keys[i].member = value;
		return keys[i].member == &out->comm ? keep_filter_regex(value) : 0;
	}
	return -EINVAL;
}

struct keep_filters {
	struct survey_scope_config *configs;
	struct survey_scope **scopes; /* one for each */
	size_t count;
};

static int keep_filters_parse(struct keep_filters *f, const struct string_list *texts)
{
	f->configs = calloc(texts->count + 1, sizeof(*f->configs));
	f->scopes = calloc(texts->count + 1, sizeof(struct survey_scope *));
	if (!f->configs || !f->scopes)
		return -ENOMEM;
	for (size_t i = 0; i < texts->count; i++) {
		int err = keep_filter_parse(texts->items[i], &f->configs[i]);

		if (err)
			return err;
		f->scopes[i] = survey_scope_new(&f->configs[i]);
		if (!f->scopes[i])
			return -ENOMEM;
		f->count++;
	}
	return 0;
}

struct keep_filters *keep_filters_new(const struct string_list *texts)
{
	struct keep_filters *f = calloc(1, sizeof(*f));

	if (!f || !keep_filters_parse(f, texts))
		return f;
	keep_filters_free(f);
	return NULL;
}

void keep_filters_free(struct keep_filters *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->count; i++)
		survey_scope_free(f->scopes[i]);
	free(f->scopes);
	free(f->configs);
	free(f);
}

bool keep_filters_have(const struct keep_filters *f, const struct history_process *process,
		       const struct survey_process *data)
{
	for (size_t i = 0; i < f->count; i++) {
		if (survey_scope_has(f->scopes[i], process, data))
			return true;
	}
	return false;
}
