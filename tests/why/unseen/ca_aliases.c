/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: expand_list holds table_lock for reading and, for each member, find_address takes it for reading once
 *     more. When reload_table waits to write in between, the lock prefers the writer: the second read lock waits
 *     behind the writer, and the writer for the first read lock of the same thread.
 *   culprit: expand_list|deliver_lists
 *   victim: reload_table|deliver_letters
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The delivery side of a mail server: letters to plain addresses and to lists, and a table of aliases that is
 * read anew when its file has changed. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIASES 6
#define LETTERS 150

struct alias {
	const char *name;
	char mailbox[40];
};

struct list {
	const char *name;
	const char *members[5];
};

static bool nested;
static pthread_rwlock_t table_lock;
static struct alias table[ALIASES] = {
	{"anna", ""},
	{"ben", ""},
	{"carla", ""},
	{"dora", ""},
	{"emil", ""},
	{"postmaster", ""},
};
static unsigned generation;
static const struct list lists[] = {
	{"team", {"anna", "ben", "carla", NULL, NULL}},
	{"everybody", {"anna", "ben", "carla", "dora", "emil"}},
};

static pthread_mutex_t spool_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned spooled;
static volatile bool over;

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static void fill_table(void)
{
	generation++;
	for (int i = 0; i < ALIASES; i++)
		snprintf(table[i].mailbox, sizeof(table[i].mailbox), "/var/mail/%s.%u",
			table[i].name, generation);
}

/* The caller holds the lock of the table. */
static bool search_table(const char *name, char *mailbox, size_t size)
{
	for (int i = 0; i < ALIASES; i++) {
		if (strcmp(table[i].name, name))
			continue;
		snprintf(mailbox, size, "%s", table[i].mailbox);
		return true;
	}
	return false;
}

static bool find_address(const char *name, char *mailbox, size_t size)
{
	bool found;

	pthread_rwlock_rdlock(&table_lock);
	found = search_table(name, mailbox, size);
	pthread_rwlock_unlock(&table_lock);
	return found;
}

static void spool(const char *mailbox)
{
	pthread_mutex_lock(&spool_lock);
	if (mailbox[0])
		spooled++;
	pthread_mutex_unlock(&spool_lock);
}

/* All members of a list get the letter, by one state of the table. */
static void expand_list(const struct list *list)
{
	char mailbox[40];

	pthread_rwlock_rdlock(&table_lock);
	for (int i = 0; i < 5 && list->members[i]; i++) {
		pause_ms(12); /* the size of the mailbox is looked up on a slow disk */
		if (nested ? find_address(list->members[i], mailbox, sizeof(mailbox))
			   : search_table(list->members[i], mailbox, sizeof(mailbox)))
			spool(mailbox);
	}
	pthread_rwlock_unlock(&table_lock);
}

static void *deliver_letters(void *data)
{
	char mailbox[40];

	(void)data;
	for (int i = 0; i < LETTERS; i++) {
		if (find_address(table[i % ALIASES].name, mailbox, sizeof(mailbox)))
			spool(mailbox);
		pause_ms(9);
	}
	return NULL;
}

/* Lists come rarely at first, and often from noon on. */
static void *deliver_lists(void *data)
{
	(void)data;
	for (int i = 0; i < 4; i++) {
		pause_ms(50);
		expand_list(&lists[0]);
		pause_ms(114);
	}
	for (int i = 0; i < 10; i++)
		expand_list(&lists[1]);
	return NULL;
}

/* The file of aliases is looked at five times a second, halfway between the rare lists. */
static void *reload_table(void *data)
{
	(void)data;
	for (int i = 0; i < 7; i++) {
		if (i >= 1) {
			pthread_rwlock_wrlock(&table_lock);
			fill_table();
			pthread_rwlock_unlock(&table_lock);
		}
		pause_ms(i < 4 ? 203 : 35);
	}
	return NULL;
}

static void *flush_spool(void *data)
{
	(void)data;
	while (!over) {
		pthread_mutex_lock(&spool_lock);
		spooled = 0;
		pthread_mutex_unlock(&spool_lock);
		pause_ms(80);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*const work[])(void *) = {deliver_letters, deliver_lists, reload_table};
	pthread_t threads[3], flusher;
	pthread_rwlockattr_t attributes;

	nested = argc > 1 && !strcmp(argv[1], "broken");
	/* Without this, the letters of a busy day would keep the new table out for minutes. */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table_lock, &attributes);
	fill_table();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work[i], NULL);
	pthread_create(&flusher, NULL, flush_spool, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	over = true;
	pthread_join(flusher, NULL);
	printf("table %u\n", generation);
	return 0;
}
