/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=match #
 *   truth: "export audit" holds the readers-writer lock "rules" while it writes the long audit to a slow reader
 *     (write_audit); "reload" waits for it as a writer, and new readers, the matches, queue behind the writer.
 *   culprit: export audit|write_audit
 *   victim: match \d+
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Matches messages against rules in several threads; the rules are reloaded and audited under a readers-writer lock. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* ---- A readers-writer lock that prefers writers --------------------------------------------------------- */

struct shared {
	pthread_rwlock_t lock;
	thrum_task task;
};

static void shared_init(struct shared *shared, const char *name)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&shared->lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	shared->task = thrum_task_create(THRUM_KIND_LOCK, name);
}

static void shared_read(struct shared *shared)
{
	if (pthread_rwlock_tryrdlock(&shared->lock)) {
		thrum_task_wait(thrum_task_current(), shared->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_rwlock_rdlock(&shared->lock);
		thrum_resume();
	}
	thrum_lock_acquired(shared->task);
}

static void shared_write(struct shared *shared)
{
	if (pthread_rwlock_trywrlock(&shared->lock)) {
		thrum_task_wait(thrum_task_current(), shared->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_rwlock_wrlock(&shared->lock);
		thrum_resume();
	}
	thrum_lock_acquired(shared->task);
}

static void shared_unlock(struct shared *shared)
{
	thrum_lock_released(shared->task);
	pthread_rwlock_unlock(&shared->lock);
}

/* ---- The rules -------------------------------------------------------------------------------------------- */

static struct shared rules;
static char patterns[4][8] = {"spam", "ham", "eggs", "toast"};
static unsigned matched, generation;
static int audit_pipe[2];
static unsigned audit_pages;

THRUM_TAG(slow_pipe, NULL, "write to the auditor", 0);

/* ---- Matching --------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void match_message(const char *message)
{
	shared_read(&rules);
	usleep(1000);
	for (unsigned i = 0; i < 4; i++)
		if (strstr(message, patterns[i]))
			__atomic_add_fetch(&matched, 1, __ATOMIC_RELAXED);
	shared_unlock(&rules);
}

static void *matcher(void *data)
{
	unsigned number = (unsigned)(uintptr_t)data;
	char name[16];

	snprintf(name, sizeof(name), "matcher %u", number);
	thrum_lane_name(name);
	for (unsigned i = 0; i < 12; i++) {
		thrum_task task;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(30000); /* until the next message */
		thrum_resume();
		task = thrum_task_createf(THRUM_KIND_TASK, "match %u", number * 100 + i);
		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			match_message(i % 3 ? "spam and eggs" : "toast");
			thrum_task_resolve(task);
		}
	}
	return NULL;
}

/* ---- Reloading and the audit -------------------------------------------------------------------------------- */

static void *reloader(void *data)
{
	thrum_task task;

	(void)data;
	thrum_lane_name("reloader");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(200000);
	thrum_resume();
	task = thrum_task_create(THRUM_KIND_TASK, "reload");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		shared_write(&rules);
		strcpy(patterns[1], "bacon");
		generation++;
		shared_unlock(&rules);
		thrum_task_resolve(task);
	}
	return NULL;
}

static __attribute__((noinline)) void write_audit(unsigned pages)
{
	char page[4096];

	memset(page, '.', sizeof(page));
	for (unsigned i = 0; i < pages; i++) {
		ssize_t size;

		thrum_suspend(&slow_pipe);
		size = write(audit_pipe[1], page, sizeof(page));
		thrum_resume();
		if (size != sizeof(page))
			abort();
	}
}

static void *exporter(void *data)
{
	thrum_task task;

	(void)data;
	thrum_lane_name("exporter");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(100000);
	thrum_resume();
	task = thrum_task_create(THRUM_KIND_TASK, "export audit");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		shared_read(&rules);
		write_audit(audit_pages);
		shared_unlock(&rules);
		thrum_task_resolve(task);
	}
	close(audit_pipe[1]);
	return NULL;
}

/* Reads slowly, as over a bad line. */
static void *auditor(void *data)
{
	char page[4096];
	ssize_t size;

	(void)data;
	thrum_lane_name("auditor");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while ((size = read(audit_pipe[0], page, sizeof(page))) > 0)
		usleep(20000);
	thrum_resume();
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const mains[])(void *) = {matcher, matcher, reloader, exporter, auditor};
	pthread_t threads[5];

	if (thrum_start(NULL) || pipe(audit_pipe))
		return 2;
	audit_pages = argc > 1 && !strcmp(argv[1], "broken")
		? 45
		: 3; /* a year, or a week; the pipe takes 16 */
	shared_init(&rules, "rules");
	for (uintptr_t i = 0; i < 5; i++)
		if (pthread_create(&threads[i], NULL, mains[i], (void *)(i + 1)))
			return 2;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (unsigned i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
	thrum_stop();
	printf("%u matches, generation %u\n", matched, generation);
	pthread_rwlock_destroy(&rules.lock);
	close(audit_pipe[0]);
	return 0;
}
