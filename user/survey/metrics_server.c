// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/survey/metrics_server.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/base/listen.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/privilege.h"
#include "user/survey/metrics_clients.h"

/* Those too that have been shut down and not been looked at since. */
#define MAX_CONNECTIONS	  (2 * METRICS_CLIENTS_MAX)
#define CONNECTION_MEMORY (16 * 1024) /* bytes for a request's head */
#define TIMEOUT_S	  5

struct metrics_server {
	struct MHD_Daemon *daemon;
	pthread_mutex_t lock; /* of published: held to exchange a pointer or to take a reference */
	struct MHD_Response *published[METRICS_SYNTAXES]; /* NULL: nothing yet */
	struct MHD_Response *home, *not_found, *not_allowed, *not_yet, *not_here;
	struct metrics_clients clients; /* of the library's thread */
	const char *name;		/* NULL: none was given */
};

static const char home_text[] = "memleakbpf survey: the metrics are at /metrics\n";
static const char not_found_text[] = "nothing here; the metrics are at /metrics\n";
static const char not_allowed_text[] = "only GET and HEAD are answered\n";
static const char not_yet_text[] = "no look has been taken yet\n";
static const char not_here_text[] = "no such name is served here: ask by the address, or give "
				    "memleakbpf survey this name with --metrics-host\n";

/* The text lives as long as the response. NULL when out of memory. */
static struct MHD_Response *metrics_new_response(const char *text, const char *header,
						 const char *value)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT);

	if (r && MHD_add_response_header(r, header, value) != MHD_YES) {
		MHD_destroy_response(r);
		return NULL;
	}
	return r;
}

/* The library counts references: a response that is being sent outlives its replacement. */
static enum MHD_Result metrics_send_published(struct metrics_server *s,
					      struct MHD_Connection *connection)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct MHD_Response *response;
	enum MHD_Result result;

	pthread_mutex_lock(&s->lock);
	response = s->published[metrics_choose_syntax(accept)];
	if (response)
		result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	else
		result = MHD_queue_response(connection, MHD_HTTP_SERVICE_UNAVAILABLE, s->not_yet);
	pthread_mutex_unlock(&s->lock);
	return result;
}

static struct metrics_client *metrics_client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void metrics_on_connection(void *ctx, struct MHD_Connection *connection, void **client,
				  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *fd, *address;
	struct metrics_server *s = ctx;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		metrics_clients_remove(&s->clients, *client);
		return;
	}
	fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	address = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	*client = fd && address
			  ? metrics_clients_add(&s->clients, fd->connect_fd, address->client_addr)
			  : NULL;
}

static void metrics_on_completed(void *ctx, struct MHD_Connection *connection, void **state,
				 enum MHD_RequestTerminationCode how)
{
	(void)ctx;
	(void)state;
	(void)how;
	metrics_client_asks(metrics_client_of(connection), false);
}

/*
 * A page on the web can have its own name lead to the loopback, and what is answered here is then
 * that page's to read ("DNS rebinding"). Browsers say which name they asked for.
 */
static bool metrics_is_for_us(const struct metrics_server *s, struct MHD_Connection *connection)
{
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	char own[HOST_NAME_MAX + 1] = "";

	gethostname(own, sizeof(own) - 1);
	return !host || listen_host_is(host, "localhost") || listen_host_is(host, own) ||
	       (s->name && listen_host_is(host, s->name));
}

static enum MHD_Result metrics_answer(void *ctx, struct MHD_Connection *connection, const char *url,
				      const char *method, const char *version, const char *data,
				      size_t *data_size, void **state)
{
	struct metrics_server *s = ctx;

	(void)version;
	(void)data;
	metrics_client_asks(metrics_client_of(connection), true);
	/* First the headers alone are shown; whether there is a body is known later. */
	if (!*state) {
		*state = s;
		return MHD_YES;
	}
	if (*data_size) { /* of no use to us */
		*data_size = 0;
		return MHD_YES;
	}
	if (!metrics_is_for_us(s, connection))
		return MHD_queue_response(connection, MHD_HTTP_MISDIRECTED_REQUEST, s->not_here);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return MHD_queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, s->not_allowed);
	if (!strcmp(url, "/metrics"))
		return metrics_send_published(s, connection);
	if (!strcmp(url, "/"))
		return MHD_queue_response(connection, MHD_HTTP_OK, s->home);
	return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, s->not_found);
}

static void metrics_on_message(void *ctx, const char *format, va_list args)
{
	char line[512];

	(void)ctx;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("metrics: %s", line);
}

/*
 * In the library's own thread, before it reads a byte of the connection: whatever a request may do
 * to it, it does without capabilities.
 */
static enum MHD_Result metrics_confine(void *ctx, const struct sockaddr *address, socklen_t size)
{
	(void)ctx;
	(void)address;
	(void)size;
	return privilege_drop_thread() ? MHD_NO : MHD_YES;
}

static int metrics_make_responses(struct metrics_server *s)
{
	static const char type[] = "text/plain; charset=utf-8";

	s->home = metrics_new_response(home_text, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	s->not_found = metrics_new_response(not_found_text, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	s->not_yet = metrics_new_response(not_yet_text, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	s->not_here = metrics_new_response(not_here_text, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	s->not_allowed = metrics_new_response(not_allowed_text, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	return s->home && s->not_found && s->not_yet && s->not_here && s->not_allowed ? 0 : -ENOMEM;
}

/*
 * Best, those who say nothing do not get as far as us: the kernel keeps them to itself until they
 * do (tcp(7)).
 */
static void metrics_wait_for_words(const struct metrics_server *s)
{
	const union MHD_DaemonInfo *listener =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	const int seconds = TIMEOUT_S;

	if (listener && setsockopt(listener->listen_fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds,
				   sizeof(seconds)))
		log_debug("metrics: no TCP_DEFER_ACCEPT: %s", strerror(errno));
}

static int metrics_start(struct metrics_server *s, const struct sockaddr_storage *address)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG;
	const union MHD_DaemonInfo *info;
	char where[LISTEN_TEXT_MAX];

	if (address->ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	/* clang-format off */
	s->daemon = MHD_start_daemon(flags, 0, metrics_confine, NULL, metrics_answer, s,
		MHD_OPTION_EXTERNAL_LOGGER, metrics_on_message, NULL,
		MHD_OPTION_SOCK_ADDR, address,
		MHD_OPTION_NOTIFY_CONNECTION, metrics_on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, metrics_on_completed, s,
		MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
		MHD_OPTION_END);
	/* clang-format on */
	if (!s->daemon)
		return -(errno ? errno : EADDRINUSE);
	metrics_wait_for_words(s);
	info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	log_info("metrics at http://%s/metrics",
		 listen_format(where, address, info ? info->port : 0));
	if (!listen_is_loopback(address))
		log_warn("whoever can reach %s can read the names of this machine's processes and "
			 "services",
			 where);
	return 0;
}

int metrics_server_new(const struct sockaddr_storage *address, const char *name,
		       struct metrics_server **out)
{
	struct metrics_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return log_errno(ENOMEM, "metrics");
	s->name = name;
	pthread_mutex_init(&s->lock, NULL);
	err = metrics_make_responses(s);
	if (!err)
		err = metrics_start(s, address);
	if (err) {
		char where[LISTEN_TEXT_MAX];
		unsigned port = listen_port(address);

		metrics_server_free(s);
		return log_errno(err, "cannot serve metrics at %s",
				 listen_format(where, address, port));
	}
	*out = s;
	return 0;
}

static void metrics_destroy_response(struct MHD_Response *response)
{
	if (response)
		MHD_destroy_response(response);
}

void metrics_server_free(struct metrics_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	for (size_t i = 0; i < METRICS_SYNTAXES; i++)
		metrics_destroy_response(s->published[i]);
	metrics_destroy_response(s->home);
	metrics_destroy_response(s->not_found);
	metrics_destroy_response(s->not_allowed);
	metrics_destroy_response(s->not_yet);
	metrics_destroy_response(s->not_here);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

int metrics_server_publish(struct metrics_server *s, enum metrics_syntax syntax, char *text,
			   size_t size)
{
	struct MHD_Response *old,
		*response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);

	if (!response) {
		free(text);
		return -ENOMEM;
	}
	if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				    metrics_content_type(syntax)) != MHD_YES) {
		MHD_destroy_response(response);
		return -ENOMEM;
	}
	pthread_mutex_lock(&s->lock);
	old = s->published[syntax];
	s->published[syntax] = response;
	pthread_mutex_unlock(&s->lock);
	metrics_destroy_response(old);
	return 0;
}
