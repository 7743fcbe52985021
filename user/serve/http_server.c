// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/http_server.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "user/base/clock.h"
#include "user/base/listen.h"
#include "user/base/log.h"
#include "user/base/util.h"
#include "user/kernel/confine.h"
#include "user/serve/http_clients.h"
#include "user/serve/http_who.h"

/* Those too that have been shut down and not been looked at since. */
#define MAX_CONNECTIONS	  (2 * HTTP_CLIENTS_MAX)
#define CONNECTION_MEMORY (16 * 1024) /* bytes for a request's head */
#define TIMEOUT_S	  5
#define PARTING_NS	  (500 * NS_PER_MS) /* for answers that are on their way at the end */

struct http_server {
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool running;  /* the thread is to be joined */
	bool confined; /* of the thread: it has given up its rights */
	int wake;      /* an eventfd; -1: none */
	int epoll;     /* the library's */
	int who;       /* http_who_open(); negative: none */
	_Atomic bool ends;
	struct http_site sites[HTTP_SITES_MAX];
	size_t site_count;
	struct MHD_Response *home, *not_found, *not_allowed, *not_here, *bad_host;
	char home_text[256];
	struct http_clients clients; /* of the thread */
	bool resumed;		     /* a connection, since the library ran last; of the thread */
	size_t asking;		     /* requests that are not over; of the thread */
	const char *name;	     /* NULL: none was given */
};

/* A request that is being answered. */
struct http_request {
	const struct http_site *site; /* NULL: it is no site's */
	void *state;
};

static const char not_allowed_text[] = "only GET and HEAD are answered\n";
static const char bad_host_text[] = "one Host header with a name and a port is wanted\n";
static const char not_here_text[] = "no such name is served here: ask by the address, or give "
				    "memleakbpf survey this name with --metrics-host\n";

#define PLAIN_TEXT MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8"

/* ---- responses ---------------------------------------------------------------------------- */

static struct MHD_Response *http_add_headers(struct MHD_Response *r, const char *const *headers)
{
	for (; r && *headers; headers += 2) {
		if (MHD_add_response_header(r, headers[0], headers[1]) != MHD_YES) {
			MHD_destroy_response(r);
			return NULL;
		}
	}
	return r;
}

struct MHD_Response *http_text_response(const char *text, const char *const *headers)
{
	return http_add_headers(
		MHD_create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_PERSISTENT),
		headers);
}

struct MHD_Response *http_data_response(char *data, size_t size, const char *const *headers)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(size, data, MHD_RESPMEM_MUST_FREE);

	if (!r)
		free(data);
	return http_add_headers(r, headers);
}

enum MHD_Result http_answer_once(struct MHD_Connection *connection, unsigned status,
				 struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* ---- connections -------------------------------------------------------------------------- */

static struct http_client *http_client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void http_on_connection(void *ctx, struct MHD_Connection *connection, void **client,
			       enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *fd, *address;
	struct http_server *s = ctx;
	struct share_owner owner;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		http_clients_remove(&s->clients, *client);
		return;
	}
	*client = NULL;
	fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	address = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (!fd || !address)
		return;
	owner = http_who(s->who, fd->connect_fd, address->client_addr);
	*client = http_clients_add(&s->clients, fd->connect_fd, &owner);
}

static void http_on_completed(void *ctx, struct MHD_Connection *connection, void **state,
			      enum MHD_RequestTerminationCode how)
{
	struct http_request *request = *state;
	struct http_server *s = ctx;

	(void)how;
	if (!request)
		return;
	s->asking--;
	http_client_asks(http_client_of(connection), false);
	if (request->state)
		request->site->completed(request->site->ctx, request->state);
	free(request);
	*state = NULL;
}

const struct share_owner *http_server_owner(struct MHD_Connection *connection)
{
	const struct http_client *client = http_client_of(connection);

	return client ? http_client_owner(client) : NULL;
}

/* ---- requests ----------------------------------------------------------------------------- */

/*
 * A page on the web can have its own name lead to the loopback ("DNS rebinding"). Then that page
 * can read our answers. Browsers say which name they asked for.
 */
static bool http_is_for_us(const struct http_server *s, struct MHD_Connection *connection)
{
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	char own[HOST_NAME_MAX + 1] = "";

	gethostname(own, sizeof(own) - 1);
	return !host || listen_host_is(host, "localhost") || listen_host_is(host, own) ||
	       (s->name && listen_host_is(host, s->name));
}

static enum MHD_Result http_count_header(void *ctx, enum MHD_ValueKind kind, const char *key,
					 const char *value)
{
	size_t *count = ctx;

	(void)kind;
	(void)value;
	*count += !strcasecmp(key, MHD_HTTP_HEADER_HOST);
	return MHD_YES;
}

/*
 * RFC 9112, 3.2: 400 for HTTP/1.1 without a Host header, and for two or a bad one in any version. Who
 * is in between may have gone by another than we do.
 */
static bool http_has_good_host(struct MHD_Connection *connection, const char *version)
{
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	size_t count = 0;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, http_count_header, &count);
	if (!count)
		return strcmp(version, MHD_HTTP_VERSION_1_1) != 0;
	return count == 1 && host && listen_host_is_valid(host);
}

static const struct http_site *http_site_of(const struct http_server *s, const char *path)
{
	for (size_t i = 0; i < s->site_count; i++) {
		if (s->sites[i].has(s->sites[i].ctx, path))
			return &s->sites[i];
	}
	return NULL;
}

static enum MHD_Result http_answer_now(struct http_server *s, struct MHD_Connection *connection,
				       const char *url, const char *method, const char *version,
				       struct http_request *request)
{
	if (!http_has_good_host(connection, version))
		return MHD_queue_response(connection, MHD_HTTP_BAD_REQUEST, s->bad_host);
	if (!http_is_for_us(s, connection))
		return MHD_queue_response(connection, MHD_HTTP_MISDIRECTED_REQUEST, s->not_here);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return MHD_queue_response(connection, MHD_HTTP_METHOD_NOT_ALLOWED, s->not_allowed);
	request->site = http_site_of(s, url);
	if (request->site)
		return request->site->answer(request->site->ctx, connection, url, &request->state);
	if (!strcmp(url, "/"))
		return MHD_queue_response(connection, MHD_HTTP_OK, s->home);
	return MHD_queue_response(connection, MHD_HTTP_NOT_FOUND, s->not_found);
}

static enum MHD_Result http_answer(void *ctx, struct MHD_Connection *connection, const char *url,
				   const char *method, const char *version, const char *data,
				   size_t *data_size, void **state)
{
	struct http_request *request = *state;
	struct http_server *s = ctx;

	(void)data;
	http_client_asks(http_client_of(connection), true);
	/* First the headers alone are shown; whether there is a body is known later. */
	if (!request) {
		*state = calloc(1, sizeof(*request));
		s->asking += *state != NULL;
		return *state ? MHD_YES : MHD_NO;
	}
	if (*data_size) { /* of no use to us */
		*data_size = 0;
		return MHD_YES;
	}
	return http_answer_now(s, connection, url, method, version, request);
}

/* ---- the thread --------------------------------------------------------------------------- */

static void http_on_message(void *ctx, const char *format, va_list args)
{
	char line[512];

	(void)ctx;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("http: %s", line);
}

/* Whatever a request may do to the thread, it does without rights, or is not let in. */
static enum MHD_Result http_let_in(void *ctx, const struct sockaddr *address, socklen_t size)
{
	const struct http_server *s = ctx;

	(void)address;
	(void)size;
	return s->confined ? MHD_YES : MHD_NO;
}

/* Returns when the sites want to be called again. */
static uint64_t http_turn(struct http_server *s, bool ends)
{
	uint64_t next = UINT64_MAX, at;

	for (size_t i = 0; i < s->site_count; i++) {
		at = s->sites[i].turn ? s->sites[i].turn(s->sites[i].ctx, ends) : UINT64_MAX;
		next = at < next ? at : next;
	}
	return next;
}

/* Answers, and waits for words, for http_server_wake() or for the sites' time. */
static void http_go_on(struct http_server *s, bool ends, uint64_t until_ns)
{
	struct pollfd fds[] = {
		{.fd = s->epoll, .events = POLLIN},
		{.fd = s->wake, .events = POLLIN},
	};
	MHD_UNSIGNED_LONG_LONG timeout;
	uint64_t count, next;
	int wait_ms;

	MHD_run(s->daemon);
	/* After it: what has come may want to be called again earlier. */
	s->resumed = false;
	next = http_turn(s, ends);
	wait_ms = clock_wait_ms(next < until_ns ? next : until_ns);
	if (MHD_get_timeout(s->daemon, &timeout) == MHD_YES &&
	    (wait_ms < 0 || timeout < (MHD_UNSIGNED_LONG_LONG)wait_ms))
		wait_ms = timeout < INT_MAX ? (int)timeout : INT_MAX;
	/* That timeout does not know of connections that have just been resumed. */
	if (poll(fds, ARRAY_SIZE(fds), s->resumed ? 0 : wait_ms) > 0 && fds[1].revents &&
	    read(s->wake, &count, sizeof(count)) < 0)
		log_debug("http: eventfd: %s", strerror(errno));
}

static void *http_run(void *arg)
{
	struct http_server *s = arg;
	uint64_t until;

	int err = confine_server();

	s->confined = !err;
	if (err)
		log_errno(err, "the server's thread cannot give up its rights: nothing is served");
	while (!s->ends)
		http_go_on(s, false, UINT64_MAX);
	/* Nobody is let in any more; what waited has its answer, and who is slow does not. */
	s->confined = false;
	until = monotonic_ns() + PARTING_NS;
	do {
		http_go_on(s, true, monotonic_ns() + 10 * NS_PER_MS);
	} while (s->asking && monotonic_ns() < until);
	return NULL;
}

void http_server_resume(struct http_server *s, struct MHD_Connection *connection)
{
	s->resumed = true;
	MHD_resume_connection(connection);
}

void http_server_wake(struct http_server *s)
{
	const uint64_t one = 1;

	if (write(s->wake, &one, sizeof(one)) < 0 && errno != EAGAIN)
		log_debug("http: eventfd: %s", strerror(errno));
}

/* ---- beginning and end -------------------------------------------------------------------- */

struct http_server *http_server_new(const char *name)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->name = name;
	s->who = -1;
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake >= 0)
		return s;
	free(s);
	return NULL;
}

void http_server_add(struct http_server *s, const struct http_site *site)
{
	if (s->site_count < HTTP_SITES_MAX)
		s->sites[s->site_count++] = *site;
}

static int http_make_responses(struct http_server *s)
{
	static const char *const plain[] = {PLAIN_TEXT, NULL};
	static const char *const allowed[] = {MHD_HTTP_HEADER_ALLOW, "GET, HEAD", NULL};
	const struct http_site *last = &s->sites[s->site_count - 1];
	int n = snprintf(s->home_text, sizeof(s->home_text), "nothing here; ");

	for (const struct http_site *site = s->sites; site <= last; site++)
		n += snprintf(s->home_text + n, sizeof(s->home_text) - (size_t)n,
			      "%sthe %s are at %s%s", site == s->sites ? "" : ", ", site->name,
			      site->path, site == last ? "\n" : "");
	s->home = http_text_response(s->home_text + strlen("nothing here; "), plain);
	s->not_found = http_text_response(s->home_text, plain);
	s->not_here = http_text_response(not_here_text, plain);
	s->bad_host = http_text_response(bad_host_text, plain);
	s->not_allowed = http_text_response(not_allowed_text, allowed);
	return s->home && s->not_found && s->not_here && s->bad_host && s->not_allowed ? 0
										       : -ENOMEM;
}

/*
 * Best, those who say nothing do not get as far as us: the kernel keeps them to itself until they
 * do (tcp(7)).
 */
static void http_wait_for_words(const struct http_server *s)
{
	const union MHD_DaemonInfo *listener =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	const int seconds = TIMEOUT_S;

	if (listener && setsockopt(listener->listen_fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds,
				   sizeof(seconds)))
		log_debug("http: no TCP_DEFER_ACCEPT: %s", strerror(errno));
}

static int http_open(struct http_server *s, const struct sockaddr_storage *address)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	const union MHD_DaemonInfo *epoll;

	if (address->ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	/* clang-format off */
	s->daemon = MHD_start_daemon(flags, 0, http_let_in, s, http_answer, s,
		MHD_OPTION_EXTERNAL_LOGGER, http_on_message, NULL,
		MHD_OPTION_SOCK_ADDR, address,
		MHD_OPTION_NOTIFY_CONNECTION, http_on_connection, s,
		MHD_OPTION_NOTIFY_COMPLETED, http_on_completed, s,
		MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
		MHD_OPTION_END);
	/* clang-format on */
	if (!s->daemon)
		return -(errno ? errno : EADDRINUSE);
	epoll = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!epoll)
		return -ENOSYS;
	s->epoll = epoll->epoll_fd;
	http_wait_for_words(s);
	s->who = http_who_open();
	if (s->who < 0)
		log_debug("http: whose sockets they are is not known: %s", strerror(-s->who));
	return 0;
}

static void http_tell(const struct http_server *s, const struct sockaddr_storage *address)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	char where[LISTEN_TEXT_MAX];

	listen_format(where, address, info ? info->port : 0);
	for (size_t i = 0; i < s->site_count; i++) {
		log_info("%s at http://%s%s", s->sites[i].name, where, s->sites[i].path);
		if (!listen_is_loopback(address) && s->sites[i].exposed)
			log_warn("whoever can reach %s %s", where, s->sites[i].exposed);
	}
}

int http_server_listen(struct http_server *s, const struct sockaddr_storage *address)
{
	const bool several = s->site_count > 1;
	char where[LISTEN_TEXT_MAX];
	int err = http_make_responses(s);

	if (!err)
		err = http_open(s, address);
	if (err)
		return log_errno(err, "cannot serve %s%s%s at %s", s->sites[0].name,
				 several ? " and " : "", several ? s->sites[1].name : "",
				 listen_format(where, address, listen_port(address)));
	http_tell(s, address);
	return 0;
}

int http_server_start(struct http_server *s)
{
	sigset_t all, before;
	int err;

	/* Signals are the other threads' affair. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&s->thread, NULL, http_run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->running = !err;
	return err ? log_errno(err, "cannot serve") : 0;
}

static void http_destroy_response(struct MHD_Response *response)
{
	if (response)
		MHD_destroy_response(response);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	if (s->running) {
		s->ends = true;
		http_server_wake(s);
		pthread_join(s->thread, NULL);
	}
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	http_destroy_response(s->home);
	http_destroy_response(s->not_found);
	http_destroy_response(s->not_allowed);
	http_destroy_response(s->not_here);
	http_destroy_response(s->bad_host);
	if (s->who >= 0)
		close(s->who);
	close(s->wake);
	free(s);
}
