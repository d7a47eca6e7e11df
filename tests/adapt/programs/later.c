/* SPDX-License-Identifier: ISC */
/* For each byte that it reads, two threads that have been there from the start contend for a lock, and it
 * answers with a byte. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t begin, done;

static void *use_table(void *unused)
{
	for (;;) {
		while (sem_wait(&begin) != 0)
			;
		pthread_mutex_lock(&table_lock);
		pthread_mutex_unlock(&table_lock);
		sem_post(&done);
	}
	return unused;
}

/* Whether a thread waits for it: glibc's second state. */
static bool is_contended(pthread_mutex_t *lock)
{
	return __atomic_load_n(&lock->__data.__lock, __ATOMIC_RELAXED) == 2;
}

int main(void)
{
	pthread_t thread;
	char command;

	sem_init(&begin, 0, 0);
	sem_init(&done, 0, 0);
	if (pthread_create(&thread, NULL, use_table, NULL) != 0 || write(1, "r", 1) != 1)
		return 1;
	while (read(0, &command, 1) == 1) {
		pthread_mutex_lock(&table_lock);
		sem_post(&begin);
		while (!is_contended(&table_lock))
			nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		pthread_mutex_unlock(&table_lock);
		while (sem_wait(&done) != 0)
			;
		if (write(1, "d", 1) != 1)
			return 1;
	}
	return 0;
}
