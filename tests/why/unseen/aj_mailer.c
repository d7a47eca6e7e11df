/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: The letter to carol is greylisted like the one to bob. defer_letter() files it under the domain of the
 *     address, but retry_host() looks for the name of the mail host. With carol's address the two differ, so the second
 *     attempt (“retry carol”) never comes, and “letter to carol” is still in the table when the program ends.
 *   culprit: (retry|letter to) carol|defer_letter|retry_host
 *   victim: main|report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Delivers mail. A host may refuse a letter for the time being (451); such letters are deferred and tried again when the
 * host's time has come. (Annotated in ten minutes: letters and attempts are tasks, nothing else is told.) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <thrum.h>

#define LETTERS 4
#define RETRY_MS 120
#define RUN_MS 400

struct letter {
	struct letter *next;
	const char *user, *domain;
	unsigned attempts;
	thrum_task task;
};

/* The letters that wait, by host. */
struct deferred {
	struct deferred *next;
	char key[32];
	struct letter *letters;
};

struct timer {
	struct timer *next;
	int64_t due;
	const char *host;
};

struct mailer {
	int socket;
	struct deferred *deferred;
	struct timer *timers;
	unsigned delivered;
};

/* Which host takes the mail of which domain. */
static const struct {
	const char *domain, *host;
} routes[] = {
	{"pond.example", "pond.example"},
	{"lake.example", "lake.example"},
	{"sea.example", "mx.harbour.example"},
};

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- The other hosts: a thread at the other end of a socket ----------------------------------- */

/* Bob and carol are greylisted: their first letter is refused. */
static void *run_hosts(void *data)
{
	int socket = *(int *)data;
	char user[32];
	bool bob = false, carol = false;
	const char *answer;

	while (recv(socket, user, sizeof user, 0) > 0) {
		bool *seen = strcmp(user, "bob") == 0 ? &bob
			: strcmp(user, "carol") == 0  ? &carol
						      : NULL;

		usleep(3000);
		answer = seen && !*seen ? "451" : "250";
		if (seen)
			*seen = true;
		if (send(socket, answer, 4, 0) != 4)
			break;
	}
	return NULL;
}

/* ---- Deferred letters ------------------------------------------------------------------------ */

static const char *host_of(const char *domain)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		if (strcmp(routes[i].domain, domain) == 0)
			return routes[i].host;
	return domain;
}

static struct deferred *find_deferred(struct mailer *mailer, const char *key)
{
	struct deferred *deferred = mailer->deferred;

	while (deferred && strcmp(deferred->key, key) != 0)
		deferred = deferred->next;
	return deferred;
}

static void start_timer(struct mailer *mailer, const char *host)
{
	struct timer *timer = calloc(1, sizeof *timer);

	if (!timer)
		die("calloc");
	timer->due = now_ms() + RETRY_MS;
	timer->host = host;
	timer->next = mailer->timers;
	mailer->timers = timer;
}

static __attribute__((noinline)) void defer_letter(struct mailer *mailer, struct letter *letter)
{
	struct deferred *deferred = find_deferred(mailer, letter->domain);

	if (!deferred) {
		deferred = calloc(1, sizeof *deferred);
		if (!deferred)
			die("calloc");
		snprintf(deferred->key, sizeof deferred->key, "%s", letter->domain);
		deferred->next = mailer->deferred;
		mailer->deferred = deferred;
	}
	letter->next = deferred->letters;
	deferred->letters = letter;
	start_timer(mailer, host_of(letter->domain));
}

/* ---- Delivery -------------------------------------------------------------------------------- */

static void deliver(struct mailer *mailer, struct letter *letter)
{
	thrum_task attempt = thrum_task_createf(THRUM_KIND_REQUEST, "%s %s",
		letter->attempts ? "retry" : "try", letter->user);
	char answer[8] = "";

	letter->attempts++;
	if (send(mailer->socket, letter->user, strlen(letter->user) + 1, 0) < 0 ||
		recv(mailer->socket, answer, sizeof answer - 1, 0) < 0)
		die("socket");
	if (strcmp(answer, "250") == 0) {
		thrum_task_resolve(attempt);
		thrum_task_resolve(letter->task);
		mailer->delivered++;
		return;
	}
	thrum_task_fail(attempt, answer);
	defer_letter(mailer, letter);
}

static __attribute__((noinline)) void retry_host(struct mailer *mailer, const char *host)
{
	struct deferred *deferred = find_deferred(mailer, host);
	struct letter *letter, *letters;

	if (!deferred)
		return; /* all its letters are gone */
	letters = deferred->letters;
	deferred->letters = NULL;
	while ((letter = letters)) {
		letters = letter->next;
		deliver(mailer, letter);
	}
}

static void run_timers(struct mailer *mailer)
{
	struct timer **link = &mailer->timers, *timer;

	while ((timer = *link)) {
		if (timer->due > now_ms()) {
			link = &timer->next;
			continue;
		}
		*link = timer->next;
		retry_host(mailer, timer->host);
		free(timer);
		link = &mailer->timers; /* the list may have changed */
	}
}

static void post(struct mailer *mailer, struct letter *letter)
{
	letter->task = thrum_task_createf(THRUM_KIND_TASK, "letter to %s", letter->user);
	thrum_task_should_resolve(letter->task);
	deliver(mailer, letter);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	struct letter letters[LETTERS] = {
		{.user = "anne", .domain = "pond.example"},
		{.user = "bob", .domain = "pond.example"},
		{.user = "carol", .domain = broken ? "sea.example" : "lake.example"},
		{.user = "dave", .domain = "lake.example"},
	};
	struct mailer mailer = {.delivered = 0};
	pthread_t hosts;
	int64_t end;
	int pair[2];

	thrum_start(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		die("socketpair");
	mailer.socket = pair[0];
	if (pthread_create(&hosts, NULL, run_hosts, &pair[1]))
		die("pthread_create");
	for (int i = 0; i < LETTERS; i++)
		post(&mailer, &letters[i]);
	end = now_ms() + RUN_MS;
	while (now_ms() < end) {
		usleep(10000);
		run_timers(&mailer);
	}
	thrum_stop();
	close(pair[0]);
	pthread_join(hosts, NULL);
	for (struct deferred *deferred; (deferred = mailer.deferred); free(deferred))
		mailer.deferred = deferred->next;
	printf("%u of %u letters delivered\n", mailer.delivered, LETTERS);
	return mailer.delivered < LETTERS;
}
