/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Heap profiles over HTTP, of each process that is kept, as Go's net/http/pprof serves them. The
 * pages are /debug/pprof/heap and /debug/pprof/allocs with pid=, seconds=, debug=0 and gc=. /targets
 * lists the processes.
 */
#ifndef MEMLEAKBPF_SERVE_PROFILES_SERVER_H
#define MEMLEAKBPF_SERVE_PROFILES_SERVER_H

#include "user/serve/http_server.h"
#include "user/serve/profile_queue.h"
#include "user/serve/profile_targets.h"

#define PROFILES_WAIT_S	     10	 /* that a request waits for the survey */
#define PROFILES_SECONDS_MAX 600 /* of seconds= */

struct profiles_server;

/*
 * A site of `http`, which has not started yet and is freed before the site. Requests go into the queue, the list comes
 * from the targets. `token`: what whoever asks has to know (user/serve/profiles_token.h); NULL: nothing. All outlive it.
 * NULL when out of memory.
 */
struct profiles_server *profiles_server_new(struct http_server *http, struct profile_queue *queue,
					    struct profile_targets *targets, const char *token);
void profiles_server_free(struct profiles_server *server); /* NULL is fine */

#endif
