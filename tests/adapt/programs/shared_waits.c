/* SPDX-License-Identifier: ISC */
/*
 * Processes that wait for semaphores and conditions in shared memory. The first argument says how; with a
 * second one all is well. SIGALRM ends it.
 *
 * semaphore	a child ends before it posts
 * condition	a child has ended before it signals
 * parent	a process waits for its child, which waits for the end of another one
 * circle	two processes wait for each other
 * taken	a process waits for a condition, and another one for its mutex
 * orphan	a process that has lost its parent posts very late
 * idle	workers wait for work, and their parent for a signal
 * named	the memory has a name, by which others may find it
 * crash	a worker crashes before it signals, as it did after each job before
 * turns	two processes wait for each other's signal, while a third one sleeps again and again
 * work	a worker computes for very long before it signals
 * ring	a process waits for items with the lock that those need who add some
 * helped	the same, but another process adds an item at times, and needs no lock
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define PAUSE 300000 /* us: longer than a thread waits before it looks */

static bool is_fine;
static const char *case_name = "";
static struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	sem_t semaphores[2];
	bool is_done;
	pthread_cond_t conditions[2];
	int asked, answered;
	sem_t lock;
} * shared;

static void make(int fd)
{
	pthread_mutexattr_t mutex;
	pthread_condattr_t condition;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
		fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		exit(2);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &mutex);
	pthread_condattr_init(&condition);
	pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->condition, &condition);
	for (int i = 0; i < 2; i++)
		pthread_cond_init(&shared->conditions[i], &condition);
	for (int i = 0; i < 2; i++)
		sem_init(&shared->semaphores[i], 1, 0);
}

/* Returns 0 in the child. */
static pid_t start(const char *name)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* it has ended */
			_exit(0);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

static void await(void)
{
	pthread_mutex_lock(&shared->mutex);
	while (!shared->is_done)
		pthread_cond_wait(&shared->condition, &shared->mutex);
	pthread_mutex_unlock(&shared->mutex);
}

static void tell(void)
{
	pthread_mutex_lock(&shared->mutex);
	shared->is_done = true;
	pthread_cond_signal(&shared->condition);
	pthread_mutex_unlock(&shared->mutex);
}

static void wait_for_post(void)
{
	if (start("worker") == 0) {
		usleep(is_fine ? PAUSE : PAUSE / 6);
		if (is_fine)
			sem_post(&shared->semaphores[0]);
		_exit(0);
	}
	sem_wait(&shared->semaphores[0]);
}

static void semaphore(void)
{
	make(-1);
	wait_for_post();
}

static void named(void)
{
	int fd = open("memory", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof *shared))
		exit(2);
	make(fd);
	wait_for_post();
}

/* A thread that waits for a condition looks before: so the child has to be gone by then. */
static void condition(void)
{
	pid_t child;
	siginfo_t ended = {0};

	make(-1);
	child = start("worker");
	if (child == 0) {
		usleep(is_fine ? 2 * PAUSE : 0);
		if (is_fine)
			tell();
		_exit(0);
	}
	do
		usleep(PAUSE);
	while (!is_fine && waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
		ended.si_pid == 0);
	await();
}

static void parent(void)
{
	pid_t child;

	make(-1);
	child = start("waiter");
	if (child == 0) {
		await();
		_exit(0);
	}
	if (start("worker") == 0) {
		usleep(is_fine ? PAUSE : PAUSE / 6);
		if (is_fine)
			tell();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void circle(void)
{
	make(-1);
	if (start("player") == 0) {
		usleep(is_fine ? PAUSE : 0);
		if (is_fine)
			sem_post(&shared->semaphores[0]);
		sem_wait(&shared->semaphores[1]);
		_exit(0);
	}
	sem_wait(&shared->semaphores[0]);
	sem_post(&shared->semaphores[1]);
}

static void orphan(void)
{
	make(-1);
	if (start("parent") == 0) {
		if (fork() == 0) {
			usleep(is_fine ? PAUSE : 10 * PAUSE);
			sem_post(&shared->semaphores[0]);
		}
		_exit(0);
	}
	wait(NULL);
	sem_wait(&shared->semaphores[0]);
}

/* The other one can't go on before this one waits. */
static void taken(void)
{
	make(-1);
	pthread_mutex_lock(&shared->mutex);
	if (start("worker") == 0) {
		tell();
		_exit(0);
	}
	usleep(PAUSE);
	pthread_cond_wait(&shared->condition, &shared->mutex);
	pthread_mutex_unlock(&shared->mutex);
	/* And late. */
	if (start("worker") == 0) {
		usleep(PAUSE);
		sem_post(&shared->semaphores[0]);
		_exit(0);
	}
	sem_wait(&shared->semaphores[0]);
}

static void idle(void)
{
	pid_t workers[2];

	make(-1);
	for (int i = 0; i < 2; i++) {
		workers[i] = start("worker");
		for (int n = 0; workers[i] == 0; n++) {
			if (is_fine && n == 10)
				_exit(0);
			sem_wait(&shared->semaphores[0]);
			sem_post(&shared->semaphores[1]);
		}
	}
	for (int i = 0; i < 20; i++) {
		sem_post(&shared->semaphores[0]);
		sem_wait(&shared->semaphores[1]);
	}
	if (is_fine)
		return;
	printf("%d %d %d\n", (int)workers[0], (int)workers[1], (int)getpid());
	fflush(stdout);
	end_after(20);
	pause();
}

/* Answers each question, and begins each answer with work. */
static void answer(void (*work)(int question))
{
	pthread_mutex_lock(&shared->mutex);
	for (int last = 0; last < 10; last++) {
		while (shared->asked == last)
			pthread_cond_wait(&shared->conditions[0], &shared->mutex);
		pthread_mutex_unlock(&shared->mutex);
		work(last + 1);
		pthread_mutex_lock(&shared->mutex);
		shared->answered = last + 1;
		pthread_cond_signal(&shared->conditions[1]);
	}
	pthread_mutex_unlock(&shared->mutex);
	_exit(0);
}

static void ask(void)
{
	pthread_mutex_lock(&shared->mutex);
	for (int i = 1; i <= 10; i++) {
		/* It forgets to ask. */
		if (is_fine || i != 7 || strcmp(case_name, "turns") != 0) {
			shared->asked = i;
			pthread_cond_signal(&shared->conditions[0]);
		}
		while (shared->answered < i)
			pthread_cond_wait(&shared->conditions[1], &shared->mutex);
	}
	pthread_mutex_unlock(&shared->mutex);
}

static void think(int question)
{
	usleep(question * 100);
}

static void crash_at(int question)
{
	usleep(1000);
	if (!is_fine && question == 6)
		kill(getpid(), SIGKILL);
}

static void compute_at(int question)
{
	usleep(1000);
	while (!is_fine && question == 6)
		continue;
}

static void crash(void)
{
	make(-1);
	if (start("worker") == 0)
		answer(crash_at);
	ask();
}

static void turns(void)
{
	make(-1);
	if (start("answerer") == 0)
		answer(think);
	if (start("reporter") == 0)
		for (;;)
			usleep(20000);
	ask();
}

static void work(void)
{
	make(-1);
	if (start("worker") == 0)
		answer(compute_at);
	ask();
}

static void give_part(void)
{
	pthread_mutex_lock(&shared->mutex);
	shared->answered++;
	pthread_cond_signal(&shared->conditions[1]);
	pthread_mutex_unlock(&shared->mutex);
	_exit(0);
}

/* Waits for two parts. One process has given its part and ended; another one may still compute. */
static void wait_for_parts(bool computes)
{
	make(-1);
	if (start("giver") == 0)
		give_part();
	if (computes && start("computer") == 0) {
		while (!is_fine || *(volatile int *)&shared->answered < 1)
			continue;
		give_part();
	}
	pthread_mutex_lock(&shared->mutex);
	while (shared->answered < 2)
		pthread_cond_wait(&shared->conditions[1], &shared->mutex);
}

static void lone(void)
{
	wait_for_parts(is_fine);
}

static void parts(void)
{
	wait_for_parts(true);
}

/* Two processes add items, of which this one takes the lock before it waits for one. */
static void add(int items)
{
	for (int i = 0; i < items; i++) {
		usleep(5000);
		sem_wait(&shared->lock);
		shared->answered++;
		sem_post(&shared->lock);
		sem_post(&shared->semaphores[0]);
	}
	pause();
}

static void take_items(int items)
{
	for (int i = 0; i < items; i++) {
		if (is_fine)
			sem_wait(&shared->semaphores[0]);
		sem_wait(&shared->lock);
		if (!is_fine)
			sem_wait(&shared->semaphores[0]);
		shared->answered--;
		sem_post(&shared->lock);
	}
}

static void ring(void)
{
	make(-1);
	sem_init(&shared->lock, 1, 1);
	for (int i = 0; i < 2; i++)
		if (start("adder") == 0)
			add(100);
	usleep(PAUSE / 3);
	take_items(200);
}

static void help(void)
{
	for (int i = 0;; i++) {
		sem_post(&shared->semaphores[0]);
		usleep(is_fine || i < 3 ? PAUSE / 10 : 10 * PAUSE);
	}
}

static void helped(void)
{
	make(-1);
	sem_init(&shared->lock, 1, 1);
	if (start("adder") == 0)
		add(100);
	if (start("helper") == 0)
		help();
	usleep(PAUSE / 3);
	take_items(100);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"semaphore", semaphore}, {"condition", condition}, {"parent", parent},
		{"circle", circle}, {"orphan", orphan}, {"taken", taken}, {"idle", idle},
		{"named", named}, {"crash", crash}, {"turns", turns}, {"work", work},
		{"lone", lone}, {"parts", parts}, {"ring", ring}, {"helped", helped}};

	is_fine = count > 2;
	case_name = count > 1 ? arguments[1] : "";
	end_after(is_fine ? 20 : 2);
	for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(arguments[1], cases[i].name) == 0)
			cases[i].run();
	printf("done\n");
	return 0;
}
