// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/survey_serving.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/serve/profiles_token.h"

enum { FOR_METRICS, FOR_PROFILES };

/* Of the serving thread's affairs: there is one server that waits for profiles. */
static void serving_wake(void *ctx)
{
	const struct survey_serving *s = ctx;

	http_server_wake(s->http[FOR_PROFILES] ?: s->http[FOR_METRICS]);
}

static int serving_add_profiles(struct survey_serving *s, struct http_server *http,
				const char *token_file)
{
	int err = token_file ? profiles_token_read(token_file, &s->token) : 0;

	if (err)
		return err;
	s->queue = profile_queue_new(PROFILES_WAIT_S * NS_PER_S, serving_wake, s);
	s->targets = profile_targets_new();
	if (s->queue && s->targets)
		s->profiles = profiles_server_new(http, s->queue, s->targets, s->token);
	return s->profiles ? 0 : log_errno(ENOMEM, "profiles");
}

/* One server, if both are at one address. */
static bool serving_is_one(const struct survey_config *config)
{
	return config->metrics.wanted && config->profiles.wanted &&
	       !memcmp(&config->metrics.address, &config->profiles.address,
		       sizeof(config->metrics.address));
}

int survey_serving_begin(struct survey_serving *s, const struct survey_config *config)
{
	const bool wanted[] = {config->metrics.wanted,
			       config->profiles.wanted && !serving_is_one(config)};
	const struct sockaddr_storage *const at[] = {&config->metrics.address,
						     &config->profiles.address};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		s->http[i] = wanted[i] ? http_server_new(config->metrics.name) : NULL;
		if (wanted[i] && !s->http[i])
			return log_errno(ENOMEM, "survey");
	}
	if (config->metrics.wanted) {
		s->metrics = metrics_server_new(s->http[FOR_METRICS]);
		err = s->metrics ? 0 : log_errno(ENOMEM, "metrics");
	}
	if (!err && config->profiles.wanted)
		err = serving_add_profiles(s, s->http[FOR_PROFILES] ?: s->http[FOR_METRICS],
					   config->profiles.token_file);
	for (size_t i = 0; i < ARRAY_SIZE(wanted) && !err; i++)
		err = s->http[i] ? http_server_listen(s->http[i], at[i]) : 0;
	return err;
}

int survey_serving_start(struct survey_serving *s, const struct profile_source *source)
{
	int err = 0;

	s->source = *source;
	s->maker = (struct profile_maker){.queue = s->queue, .source = &s->source};
	for (size_t i = 0; i < ARRAY_SIZE(s->http) && !err; i++)
		err = s->http[i] ? http_server_start(s->http[i]) : 0;
	return err;
}

void survey_serving_end(struct survey_serving *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->http); i++)
		http_server_free(s->http[i]);
	metrics_server_free(s->metrics);
	profiles_server_free(s->profiles);
	profile_queue_free(s->queue);
	profile_targets_free(s->targets);
	if (s->token)
		explicit_bzero(s->token, strlen(s->token));
	free(s->token);
	*s = (struct survey_serving){0};
}

int survey_serving_fd(const struct survey_serving *s)
{
	return s->profiles ? profile_maker_fd(&s->maker) : -1;
}

uint64_t survey_serving_due_ns(struct survey_serving *s)
{
	return s->profiles ? profile_maker_due_ns(&s->maker) : UINT64_MAX;
}

void survey_serving_work(struct survey_serving *s)
{
	if (s->profiles)
		profile_maker_work(&s->maker);
}

int survey_serving_publish(struct survey_serving *s)
{
	int err = s->profiles ? profile_targets_publish(s->targets, &s->source) : 0;

	return err ? log_errno(err, "cannot list the processes") : 0;
}
