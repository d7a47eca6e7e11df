/* SPDX-License-Identifier: ISC */
/*
 * A queue of one place whose lock and condition are the program's own, by the system call futex(). It knows
 * nothing of thrum.
 *
 * futex fine	all items are taken
 * futex handler	the handler of a signal wakes another thread, and none comes any more
 * futex lost	the producer forgets to wake the consumer for the last item
 * futex shared	the word lies in memory that another process may share, and wakes come from there
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hang.h"

#define ITEMS 8

static _Atomic uint32_t filled, asleep;
static void pause_a_while(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static __attribute__((noinline)) void wait_while(_Atomic uint32_t *word, uint32_t value)
{
	asleep++;
	while (*word == value)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
	asleep--;
}

static __attribute__((noinline)) void fill(bool wakes)
{
	filled++;
	if (wakes)
		syscall(SYS_futex, &filled, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *consume(void *unused)
{
	for (uint32_t i = 0; i < ITEMS; i++)
		wait_while(&filled, i);
	return unused;
}

static bool is_consumer_asleep(void)
{
	return filled == ITEMS && asleep > 0;
}

/* Nobody wakes it again, once it has gone on. */
static void *wait_for_others(void *memory)
{
	_Atomic uint32_t *word = memory;

	for (uint32_t i = 0; i < 2; i++) {
		alarm(1);
		while (*word == i)
			syscall(SYS_futex, word, FUTEX_WAIT, i, NULL, NULL, 0);
	}
	return NULL;
}

static int in_memory_of_others(void)
{
	_Atomic uint32_t *word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	pid_t child = fork();

	if (child == 0) {
		pause_a_while();
		*word = 1;
		syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
		_exit(0);
	}
	pthread_create(&thread, NULL, wait_for_others, word);
	pthread_join(thread, NULL);
	return 0;
}

static _Atomic uint32_t calls;

static void call(int number)
{
	(void)number;
	calls++;
	syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *answer_calls(void *unused)
{
	for (uint32_t i = 0;; i++)
		wait_while(&calls, i);
	return unused;
}

static bool is_second_call_missing(void)
{
	return calls == 1 && asleep > 0;
}

static int by_handler(void)
{
	pthread_t thread;

	signal(SIGUSR1, call);
	pthread_create(&thread, NULL, answer_calls, NULL);
	pause_a_while();
	raise(SIGUSR1);
	end_when(is_second_call_missing);
	pthread_join(thread, NULL);
	return 0;
}

int main(int count, char **arguments)
{
	const char *way = count > 1 ? arguments[1] : "";
	bool forgets = strcmp(way, "lost") == 0;
	pthread_t consumer;

	if (strcmp(way, "shared") == 0)
		return in_memory_of_others();
	if (strcmp(way, "handler") == 0)
		return by_handler();
	pthread_create(&consumer, NULL, consume, NULL);
	for (int i = 0; i < ITEMS; i++) {
		pause_a_while();
		fill(i + 1 < ITEMS || !forgets);
	}
	if (forgets)
		end_when(is_consumer_asleep);
	pthread_join(consumer, NULL);
	return 0;
}
