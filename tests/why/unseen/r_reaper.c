/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: shutdown_sessions joins session_reaper while it holds sessions_mutex; the reaper needs sessions_mutex once
 *     more before it can end. Neither goes on, and main waits for both.
 *   culprit: shutdown_sessions
 *   victim: session_reaper|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A session table with a thread that removes old sessions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct session {
	int id, idle;
	bool used;
};

static struct session sessions[32];
static pthread_mutex_t sessions_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t audit_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t audit_work = PTHREAD_COND_INITIALIZER;
static pthread_t reaper;
static atomic_bool stopping;
static int removed, audited, audit_queue;
static bool audit_stop, join_inside;

static void audit_put(int lines)
{
	pthread_mutex_lock(&audit_mutex);
	audit_queue += lines;
	pthread_cond_signal(&audit_work);
	pthread_mutex_unlock(&audit_mutex);
}

static void *write_audit(void *unused)
{
	pthread_mutex_lock(&audit_mutex);
	while (!audit_stop || audit_queue) {
		if (audit_queue) {
			audit_queue--;
			audited++;
		} else {
			pthread_cond_wait(&audit_work, &audit_mutex);
		}
	}
	pthread_mutex_unlock(&audit_mutex);
	return unused;
}

static int expire(int age)
{
	int count = 0;

	pthread_mutex_lock(&sessions_mutex);
	for (int i = 0; i < 32; i++) {
		if (sessions[i].used && sessions[i].idle++ >= age) {
			sessions[i].used = false;
			count++;
		}
	}
	removed += count;
	pthread_mutex_unlock(&sessions_mutex);
	return count;
}

static void *session_reaper(void *unused)
{
	while (!stopping) {
		usleep(12000);
		audit_put(expire(5));
	}
	audit_put(expire(0)); /* the rest */
	return unused;
}

static void *accept_sessions(void *unused)
{
	for (int id = 0; id < 40; id++) {
		pthread_mutex_lock(&sessions_mutex);
		for (int i = 0; i < 32; i++) {
			if (!sessions[i].used) {
				sessions[i] = (struct session){.id = id, .used = true};
				break;
			}
		}
		pthread_mutex_unlock(&sessions_mutex);
		usleep(4000);
	}
	return unused;
}

static void *shutdown_sessions(void *unused)
{
	usleep(250000); /* the operator asks for a restart */
	pthread_mutex_lock(&sessions_mutex);
	stopping = true;
	if (join_inside) {
		pthread_join(reaper, NULL);
		memset(sessions, 0, sizeof(sessions));
		pthread_mutex_unlock(&sessions_mutex);
	} else {
		pthread_mutex_unlock(&sessions_mutex);
		pthread_join(reaper, NULL);
		pthread_mutex_lock(&sessions_mutex);
		memset(sessions, 0, sizeof(sessions));
		pthread_mutex_unlock(&sessions_mutex);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t acceptor, audit, stopper;

	join_inside = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&audit, NULL, write_audit, NULL);
	pthread_create(&reaper, NULL, session_reaper, NULL);
	pthread_create(&acceptor, NULL, accept_sessions, NULL);
	pthread_create(&stopper, NULL, shutdown_sessions, NULL);
	pthread_join(acceptor, NULL);
	pthread_join(stopper, NULL);
	pthread_mutex_lock(&audit_mutex);
	audit_stop = true;
	pthread_cond_signal(&audit_work);
	pthread_mutex_unlock(&audit_mutex);
	pthread_join(audit, NULL);
	printf("%d sessions removed, %d audited\n", removed, audited);
	return 0;
}
