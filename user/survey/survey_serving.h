/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a survey serves: metrics, profiles, or both at one address. All functions are the survey's thread's. */
#ifndef MEMLEAKBPF_SURVEY_SURVEY_SERVING_H
#define MEMLEAKBPF_SURVEY_SURVEY_SERVING_H

#include "user/serve/http_server.h"
#include "user/serve/metrics_server.h"
#include "user/serve/profile_maker.h"
#include "user/serve/profiles_server.h"
#include "user/look/survey_config.h"

struct survey_serving {
	struct http_server *http[2];	  /* NULL: not wanted, or the same as the other */
	struct metrics_server *metrics;	  /* NULL: not wanted */
	struct profiles_server *profiles; /* NULL: not wanted; then neither is the rest */
	struct profile_queue *queue;
	struct profile_targets *targets;
	struct profile_source source;
	struct profile_maker maker;
	char *token; /* NULL: none */
};

/* Listens where that is wanted, with all rights. 0 or -errno, logged; survey_serving_end() in either case. */
int survey_serving_begin(struct survey_serving *serving, const struct survey_config *config);

/* Begins to answer; `source` is for profiles, and outlives it. 0 or -errno, logged. */
int survey_serving_start(struct survey_serving *serving, const struct profile_source *source);

/* Who waits is told that the survey ends. */
void survey_serving_end(struct survey_serving *serving);

/* To be polled for reading, -1: nothing; and when survey_serving_work() is to be called at the latest. */
int survey_serving_fd(const struct survey_serving *serving);
uint64_t survey_serving_due_ns(struct survey_serving *serving);

/* One profile, if one is due. */
void survey_serving_work(struct survey_serving *serving);

/* The list of those whose profiles there are; after each look. 0 or -errno, logged. */
int survey_serving_publish(struct survey_serving *serving);

#endif
