/* SPDX-License-Identifier: ISC */
/* Programs that are idle: a signal or somebody outside may end each wait. With a second argument there is no
 * handler. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#include "hang.h"
#include "patience.h"

static int ends[2];
static atomic_int reader_tid;
static bool is_over;
static sem_t stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;

static void on_signal(int number)
{
	(void)number;
	(void)!write(ends[1], "q", 1);
	sem_post(&stop);
}

static void *read_commands(void *polls)
{
	struct pollfd one = {.fd = ends[0], .events = POLLIN};
	char byte = 0;

	atomic_store(&reader_tid, gettid());
	while (byte != 'q') {
		if (polls)
			poll(&one, 1, -1);
		if (read(ends[0], &byte, 1) != 1)
			break;
	}
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_signal(&over);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *wait_for_end(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!is_over)
		pthread_cond_wait(&over, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* A thread has a pipe that a handler writes to. The first thread joins it, or (waits) one that it tells
 * of the end. */
static void serve_pipe(bool polls, bool waits)
{
	pthread_t reader, waiter;

	pthread_create(&reader, NULL, read_commands, polls ? &lock : NULL);
	/* The first byte comes when the reader waits, on a busy machine too. */
	while (!atomic_load(&reader_tid) || !is_asleep(atomic_load(&reader_tid)))
		usleep(1000);
	for (int i = 0; i < 4; i++) {
		usleep(9000);
		(void)!write(ends[1], "x", 1);
	}
	if (waits) {
		pthread_create(&waiter, NULL, wait_for_end, NULL);
		pthread_join(waiter, NULL);
	}
	pthread_join(reader, NULL);
}

/* A child that goes on has the other end of the pipe. */
static void serve_child(void)
{
	pthread_t reader;

	if (fork() == 0) {
		for (int i = 0; i < 4; i++) {
			(void)!write(ends[1], "x", 1);
			usleep(3000);
		}
		sleep(3);
		_exit(0);
	}
	close(ends[1]);
	pthread_create(&reader, NULL, read_commands, &lock);
	pthread_join(reader, NULL);
}

static sem_t permits;

static void *use_permit(void *keeps)
{
	for (int i = 0;; i++) {
		sem_wait(&permits);
		usleep(i < 8 ? 2000 : keeps ? 8000000 : 1000);
		sem_post(&permits);
		usleep(500);
	}
	return NULL;
}

/* Two of four threads keep the permits for long. */
static void keep_permits(void)
{
	pthread_t thread;

	sem_init(&permits, 0, 2);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, use_permit, i < 2 ? &lock : NULL);
	pause();
}

/* ---- A handler gives what its thread takes --------------------------------------------------- */

static int set = -1;
static sem_t *in_memory;

static void change_set(short by)
{
	struct sembuf op = {0, by, 0};

	while (semop(set, &op, 1))
		;
}

static void give(int number)
{
	(void)number;
	if (in_memory)
		sem_post(in_memory);
	else if (set >= 0)
		change_set(1);
	else
		(void)!write(ends[1], "x", 1);
}

static void take(void)
{
	char byte;

	if (in_memory)
		sem_wait(in_memory);
	else if (set >= 0)
		change_set(-1);
	else
		(void)!read(ends[0], &byte, 1);
}

static void signal_parent(void)
{
	for (int i = 0; i < 8; i++) {
		usleep(10000);
		kill(getppid(), SIGUSR1);
	}
	sleep(3);
	if (set >= 0)
		semctl(set, 0, IPC_RMID);
	_exit(0);
}

static void *take_all(void *unused)
{
	for (;;)
		take();
	return unused;
}

static void serve_handler(const char *what)
{
	struct sigaction action = {.sa_handler = give, .sa_flags = SA_RESTART};
	pthread_t other;

	if (strcmp(what, "set") == 0)
		set = semget(IPC_PRIVATE, 1, 0600);
	if (strcmp(what, "memory") == 0) {
		in_memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
		sem_init(in_memory, 1, 1);
	} else if (strcmp(what, "semaphore") == 0 || strcmp(what, "thread") == 0) {
		in_memory = &permits;
		sem_init(in_memory, 0, 1);
		pthread_create(&other, NULL, strcmp(what, "thread") == 0 ? take_all : wait_for_end,
			NULL);
	} else {
		give(0);
	}
	sigaction(SIGUSR1, &action, NULL);
	if (fork() == 0)
		signal_parent();
	if (strcmp(what, "thread") == 0)
		pthread_join(other, NULL);
	take_all(NULL);
}

/* ---- Functions in the place of signals -------------------------------------------------------- */

static void on_timer(union sigval unused)
{
	(void)unused;
	sem_post(&permits);
}

static void *wait_for_permit(void *unused)
{
	sem_wait(&permits);
	return unused;
}

/* A timer calls a function in an hour (called), or nobody does anything (silent). Or the main thread's
 * handler posts while it is at work (raised). */
static void wait_for_call(const char *what)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
	struct itimerspec after = {.it_value = {3600, 0}};
	pthread_t first, second;
	timer_t timer;

	sem_init(&permits, 0, 0);
	in_memory = &permits;
	if (strcmp(what, "called") == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
		timer_settime(timer, 0, &after, NULL);
	if (strcmp(what, "raised") == 0)
		signal(SIGUSR1, give);
	pthread_create(&first, NULL, wait_for_permit, NULL);
	pthread_create(&second, NULL, wait_for_permit, NULL);
	if (strcmp(what, "raised") == 0) {
		usleep(50000);
		raise(SIGUSR1);
	}
	pthread_join(first, NULL);
	pthread_join(second, NULL);
}

/* ---- Threads that wait for a job, and the one that gives them jobs for the program's end ------- */

static pthread_cond_t job = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *do_jobs(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (jobs == 0)
			pthread_cond_wait(&job, &lock);
		jobs--;
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

static void give_jobs(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, do_jobs, NULL);
	for (int i = 0; i < 12; i++) {
		usleep(4000);
		pthread_mutex_lock(&lock);
		jobs++;
		pthread_cond_signal(&job);
		pthread_mutex_unlock(&lock);
	}
}

/* A handler wakes it. */
static void *tell_end(void *unused)
{
	while (sem_wait(&stop))
		;
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_signal(&over);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *serve_jobs(void *unused)
{
	pthread_t thread;

	pthread_create(&thread, NULL, tell_end, NULL);
	give_jobs();
	return wait_for_end(unused);
}

static void join_server(void)
{
	pthread_t server;

	pthread_create(&server, NULL, serve_jobs, NULL);
	pthread_join(server, NULL);
}

/* A signal ends the call, as interpreters wait. */
static void wait_for_signal(bool has_handler)
{
	struct sigaction action = {.sa_handler = on_signal};

	if (has_handler)
		sigaction(SIGTERM, &action, NULL);
	sem_init(&permits, 0, 1);
	sem_wait(&permits);
	give_jobs();
	sem_wait(&permits);
}

/* Kills the program once it has been idle for a while. */
static void kill_later(void)
{
	struct sigevent killed = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	struct itimerspec after = {.it_value = {patience(1), 500000000}};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &killed, &timer) == 0)
		timer_settime(timer, 0, &after, NULL);
}

int main(int count, char **arguments)
{
	const char *name = arguments[1];

	kill_later();
	(void)!pipe(ends);
	sem_init(&stop, 0, 0);
	if (count == 2)
		signal(SIGTERM, on_signal);
	if (strcmp(name, "child") == 0)
		serve_child();
	else if (strcmp(name, "permits") == 0)
		keep_permits();
	else if (strncmp(name, "given-", 6) == 0)
		serve_handler(name + 6);
	else if (strncmp(name, "call-", 5) == 0)
		wait_for_call(name + 5);
	else if (strcmp(name, "semaphore") == 0)
		sem_wait(&stop);
	else if (strcmp(name, "jobs") == 0)
		join_server();
	else if (strcmp(name, "interrupted") == 0)
		wait_for_signal(count == 2);
	else
		serve_pipe(strstr(name, "poll") != NULL, strstr(name, "told") != NULL);
	return 0;
}
