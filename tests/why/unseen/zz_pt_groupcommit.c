/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: lead_group returns after it has rotated the file, and makes no waiting writer the next leader.
 *   culprit: lead_group
 *   victim: commit_entry|run_writer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A journal with group commit. The first writer leads: it writes the entries of all who wait, and wakes them.
 * The others that came meanwhile form the next group, and its first writer leads it.
 */

enum {
	WRITERS = 5,
	ENTRIES = 60
};

struct commit {
	const char *entry;
	bool done, leads;
	pthread_cond_t changed;
	struct commit *next;
};

static struct {
	pthread_mutex_t mutex;
	struct commit *waiting;
	bool has_leader;
	int file;
	long groups, entries;
} journal = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool broken;

static void append(struct commit *commit)
{
	struct commit **end = &journal.waiting;

	while (*end)
		end = &(*end)->next;
	*end = commit;
}

static void write_group(const struct commit *group)
{
	char block[512];
	size_t used = 0;

	for (; group; group = group->next)
		used += snprintf(block + used, sizeof(block) - used, "%s\n", group->entry);
	if (write(journal.file, block, used) != (ssize_t)used)
		abort();
	usleep(800); /* the disk */
}

static void rotate_journal(void)
{
	if (ftruncate(journal.file, 0))
		perror("journal");
	lseek(journal.file, 0, SEEK_SET);
}

/* The caller holds the mutex. */
static void lead_group(struct commit *self)
{
	struct commit *group, *commit, *next;

	journal.has_leader = true;
	group = journal.waiting;
	journal.waiting = NULL;
	pthread_mutex_unlock(&journal.mutex);
	write_group(group);
	pthread_mutex_lock(&journal.mutex);
	journal.groups++;
	for (commit = group; commit; commit = next) {
		next = commit->next;
		journal.entries++;
		commit->done = true;
		if (commit != self)
			pthread_cond_signal(&commit->changed);
	}
	journal.has_leader = false;
	if (journal.groups % 8 == 0) {
		rotate_journal();
		if (broken)
			return;
	}
	if (journal.waiting) {
		journal.waiting->leads = true;
		journal.has_leader = true;
		pthread_cond_signal(&journal.waiting->changed);
	}
}

static void commit_entry(const char *entry)
{
	struct commit commit = {.entry = entry, .changed = PTHREAD_COND_INITIALIZER};

	pthread_mutex_lock(&journal.mutex);
	append(&commit);
	if (!journal.has_leader && journal.waiting == &commit)
		commit.leads = true;
	while (!commit.done && !commit.leads)
		pthread_cond_wait(&commit.changed, &journal.mutex);
	if (!commit.done)
		lead_group(&commit);
	pthread_mutex_unlock(&journal.mutex);
	pthread_cond_destroy(&commit.changed);
}

static void *run_writer(void *data)
{
	char entry[32];

	for (int i = 0; i < ENTRIES; i++) {
		snprintf(entry, sizeof(entry), "set %ld.%d", (long)data, i);
		commit_entry(entry);
	}
	return NULL;
}

/* Reports progress, as the operators want it. */
static void *report(void *data)
{
	volatile bool *stop = data;

	while (!*stop) {
		pthread_mutex_lock(&journal.mutex);
		(void)journal.entries;
		pthread_mutex_unlock(&journal.mutex);
		usleep(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t writers[WRITERS], reporter;
	char path[] = "/tmp/journal.XXXXXX";
	static volatile bool stop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	journal.file = mkstemp(path);
	unlink(path);
	pthread_create(&reporter, NULL, report, (void *)&stop);
	for (long i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, run_writer, (void *)i);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	stop = true;
	pthread_join(reporter, NULL);
	printf("%ld entries in %ld groups\n", journal.entries, journal.groups);
	return 0;
}
