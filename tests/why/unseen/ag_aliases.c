/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: smtp-1 holds the read-write lock aliases_lock for reading in expand_recipient(), and takes it for reading once
 *     more in expand_list(), as the alias is a list. Between the two the reloader has begun to wait for writing, and the
 *     lock prefers writers: the second read lock waits for the writer, and the writer for the first read lock.
 *   culprit: expand_list|expand_recipient|smtp-1
 *   victim: reload|smtp-2
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The part of a mail server that expands aliases, while another thread reads the table of aliases anew. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
#define MAX_ALIASES 8

struct alias {
	const char *name;
	const char *target; /* an address, or :list: and names */
};

struct session {
	const char *thread;
	const char *recipient;
	long after_ms;
	char result[256];
};

static const struct alias table[] = {
	{"postmaster", "ann@example.org"},
	{"sales", "bob@example.org"},
	{"support", "eve@example.org"},
	{"office", ":list:postmaster,sales"},
};

static pthread_rwlock_t aliases_lock;
static struct alias aliases[MAX_ALIASES];
static size_t aliases_count;
static unsigned generation;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static NOINLINE void load_aliases(void)
{
	aliases_count = 0;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		aliases[aliases_count++] = table[i];
	generation++;
}

static const char *find_alias(const char *name, size_t length)
{
	for (size_t i = 0; i < aliases_count; i++)
		if (strlen(aliases[i].name) == length && !memcmp(aliases[i].name, name, length))
			return aliases[i].target;
	return NULL;
}

/* Asks the greylist whether the sender may write to this recipient; the answer takes a while. */
static NOINLINE bool check_greylist(const char *recipient)
{
	pause_ms(380);
	return strcmp(recipient, "nobody") != 0;
}

/* Adds the addresses of all members of a list; also used by the web interface. */
static NOINLINE int expand_list(const char *members, char *result, size_t size)
{
	int missing = 0;

	pthread_rwlock_rdlock(&aliases_lock);
	while (*members) {
		size_t length = strcspn(members, ",");
		const char *target = find_alias(members, length);
		size_t used = strlen(result);

		if (target)
			snprintf(result + used, size - used, "%s%s", used ? " " : "", target);
		else
			missing++;
		members += length;
		if (*members == ',')
			members++;
	}
	pthread_rwlock_unlock(&aliases_lock);
	return missing;
}

static NOINLINE int expand_recipient(struct session *session)
{
	const char *target;
	int result = -1;

	pthread_rwlock_rdlock(&aliases_lock);
	target = find_alias(session->recipient, strlen(session->recipient));
	if (target && check_greylist(session->recipient)) {
		if (!strncmp(target, ":list:", 6)) {
			result = expand_list(target + 6, session->result, sizeof(session->result));
		} else {
			snprintf(session->result, sizeof(session->result), "%s", target);
			result = 0;
		}
	}
	pthread_rwlock_unlock(&aliases_lock);
	return result;
}

static void *smtp_session(void *data)
{
	struct session *session = data;

	pthread_setname_np(pthread_self(), session->thread);
	pause_ms(session->after_ms);
	if (expand_recipient(session))
		fprintf(stderr, "%s: 550 no such user\n", session->recipient);
	else
		printf("%s: deliver to %s\n", session->recipient, session->result);
	return NULL;
}

/* The administrator has edited the table. */
static NOINLINE void reload_aliases(void)
{
	pthread_rwlock_wrlock(&aliases_lock);
	load_aliases();
	pthread_rwlock_unlock(&aliases_lock);
	printf("aliases: generation %u\n", generation);
}

static void *reloader(void *data)
{
	pthread_setname_np(pthread_self(), "reload");
	pause_ms(*(const long *)data);
	reload_aliases();
	return NULL;
}

int main(int argc, char **argv)
{
	bool list = argc > 1 && !strcmp(argv[1], "broken");
	struct session sessions[2] = {
		{.thread = "smtp-1", .recipient = list ? "office" : "sales", .after_ms = 0},
		{.thread = "smtp-2", .recipient = "support", .after_ms = 550},
	};
	long reload_after = 200;
	pthread_rwlockattr_t attributes;
	pthread_t threads[3];

	pthread_rwlockattr_init(&attributes);
	/* Otherwise a busy server would never load the new table. */
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	if (pthread_rwlock_init(&aliases_lock, &attributes))
		return EXIT_FAILURE;
	pthread_rwlockattr_destroy(&attributes);
	load_aliases();

	if (pthread_create(&threads[0], NULL, smtp_session, &sessions[0]) ||
		pthread_create(&threads[1], NULL, smtp_session, &sessions[1]) ||
		pthread_create(&threads[2], NULL, reloader, &reload_after))
		return EXIT_FAILURE;
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	pthread_rwlock_destroy(&aliases_lock);
	return EXIT_SUCCESS;
}
