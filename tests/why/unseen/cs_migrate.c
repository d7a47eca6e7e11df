/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: The scripts' names begin with their versions. The function by_name compares them as texts, so
 *     version 10 sorts before version 2. So “fill totals” runs second, while it should be the last. There
 *     are no rows of orders yet, and no total is computed.
 *   culprit: fill totals|by_name
 *   victim: total of row|heartbeat|create orders|import orders
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Brings a database to its newest version: runs the scripts of a folder, one after the other. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	ORDERS = 6
};

struct script {
	const char *file; /* VERSION-what-it-does.sql */
	void (*run)(void);
};

static struct {
	int users, orders, totals;
	bool has_orders;
	pthread_mutex_t mutex;
	pthread_cond_t closed;
	bool is_closed;
} database = {.mutex = PTHREAD_MUTEX_INITIALIZER, .closed = PTHREAD_COND_INITIALIZER};

/* ---- The work of the scripts -------------------------------------------------------------------- */

THRUM_TAG(statement, NULL, "statement", 0);

static void query(int ms)
{
	thrum_suspend(&statement);
	usleep(ms * 1000);
	thrum_resume();
}

static void create_users(void)
{
	query(20);
}

static void import_users(void)
{
	query(40);
	database.users = 4;
}

static void create_orders(void)
{
	query(20);
	database.has_orders = true;
}

static void import_orders(void)
{
	query(60);
	if (database.has_orders)
		database.orders = ORDERS;
}

static void alter(void)
{
	query(15);
}

static void fill_totals(void)
{
	query(10);
	for (int row = 1; row <= database.orders; row++) {
		thrum_task total = thrum_task_createf(THRUM_KIND_TASK, "total of row %d", row);

		THRUM_RUN (total) {
			query(5);
			database.totals++;
			thrum_task_resolve(total);
		}
	}
}

/* As the folder lists them. */
static struct script scripts[] = {
	{"4-create-orders.sql", create_orders},
	{"10-fill-totals.sql", fill_totals},
	{"2-import-users.sql", import_users},
	{"9-import-orders.sql", import_orders},
	{"7-add-addresses.sql", alter},
	{"1-create-users.sql", create_users},
	{"3-index-users.sql", alter},
	{"8-widen-prices.sql", alter},
	{"5-index-orders.sql", alter},
	{"6-rename-columns.sql", alter},
};

enum {
	SCRIPTS = sizeof scripts / sizeof *scripts
};

/* ---- The tool ------------------------------------------------------------------------------- */

static int by_name(const void *left, const void *right)
{
	const struct script *a = left, *b = right;

	return strcmp(a->file, b->file);
}

static int by_version(const void *left, const void *right)
{
	const struct script *a = left, *b = right;

	return atoi(a->file) - atoi(b->file);
}

/* Makes "create users" of "1-create-users.sql". */
static void name_script(const struct script *script, char *name, size_t size)
{
	char *end;

	snprintf(name, size, "%s", strchr(script->file, '-') + 1);
	if ((end = strstr(name, ".sql")))
		*end = '\0';
	for (char *at = name; *at; at++)
		if (*at == '-')
			*at = ' ';
}

static void run_script(const struct script *script)
{
	char name[64];
	thrum_task task;

	name_script(script, name, sizeof name);
	task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		script->run();
		query(10); /* notes the version */
		thrum_task_resolve(task);
	}
}

/* Keeps the connection alive. */
static void *beat(void *data)
{
	struct timespec until;

	(void)data;
	thrum_lane_name("heartbeat");
	pthread_mutex_lock(&database.mutex);
	while (!database.is_closed) {
		thrum_task ping = thrum_task_create(THRUM_KIND_TASK, "heartbeat");

		THRUM_RUN (ping)
			thrum_task_resolve(ping);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 200000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		pthread_cond_timedwait(&database.closed, &database.mutex, &until);
		thrum_resume();
	}
	pthread_mutex_unlock(&database.mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t heart;

	thrum_start(NULL);
	pthread_create(&heart, NULL, beat, NULL);
	query(600); /* a dump, for the case that something goes wrong */
	qsort(scripts, SCRIPTS, sizeof *scripts, broken ? by_name : by_version);
	for (int i = 0; i < SCRIPTS; i++)
		run_script(&scripts[i]);
	pthread_mutex_lock(&database.mutex);
	database.is_closed = true;
	pthread_cond_signal(&database.closed);
	pthread_mutex_unlock(&database.mutex);
	pthread_join(heart, NULL);
	thrum_stop();
	printf("%d users, %d orders, %d totals\n", database.users, database.orders,
		database.totals);
	return 0;
}
