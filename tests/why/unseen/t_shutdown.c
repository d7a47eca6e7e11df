/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Shutdown in the wrong order: the db-writer is stopped before the session store has flushed. Its last flush is put into the mailbox of a thread that has ended, and shutdown waits for the flush for ever.
 *   culprit: db-writer|db mailbox
 *   victim: flush sessions|shutdown
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* sessiond: a session store that writes through a database thread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct write {
	struct write *next;
	bool stop, done;
	thrum_task task;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct write *first, **last = &first;
static int readers;
static thrum_task mailbox;

static void send_write(struct write *write)
{
	pthread_mutex_lock(&mutex);
	*last = write;
	last = &write->next;
	thrum_task_signal(mailbox, readers);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *db_writer(void *data)
{
	struct write *write;
	bool stop;

	thrum_lane_name("db-writer");
	do {
		pthread_mutex_lock(&mutex);
		readers++;
		while (!first) {
			thrum_task_wait(thrum_task_current(), mailbox);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		readers--;
		write = first;
		first = write->next;
		if (!first)
			last = &first;
		thrum_task_read(thrum_task_current(), mailbox);
		pthread_mutex_unlock(&mutex);
		stop = write->stop;
		if (!stop) {
			THRUM_RUN (write->task) {
				usleep(6000);
				thrum_task_resolve(write->task);
			}
			pthread_mutex_lock(&mutex);
			write->done = true;
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&mutex);
		}
	} while (!stop);
	return NULL;
}

static void db_write(const char *what)
{
	thrum_task self = thrum_task_current();
	struct write write = {.task = thrum_task_create(THRUM_KIND_TASK, what)};

	send_write(&write);
	thrum_task_wait(self, write.task);
	pthread_mutex_lock(&mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!write.done)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	pthread_mutex_unlock(&mutex);
	thrum_task_read(self, write.task);
}

static void stop_database(pthread_t thread)
{
	send_write(&(struct write){.stop = true});
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_join(thread, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_task shutdown_task;
	pthread_t thread;

	mailbox = thrum_task_create(THRUM_KIND_MAILBOX, "db mailbox");
	pthread_create(&thread, NULL, db_writer, NULL);
	for (int i = 0; i < 10; i++) {
		thrum_task session = thrum_task_createf(THRUM_KIND_TASK, "session %d", i);

		THRUM_RUN (session) {
			usleep(3000);
			db_write("save session");
			thrum_task_resolve(session);
		}
	}
	shutdown_task = thrum_task_create(THRUM_KIND_TASK, "shutdown");
	thrum_task_should_resolve(shutdown_task);
	THRUM_RUN (shutdown_task) {
		if (broken)
			stop_database(thread);
		db_write("flush sessions");
		if (!broken)
			stop_database(thread);
		thrum_task_resolve(shutdown_task);
	}
	printf("sessiond: bye\n");
	return 0;
}
