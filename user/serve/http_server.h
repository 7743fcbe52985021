/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An HTTP server (libmicrohttpd) in a thread of its own, which can do nothing else (confine_server()).
 * Connections are bounded and timed, and only who asks by a name of ours is answered. What is
 * served is the affair of its sites, several at one address.
 */
#ifndef MEMLEAKBPF_SERVE_HTTP_SERVER_H
#define MEMLEAKBPF_SERVE_HTTP_SERVER_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "user/serve/shares.h"

#define HTTP_SITES_MAX 2

/* All functions are called in the server's thread; `ctx` and strings outlive the server. */
struct http_site {
	void *ctx;
	const char *name;    /* "metrics" */
	const char *path;    /* where a person would look first: "/metrics" */
	const char *exposed; /* what whoever can reach it can do: "can read the names of …" */
	bool (*has)(void *ctx, const char *path);
	/*
	 * Queues a response, or suspends the connection and is called again when it has been resumed.
	 * *state is NULL the first time, and the site's until completed(). GET and HEAD only.
	 */
	enum MHD_Result (*answer)(void *ctx, struct MHD_Connection *connection, const char *path,
				  void **state);
	/* Of a request whose *state is not NULL: it is over, answered or not. NULL: none is kept. */
	void (*completed)(void *ctx, void *state);
	/*
	 * Before each wait: resumes connections whose answers are there, by http_server_resume(). `ends`: all of them, since the
	 * server stops; none may be suspended any more. Returns when it is to be called again at the
	 * latest, by monotonic_ns(). NULL: none is ever suspended.
	 */
	uint64_t (*turn)(void *ctx, bool ends);
};

struct http_server;

/*
 * `name`: by which it may be asked beside numeric addresses, localhost and this machine's name; outlives the server; NULL: none.
 * NULL when out of memory.
 */
struct http_server *http_server_new(const char *name);

/* Before it listens; HTTP_SITES_MAX at most. */
void http_server_add(struct http_server *server, const struct http_site *site);

/* Listens, and says where. 0 or -errno, logged. */
int http_server_listen(struct http_server *server, const struct sockaddr_storage *address);

/* Begins to answer: once the tool has given up its own rights. 0 or -errno, logged. */
int http_server_start(struct http_server *server);

/* In turn(): answer() is called again. */
void http_server_resume(struct http_server *server, struct MHD_Connection *connection);

/* In answer(): whose connection it is; NULL: nobody knows, for want of memory. */
const struct share_owner *http_server_owner(struct MHD_Connection *connection);

/* Has turn() called soon. From any thread. */
void http_server_wake(struct http_server *server);

/*
 * Ends the thread, after a moment for answers that are on their way. The sites' functions are not
 * called afterwards. NULL is fine.
 */
void http_server_free(struct http_server *server);

/*
 * Of a text that lives as long as the response; headers are pairs of name and value, NULL-ended.
 * NULL when out of memory.
 */
struct MHD_Response *http_text_response(const char *text, const char *const *headers);

/* The same of `data`, malloc'ed, which is the response's, or is freed at once. */
struct MHD_Response *http_data_response(char *data, size_t size, const char *const *headers);

/* Queues it and gives the reference up; NULL ends the connection. */
enum MHD_Result http_answer_once(struct MHD_Connection *connection, unsigned status,
				 struct MHD_Response *response);

#endif
