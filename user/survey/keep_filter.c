// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/keep_filter.h"

#include <errno.h>
#include <pwd.h>
#include <regex.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"

static int keep_filter_user(const char *value, uid_t *uid)
{
	const struct passwd *user = getpwnam(value);
	uint64_t number;

	if (user)
		*uid = user->pw_uid;
	else if (!parse_count(value, 0, UINT32_MAX - 1, &number))
		*uid = (uid_t)number;
	else
		return -EINVAL;
	return 0;
}

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
			return keep_filter_user(value, &out->user);
		*keys[i].member = value;
		return keys[i].member == &out->comm ? keep_filter_regex(value) : 0;
	}
	return -EINVAL;
}
