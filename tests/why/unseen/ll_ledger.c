/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reverse_entry returns early and keeps the account's lock. It should have unlocked it first.
 *   culprit: reverse_entry
 *   victim: post_entry|post_clerk|join
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define N_ACCOUNTS 4
#define N_CLERKS 3
#define N_POSTS 120
#define INBOX 16

struct account {
	pthread_mutex_t lock;
	long cents;
	int entries;
	bool reversed[64];
};

static struct account accounts[N_ACCOUNTS];
static bool tidy;

static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t inbox_filled = PTHREAD_COND_INITIALIZER;
static struct {
	int account, entry;
} inbox[INBOX];
static int inbox_head, inbox_tail;
static bool inbox_closed;

static void post_entry(struct account *account, long cents)
{
	pthread_mutex_lock(&account->lock);
	account->cents += cents;
	account->entries++;
	if (account->entries % 40 == 0)
		usleep(2000); /* The page of the book is full: turn it. */
	pthread_mutex_unlock(&account->lock);
}

static int reverse_entry(struct account *account, int entry)
{
	pthread_mutex_lock(&account->lock);
	if (account->reversed[entry]) {
		if (tidy)
			pthread_mutex_unlock(&account->lock);
		return -EALREADY;
	}
	account->reversed[entry] = true;
	account->cents -= 100;
	pthread_mutex_unlock(&account->lock);
	return 0;
}

static void *post_clerk(void *arg)
{
	int n = (int)(long)arg;
	for (int i = 0; i < N_POSTS; i++) {
		post_entry(&accounts[(n + i) % N_ACCOUNTS], 250 + i);
		usleep(1000);
	}
	return NULL;
}

static void *reversal_desk(void *arg)
{
	int refused = 0;
	(void)arg;
	pthread_mutex_lock(&inbox_lock);
	for (;;) {
		while (inbox_head == inbox_tail && !inbox_closed)
			pthread_cond_wait(&inbox_filled, &inbox_lock);
		if (inbox_head == inbox_tail)
			break;
		int account = inbox[inbox_head % INBOX].account,
		    entry = inbox[inbox_head % INBOX].entry;
		inbox_head++;
		pthread_mutex_unlock(&inbox_lock);
		if (reverse_entry(&accounts[account], entry) == -EALREADY)
			refused++;
		pthread_mutex_lock(&inbox_lock);
	}
	pthread_mutex_unlock(&inbox_lock);
	printf("reversals refused: %d\n", refused);
	return NULL;
}

static void ask_reversal(int account, int entry)
{
	pthread_mutex_lock(&inbox_lock);
	inbox[inbox_tail % INBOX].account = account;
	inbox[inbox_tail % INBOX].entry = entry;
	inbox_tail++;
	pthread_cond_signal(&inbox_filled);
	pthread_mutex_unlock(&inbox_lock);
}

int main(int argc, char **argv)
{
	static const int asked[][2] = {{0, 3}, {1, 8}, {2, 5}, {3, 9}, {2, 5}, {0, 7}};
	pthread_t clerks[N_CLERKS], desk;
	long sum = 0;

	tidy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < N_ACCOUNTS; i++)
		pthread_mutex_init(&accounts[i].lock, NULL);
	pthread_create(&desk, NULL, reversal_desk, NULL);
	for (int i = 0; i < N_CLERKS; i++)
		pthread_create(&clerks[i], NULL, post_clerk, (void *)(long)i);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		usleep(12000);
		ask_reversal(asked[i][0], asked[i][1]);
	}
	for (int i = 0; i < N_CLERKS; i++)
		pthread_join(clerks[i], NULL);
	pthread_mutex_lock(&inbox_lock);
	inbox_closed = true;
	pthread_cond_signal(&inbox_filled);
	pthread_mutex_unlock(&inbox_lock);
	pthread_join(desk, NULL);
	for (int i = 0; i < N_ACCOUNTS; i++)
		sum += accounts[i].cents;
	printf("books closed: %ld cents\n", sum);
	return 0;
}
