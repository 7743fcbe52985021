// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A request for a profile is suspended until the survey has made it or its time is over. Refusals have the header by which
 * `go tool pprof` shows their text.
 */
#include "user/serve/profiles_server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/listen.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/serve/profiles_token.h"

struct profiles_server {
	struct http_server *http;
	struct profile_queue *queue;
	struct profile_targets *targets;
	const char *token;
	bool ends;
};

static const char unknown_text[] = "no such profile is served; there are /debug/pprof/heap and "
				   "/debug/pprof/allocs, with ?pid=, "
				   "and /targets\n";
static const char unauthorized_text[] = "a token is wanted: Authorization: Bearer TOKEN\n";
static const char busy_text[] = "too many requests for profiles wait already; try again\n";
static const char not_yet_text[] = "no look has been taken yet\n";
static const char debug_text[] = "debug=: only the compressed form is served; leave it out\n";
static const char pid_text[] = "invalid value for \"pid\"; give a process's number\n";
static const char seconds_text[] =
	"invalid value for \"seconds\"; give a number of seconds from 1 to 600\n";

#define PLAIN	 MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8"
#define NO_SNIFF "X-Content-Type-Options", "nosniff"
#define IS_PPROF "X-Go-Pprof", "1"
#define RETRY	 MHD_HTTP_HEADER_RETRY_AFTER, "2"

/* ---- answers ------------------------------------------------------------------------------ */

static const char *const *refusal_headers(unsigned status)
{
	static const char *const plain[] = {PLAIN, NO_SNIFF, IS_PPROF, NULL};
	static const char *const later[] = {PLAIN, NO_SNIFF, IS_PPROF, RETRY, NULL};
	static const char *const token[] = {PLAIN,
					    NO_SNIFF,
					    IS_PPROF,
					    MHD_HTTP_HEADER_WWW_AUTHENTICATE,
					    "Bearer realm=\"memleakbpf\"",
					    NULL};

	return status == MHD_HTTP_SERVICE_UNAVAILABLE ? later
	       : status == MHD_HTTP_UNAUTHORIZED      ? token
						      : plain;
}

/* The text lives as long as the program. */
static enum MHD_Result profiles_refuse(struct MHD_Connection *connection, unsigned status,
				       const char *text)
{
	return http_answer_once(connection, status,
				http_text_response(text, refusal_headers(status)));
}

static enum MHD_Result profiles_send(struct profiles_server *s, struct MHD_Connection *connection,
				     struct profile_job *job, const char *path)
{
	static const char *const heap[] = {MHD_HTTP_HEADER_CONTENT_TYPE,
					   "application/octet-stream",
					   MHD_HTTP_HEADER_CONTENT_DISPOSITION,
					   "attachment; filename=\"heap\"",
					   NO_SNIFF,
					   NULL};
	static const char *const allocs[] = {MHD_HTTP_HEADER_CONTENT_TYPE,
					     "application/octet-stream",
					     MHD_HTTP_HEADER_CONTENT_DISPOSITION,
					     "attachment; filename=\"allocs\"",
					     NO_SNIFF,
					     NULL};
	struct profile_answer answer = profile_queue_answer(s->queue, job);
	const char *const *headers = refusal_headers(answer.status);

	if (!answer.data)
		return profiles_refuse(connection, answer.status, answer.text);
	if (answer.status == MHD_HTTP_OK)
		headers = !strcmp(path, "/debug/pprof/allocs") ? allocs : heap;
	return http_answer_once(connection, answer.status,
				http_data_response(answer.data, answer.size, headers));
}

/* ---- /targets ----------------------------------------------------------------------------- */

/* By what name and port we have been asked: whoever asks can reach that. */
static const char *profiles_address(struct MHD_Connection *connection,
				    char text[static LISTEN_TEXT_MAX])
{
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	const union MHD_ConnectionInfo *fd =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage address = {0};
	socklen_t len = sizeof(address);

	if (host)
		return host;
	if (!fd || getsockname(fd->connect_fd, (struct sockaddr *)&address, &len))
		return NULL;
	return listen_format(text, &address, listen_port(&address));
}

static enum MHD_Result profiles_send_targets(struct profiles_server *s,
					     struct MHD_Connection *connection)
{
	static const char *const json[] = {MHD_HTTP_HEADER_CONTENT_TYPE, "application/json",
					   NO_SNIFF, NULL};
	char address[LISTEN_TEXT_MAX], *text;
	const char *asked = profiles_address(connection, address);
	size_t size;
	int err = asked ? profile_targets_write(s->targets, asked, &text, &size) : -ENOTCONN;

	if (err == -EAGAIN)
		return profiles_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, not_yet_text);
	if (err)
		return MHD_NO;
	return http_answer_once(connection, MHD_HTTP_OK, http_data_response(text, size, json));
}

/* ---- requests ----------------------------------------------------------------------------- */

static const char *profiles_argument(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static bool profiles_number(const char *text, uint64_t max, uint64_t *out)
{
	return !parse_count(text, 1, max, out);
}

/* NULL, or what is wrong with it. */
static const char *profiles_parse(struct MHD_Connection *connection, struct profile_ask *ask)
{
	const char *pid = profiles_argument(connection, "pid");
	const char *seconds = profiles_argument(connection, "seconds");
	const char *debug = profiles_argument(connection, "debug");
	uint64_t number;

	/* gc= has a program of Go's collect what is dead; here nothing is, that is not freed. */
	if (debug && strcmp(debug, "0") != 0)
		return debug_text;
	if (pid) {
		if (!profiles_number(pid, INT_MAX, &number))
			return pid_text;
		ask->pid = (pid_t)number;
	}
	if (seconds) {
		if (!profiles_number(seconds, PROFILES_SECONDS_MAX, &number))
			return seconds_text;
		ask->seconds = (unsigned)number;
	}
	return NULL;
}

static enum MHD_Result profiles_ask(struct profiles_server *s, struct MHD_Connection *connection,
				    const char *path, void **state)
{
	struct profile_ask ask = {.allocs = !strcmp(path, "/debug/pprof/allocs")};
	const struct share_owner *asker = http_server_owner(connection);
	const char *wrong;

	if (!ask.allocs && strcmp(path, "/debug/pprof/heap") != 0)
		return profiles_refuse(connection, MHD_HTTP_NOT_FOUND, unknown_text);
	wrong = profiles_parse(connection, &ask);
	if (wrong)
		return profiles_refuse(connection, MHD_HTTP_BAD_REQUEST, wrong);
	if (!s->ends && asker)
		*state = profile_queue_add(s->queue, &ask, asker, connection);
	if (!*state)
		return profiles_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, busy_text);
	MHD_suspend_connection(connection);
	return MHD_YES;
}

/* ---- the site ----------------------------------------------------------------------------- */

static bool profiles_has(void *ctx, const char *path)
{
	(void)ctx;
	return !strcmp(path, "/targets") || !strncmp(path, "/debug/pprof", 12);
}

static enum MHD_Result profiles_answer(void *ctx, struct MHD_Connection *connection,
				       const char *path, void **state)
{
	struct profiles_server *s = ctx;

	if (*state)
		return profiles_send(s, connection, *state, path);
	if (s->token && !profiles_token_is(s->token, MHD_lookup_connection_value(
							     connection, MHD_HEADER_KIND,
							     MHD_HTTP_HEADER_AUTHORIZATION)))
		return profiles_refuse(connection, MHD_HTTP_UNAUTHORIZED, unauthorized_text);
	if (!strcmp(path, "/targets"))
		return profiles_send_targets(s, connection);
	return profiles_ask(s, connection, path, state);
}

static void profiles_completed(void *ctx, void *state)
{
	struct profiles_server *s = ctx;

	profile_queue_release(s->queue, state);
}

static void profiles_resume(void *ctx, void *owner)
{
	const struct profiles_server *s = ctx;

	http_server_resume(s->http, owner);
}

static uint64_t profiles_turn(void *ctx, bool ends)
{
	struct profiles_server *s = ctx;

	if (ends) {
		s->ends = true;
		profile_queue_close(s->queue);
	}
	return profile_queue_collect(s->queue, profiles_resume, s);
}

struct profiles_server *profiles_server_new(struct http_server *http, struct profile_queue *queue,
					    struct profile_targets *targets, const char *token)
{
	struct profiles_server *s = calloc(1, sizeof(*s));
	struct http_site site = {
		.ctx = s,
		.name = "profiles",
		.path = "/targets",
		.exposed = token ? "can try tokens"
				 : "can read which functions of this machine's "
				   "services allocate what, and have us look: "
				   "--profiles-token asks for a token",
		.has = profiles_has,
		.answer = profiles_answer,
		.completed = profiles_completed,
		.turn = profiles_turn,
	};

	if (!s)
		return NULL;
	*s = (struct profiles_server){
		.http = http, .queue = queue, .targets = targets, .token = token};
	http_server_add(http, &site);
	return s;
}

void profiles_server_free(struct profiles_server *s)
{
	free(s);
}
