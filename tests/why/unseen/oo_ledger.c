/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The process of import_rates finds a malformed rate and exits while it holds the ledger's shared
 *     lock. It should have unlocked first; nobody else can, so the other importers wait for ever.
 *   culprit: import_rates
 *   victim: import_trades|import_fees
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Three processes import the files of a day into one ledger, which lies in shared memory. */

enum {
	ENTRIES = 256,
	TRADES = 40,
	FEES = 30,
	EXIT_DATA = 65
};

struct entry {
	char kind;
	int number;
	long cents;
};

struct ledger {
	pthread_mutex_t lock;
	unsigned used;
	long balance;
	struct entry entries[ENTRIES];
};

static const char *rates[] = {
	"USD 10912",
	"GBP 8431",
	"CHF 9377",
	"SEK 114210",
	"NOK 117805",
	"DKK 7457O",
	"JPY 1623300",
	"PLN 43120",
};

static bool check_first;

static struct ledger *open_ledger(void)
{
	struct ledger *ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;

	if (ledger == MAP_FAILED)
		exit(1);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&ledger->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return ledger;
}

/* The caller holds the lock. */
static void add_entry(struct ledger *ledger, char kind, int number, long cents)
{
	struct entry *entry = &ledger->entries[ledger->used++ % ENTRIES];

	*entry = (struct entry){kind, number, cents};
	ledger->balance += cents;
	usleep(300);
}

/* Returns the rate, or -1 if the line is malformed. */
static long parse_rate(const char *line)
{
	char currency[4], rest;
	long rate;

	return sscanf(line, "%3s %ld%c", currency, &rate, &rest) == 2 ? rate : -1;
}

static void become_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fflush(stdout);
}

static pid_t import_rates(struct ledger *ledger)
{
	pid_t child = fork();

	if (child)
		return child;
	become_child();
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		long rate;

		usleep(4000);
		if (check_first && parse_rate(rates[i]) < 0)
			_exit(EXIT_DATA);
		pthread_mutex_lock(&ledger->lock);
		rate = parse_rate(rates[i]);
		if (rate < 0) {
			fprintf(stderr, "rates: line %zu is malformed\n", i + 1);
			_exit(EXIT_DATA);
		}
		add_entry(ledger, 'r', (int)i, 0);
		pthread_mutex_unlock(&ledger->lock);
	}
	_exit(0);
}

static pid_t import_trades(struct ledger *ledger)
{
	pid_t child = fork();

	if (child)
		return child;
	become_child();
	for (int i = 0; i < TRADES; i++) {
		pthread_mutex_lock(&ledger->lock);
		add_entry(ledger, 't', i, 1000 + i);
		pthread_mutex_unlock(&ledger->lock);
		usleep(1500);
	}
	_exit(0);
}

static pid_t import_fees(struct ledger *ledger)
{
	pid_t child = fork();

	if (child)
		return child;
	become_child();
	for (int i = 0; i < FEES; i++) {
		pthread_mutex_lock(&ledger->lock);
		add_entry(ledger, 'f', i, -25);
		pthread_mutex_unlock(&ledger->lock);
		usleep(2000);
	}
	_exit(0);
}

/* A malformed file is no reason to stop the others: it is imported again by hand. */
static int wait_for_imports(int children)
{
	int failed = 0;

	for (int i = 0; i < children; i++) {
		int status;
		pid_t child = waitpid(-1, &status, 0);

		if (child < 0)
			return -1;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			fprintf(stderr, "import %d failed, others go on\n", (int)child);
			failed++;
		}
	}
	return failed;
}

int main(int count, char **arguments)
{
	struct ledger *ledger;
	int failed;

	if (count != 2)
		return 2;
	check_first = strcmp(arguments[1], "healthy") == 0;
	ledger = open_ledger();
	if (import_trades(ledger) < 0 || import_fees(ledger) < 0 || import_rates(ledger) < 0)
		return 1;
	failed = wait_for_imports(3);
	pthread_mutex_lock(&ledger->lock);
	printf("%u entries, balance %ld, %d files to repair\n", ledger->used, ledger->balance,
		failed);
	pthread_mutex_unlock(&ledger->lock);
	return failed == 1 ? 0 : 1;
}
