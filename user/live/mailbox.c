// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/live/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "user/base/log.h"
#include "user/base/util.h"

struct mailbox {
	int asked, done; /* descriptors; -1: not open */
	_Atomic(const char *) busy;
	atomic_bool stop, ended;

	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t moved; /* rest is RESTS_NOT again */
	enum { RESTS_NOT, RESTS_SOON, RESTS } rest;
	struct live_request request;
	struct live_view *view; /* NULL: taken */
};

struct mailbox *mailbox_new(void)
{
	struct mailbox *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->moved, NULL);
	m->asked = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->asked >= 0 && m->done >= 0)
		return m;
	mailbox_free(m);
	return NULL;
}

void mailbox_free(struct mailbox *m)
{
	if (!m)
		return;
	live_view_free(m->view);
	pthread_cond_destroy(&m->moved);
	pthread_mutex_destroy(&m->lock);
	if (m->asked >= 0)
		close(m->asked);
	if (m->done >= 0)
		close(m->done);
	free(m);
}

/* A descriptor of eventfd(2) is readable until it is read. */
static void mailbox_signal(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		log_debug("eventfd: full");
}

static bool mailbox_signalled(int fd)
{
	uint64_t times;

	return read(fd, &times, sizeof(times)) == sizeof(times);
}

/* ---- the screen's side -------------------------------------------------------------------- */

void mailbox_ask(struct mailbox *m, const struct live_request *request)
{
	pthread_mutex_lock(&m->lock);
	m->request = *request;
	pthread_mutex_unlock(&m->lock);
	mailbox_signal(m->asked);
}

void mailbox_stop(struct mailbox *m)
{
	atomic_store(&m->stop, true);
	mailbox_wake(m);
	mailbox_signal(m->asked);
}

void mailbox_ask_rest(struct mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	if (m->rest == RESTS_NOT)
		m->rest = RESTS_SOON;
	pthread_mutex_unlock(&m->lock);
	mailbox_signal(m->asked);
}

bool mailbox_rests(struct mailbox *m)
{
	bool rests;

	pthread_mutex_lock(&m->lock);
	rests = m->rest == RESTS;
	pthread_mutex_unlock(&m->lock);
	return rests;
}

void mailbox_wake(struct mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	m->rest = RESTS_NOT;
	pthread_cond_signal(&m->moved);
	pthread_mutex_unlock(&m->lock);
}

int mailbox_fd(const struct mailbox *m)
{
	return m->done;
}

struct live_view *mailbox_take(struct mailbox *m)
{
	struct live_view *view;

	mailbox_signalled(m->done);
	pthread_mutex_lock(&m->lock);
	view = TAKE_PTR(m->view);
	pthread_mutex_unlock(&m->lock);
	return view;
}

const char *mailbox_busy(struct mailbox *m)
{
	return atomic_load(&m->busy);
}

bool mailbox_ended(struct mailbox *m)
{
	return atomic_load(&m->ended);
}

/* ---- the worker's side -------------------------------------------------------------------- */

int mailbox_asked_fd(const struct mailbox *m)
{
	return m->asked;
}

bool mailbox_asked(struct mailbox *m)
{
	return mailbox_signalled(m->asked);
}

void mailbox_request(struct mailbox *m, struct live_request *request)
{
	pthread_mutex_lock(&m->lock);
	*request = m->request;
	pthread_mutex_unlock(&m->lock);
}

bool mailbox_stopped(struct mailbox *m)
{
	return atomic_load(&m->stop);
}

void mailbox_rest(struct mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	if (m->rest == RESTS_SOON && !atomic_load(&m->stop)) {
		m->rest = RESTS;
		mailbox_signal(m->done);
		while (m->rest == RESTS)
			pthread_cond_wait(&m->moved, &m->lock);
	}
	pthread_mutex_unlock(&m->lock);
}

void mailbox_publish(struct mailbox *m, struct live_view *view)
{
	struct live_view *unseen;

	pthread_mutex_lock(&m->lock);
	unseen = m->view;
	m->view = view;
	pthread_mutex_unlock(&m->lock);
	live_view_free(unseen);
	mailbox_signal(m->done);
}

void mailbox_set_busy(struct mailbox *m, const char *what)
{
	atomic_store(&m->busy, what);
	mailbox_signal(m->done);
}

void mailbox_end(struct mailbox *m)
{
	atomic_store(&m->ended, true);
	mailbox_signal(m->done);
}
