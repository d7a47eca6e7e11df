/* SPDX-License-Identifier: ISC */
/*
 * Uses every wrapped call of pthreads and C11 threads, and prints what it sees of them: results and
 * errno. The output is the same with and without thrum. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SHOW(call) printf("%s: %d\n", #call, call)

static struct timespec soon(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_nsec += 20000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_nsec -= 1000000000;
		time.tv_sec++;
	}
	return time;
}

/* ---- Mutexes ------------------------------------------------------------------------------- */

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, robust;
static sem_t held, release;

static void *hold(void *mutex)
{
	pthread_mutex_lock(mutex);
	sem_post(&held);
	sem_wait(&release);
	pthread_mutex_unlock(mutex);
	return NULL;
}

static void *die_with(void *mutex)
{
	pthread_mutex_lock(mutex);
	return (void *)(uintptr_t)7;
}

static void *release_late(void *unused)
{
	usleep(20000);
	sem_post(&release);
	return unused;
}

static void make_mutex(pthread_mutex_t *mutex, int type, int robustness)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robustness);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

static void show_mutexes(void)
{
	pthread_mutex_t recursive, checked;
	struct timespec until;
	pthread_t thread, releaser;
	void *result;

	make_mutex(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	make_mutex(&checked, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	make_mutex(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	errno = 77;
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_lock(&recursive));
	SHOW(pthread_mutex_trylock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_unlock(&recursive));
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_mutex_unlock(&checked));
	SHOW(pthread_mutex_unlock(&checked));
	pthread_create(&thread, NULL, die_with, &robust);
	SHOW(pthread_join(thread, &result));
	SHOW((int)(uintptr_t)result);
	SHOW(pthread_mutex_lock(&robust));
	SHOW(pthread_mutex_consistent(&robust));
	SHOW(pthread_mutex_unlock(&robust));
	pthread_create(&thread, NULL, hold, &plain);
	sem_wait(&held);
	SHOW(pthread_mutex_trylock(&plain));
	until = soon(CLOCK_REALTIME);
	SHOW(pthread_mutex_timedlock(&plain, &until));
	until = soon(CLOCK_MONOTONIC);
	SHOW(pthread_mutex_clocklock(&plain, CLOCK_MONOTONIC, &until));
	pthread_create(&releaser, NULL, release_late, NULL);
	SHOW(pthread_mutex_lock(&plain));
	SHOW(pthread_mutex_unlock(&plain));
	SHOW(errno);
	pthread_join(thread, NULL);
	pthread_join(releaser, NULL);
	SHOW(pthread_mutex_destroy(&recursive));
	SHOW(pthread_mutex_destroy(&checked));
	SHOW(pthread_mutex_destroy(&robust));
}

/* Times and clocks that don't exist: some calls refuse them though they need not wait. */
static void show_wrong_times(void)
{
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec wrong = {0, -1}, past = {0, 0};
	sem_t semaphore;

	sem_init(&semaphore, 0, 5);
	SHOW(pthread_mutex_timedlock(&mutex, &wrong));
	SHOW(pthread_mutex_timedlock(&mutex, &wrong));
	SHOW(pthread_mutex_unlock(&mutex));
	SHOW(pthread_mutex_clocklock(&mutex, 77, &past));
	SHOW(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &wrong));
	SHOW(pthread_mutex_trylock(&mutex));
	SHOW(pthread_rwlock_timedrdlock(&rwlock, &past));
	SHOW(pthread_rwlock_timedrdlock(&rwlock, &wrong));
	SHOW(pthread_rwlock_clockrdlock(&rwlock, 77, &past));
	SHOW(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &wrong));
	SHOW(pthread_rwlock_unlock(&rwlock));
	SHOW(pthread_rwlock_timedwrlock(&rwlock, &wrong));
	SHOW(pthread_rwlock_clockwrlock(&rwlock, 77, &past));
	SHOW(pthread_rwlock_trywrlock(&rwlock));
	errno = 0;
	SHOW(sem_timedwait(&semaphore, &past));
	SHOW(sem_timedwait(&semaphore, &wrong));
	SHOW(errno);
	errno = 0;
	SHOW(sem_clockwait(&semaphore, 77, &past));
	SHOW(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &wrong));
	SHOW(errno);
	SHOW(sem_trywait(&semaphore));
}

/* ---- Read-write locks ---------------------------------------------------------------------- */

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;

static void *read_shared(void *unused)
{
	pthread_rwlock_rdlock(&shared);
	sem_post(&held);
	sem_wait(&release);
	pthread_rwlock_unlock(&shared);
	return unused;
}

static void show_rwlocks(void)
{
	struct timespec until;
	pthread_t readers[2], releaser;

	for (int i = 0; i < 2; i++) {
		pthread_create(&readers[i], NULL, read_shared, NULL);
		sem_wait(&held);
	}
	SHOW(pthread_rwlock_tryrdlock(&shared));
	SHOW(pthread_rwlock_unlock(&shared));
	SHOW(pthread_rwlock_trywrlock(&shared));
	until = soon(CLOCK_REALTIME);
	SHOW(pthread_rwlock_timedwrlock(&shared, &until));
	until = soon(CLOCK_MONOTONIC);
	SHOW(pthread_rwlock_clockwrlock(&shared, CLOCK_MONOTONIC, &until));
	sem_post(&release);
	pthread_create(&releaser, NULL, release_late, NULL);
	SHOW(pthread_rwlock_wrlock(&shared));
	SHOW(pthread_rwlock_unlock(&shared));
	pthread_join(readers[0], NULL);
	pthread_join(readers[1], NULL);
	pthread_join(releaser, NULL);
	SHOW(pthread_rwlock_destroy(&shared));
}

/* ---- Conditions, semaphores, barriers, once ------------------------------------------------ */

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, waiting;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *wait_for_change(void *unused)
{
	pthread_mutex_lock(&plain);
	waiting++;
	while (!ready)
		pthread_cond_wait(&changed, &plain);
	pthread_mutex_unlock(&plain);
	return unused;
}

/* Takes the mutex when all of them wait for the change. */
static void lock_when_waiting(int threads)
{
	pthread_mutex_lock(&plain);
	while (waiting < threads) {
		pthread_mutex_unlock(&plain);
		usleep(1000);
		pthread_mutex_lock(&plain);
	}
}

static void *wait_for_ever(void *unused)
{
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&plain);
	pthread_cleanup_push((void (*)(void *))(void *)pthread_mutex_unlock, &plain);
	for (;;)
		pthread_cond_wait(&never, &plain);
	pthread_cleanup_pop(1);
	return unused;
}

static void run_once(void)
{
	usleep(20000);
	puts("once");
}

static void *meet(void *unused)
{
	pthread_once(&once, run_once);
	return (void *)(uintptr_t)(pthread_barrier_wait(&barrier) + (unused != NULL));
}

/* It never has to wait, but can be cancelled all the same. */
static void *take_for_ever(void *unused)
{
	for (;;) {
		sem_wait(&held);
		sem_post(&held);
	}
	return unused;
}

static void show_conditions(void)
{
	struct timespec until;
	pthread_t threads[3];
	void *result;
	int serial = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, wait_for_change, NULL);
	lock_when_waiting(3);
	ready = 1;
	SHOW(pthread_cond_signal(&changed));
	SHOW(pthread_cond_broadcast(&changed));
	until = soon(CLOCK_REALTIME);
	SHOW(pthread_cond_timedwait(&changed, &plain, &until));
	until = soon(CLOCK_MONOTONIC);
	SHOW(pthread_cond_clockwait(&changed, &plain, CLOCK_MONOTONIC, &until));
	pthread_mutex_unlock(&plain);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	SHOW(pthread_cond_destroy(&changed));

	pthread_create(&threads[0], NULL, wait_for_ever, NULL);
	usleep(20000);
	SHOW(pthread_cancel(threads[0]));
	SHOW(pthread_join(threads[0], &result));
	SHOW(result == PTHREAD_CANCELED);

	sem_post(&held);
	pthread_create(&threads[0], NULL, take_for_ever, NULL);
	SHOW(pthread_cancel(threads[0]));
	SHOW(pthread_join(threads[0], &result));
	SHOW(result == PTHREAD_CANCELED);
	SHOW(sem_trywait(&held));

	until = soon(CLOCK_REALTIME);
	errno = 0;
	SHOW(sem_timedwait(&held, &until));
	SHOW(errno);
	sem_post(&held);
	errno = 78;
	SHOW(sem_wait(&held));
	SHOW(errno);

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, meet, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], &result);
		serial += (int)(uintptr_t)result;
	}
	SHOW(serial);
	SHOW(pthread_barrier_destroy(&barrier));
}

/* ---- C11, fork, exec ----------------------------------------------------------------------- */

static mtx_t c11_lock;
static cnd_t c11_changed;
static once_flag c11_once = ONCE_FLAG_INIT;

static int change(void *unused)
{
	(void)unused;
	call_once(&c11_once, run_once);
	mtx_lock(&c11_lock);
	ready = 2;
	cnd_signal(&c11_changed);
	mtx_unlock(&c11_lock);
	return 42;
}

static void show_c11(void)
{
	struct timespec until;
	thrd_t thread;
	int result;

	SHOW(mtx_init(&c11_lock, mtx_timed) == thrd_success);
	cnd_init(&c11_changed);
	mtx_lock(&c11_lock);
	SHOW(mtx_trylock(&c11_lock) == thrd_busy);
	until = soon(CLOCK_REALTIME);
	SHOW(mtx_timedlock(&c11_lock, &until) == thrd_timedout);
	SHOW(thrd_create(&thread, change, NULL) == thrd_success);
	while (ready != 2)
		cnd_wait(&c11_changed, &c11_lock);
	until = soon(CLOCK_REALTIME);
	SHOW(cnd_timedwait(&c11_changed, &c11_lock, &until) == thrd_timedout);
	mtx_unlock(&c11_lock);
	SHOW(thrd_join(thread, &result) == thrd_success);
	SHOW(result);
}

static void show_fork(void)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		pthread_t thread;

		pthread_mutex_lock(&plain);
		pthread_create(&thread, NULL, release_late, NULL);
		pthread_mutex_unlock(&plain);
		pthread_join(thread, NULL);
		fflush(stdout);
		_exit(9);
	}
	waitpid(child, &status, 0);
	SHOW(WEXITSTATUS(status));
	SHOW(system("test -z \"$LD_PRELOAD$THRUM_ADAPT\" || test -n \"$THRUM_FOLLOWS\""));
}

static void *wait_for_name(void *unused)
{
	sem_post(&held);
	sem_wait(&release);
	return unused;
}

/* A thread gets its name from its maker, when it runs. */
static void show_name(void)
{
	pthread_t thread;

	SHOW(pthread_create(&thread, NULL, wait_for_name, NULL));
	sem_wait(&held);
	SHOW(pthread_setname_np(thread, "named later"));
	sem_post(&release);
	SHOW(pthread_join(thread, NULL));
}

/* With an argument it leaves out the threads of C11, which ThreadSanitizer doesn't know. */
int main(int argc, char **argv)
{
	(void)argv;
	sem_init(&held, 0, 0);
	sem_init(&release, 0, 0);
	SHOW(pthread_setname_np(pthread_self(), "main thread"));
	show_mutexes();
	show_wrong_times();
	show_rwlocks();
	show_conditions();
	show_name();
	if (argc < 2)
		show_c11();
	show_fork();
	return 5;
}
