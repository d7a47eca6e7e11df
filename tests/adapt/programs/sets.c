/* SPDX-License-Identifier: ISC */
/*
 * Processes that use semaphores of semop(). The argument says how; with a second one all is well. SIGALRM
 * ends it. The number of the set goes to the file "set", as it outlives the program.
 *
 * ended	a child ends with the lock that it took
 * first	the same before anybody has given the lock back; with "fine" it only took the place of a queue
 * inverse	the same with a lock that is taken by a wait for 0
 * pool		both places of two are taken by children that have ended
 * circle	two processes want each other's lock
 * threads	two threads do
 * self		a thread takes the same lock twice
 * hook		a process has a lock, and waits for a child that wants it
 * places	a queue of a single place: producers end, and a consumer gives the places
 * events	a process that took an event has ended; others come late
 * reset	a child ends with a lock, and its parent sets it anew
 * passed	a process takes a lock and ends, and its child gives it back
 * bad		calls that the kernel refuses; prints why
 *
 * With "memory-" before a name, the semaphores are those of sem_init(), in memory without a name.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define MEMORY "memory-"
#define PAUSE 300000 /* us: longer than a thread waits before it looks */

static bool is_fine;
static int set;
static sem_t *in_memory; /* the same semaphores, if these are those of sem_init() */

static void change(unsigned short number, short by, short flags)
{
	struct sembuf op = {number, by, flags};

	if (semop(set, &op, 1))
		_exit(2);
}

static void take(unsigned short number)
{
	if (in_memory)
		sem_wait(&in_memory[number]);
	else
		change(number, -1, 0);
}

static void give(unsigned short number)
{
	if (in_memory)
		sem_post(&in_memory[number]);
	else
		change(number, 1, 0);
}

static void use(unsigned short number)
{
	take(number);
	give(number);
}

/* Returns 0 in the child. */
static pid_t start(const char *name)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

static void make_set(int count, int value)
{
	FILE *file;

	for (int i = 0; in_memory && i < count; i++)
		sem_init(&in_memory[i], 1, (unsigned)value);
	if (in_memory)
		return;
	file = fopen("set", "w");
	set = semget(IPC_PRIVATE, count, 0600);
	if (set < 0 || !file)
		exit(2);
	fprintf(file, "%d\n", set);
	fclose(file);
	for (int i = 0; i < count; i++)
		semctl(set, i, SETVAL, value);
}

static void ended(void)
{
	pid_t child;

	make_set(2, in_memory ? 1 : 0);
	if (!in_memory)
		give(1);
	use(1);
	child = start("collector");
	if (child == 0) {
		if (in_memory)
			take(1);
		else
			change(1, -1, is_fine ? SEM_UNDO : 0);
		if (in_memory && is_fine)
			give(1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	use(1);
}

static void first(void)
{
	pid_t child;

	make_set(1, 1);
	child = start("collector");
	if (child == 0) {
		take(0);
		if (!is_fine)
			raise(SIGKILL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	/* It consumes what the other has produced. */
	if (is_fine && start("consumer") == 0) {
		usleep(PAUSE);
		give(0);
		_exit(0);
	}
	take(0);
}

static void lock_inverse(short flags)
{
	struct sembuf ops[2] = {{0, 0, 0}, {0, 1, flags}};

	if (semop(set, ops, 2))
		_exit(2);
}

static void inverse(void)
{
	pid_t child;

	make_set(1, 0);
	lock_inverse(0);
	take(0);
	child = start("collector");
	if (child == 0) {
		lock_inverse(is_fine ? SEM_UNDO : 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	lock_inverse(0);
	take(0);
}

static void pool(void)
{
	make_set(1, 2);
	use(0);
	for (int i = 0; i < 2; i++) {
		pid_t child = start("collector");

		if (child == 0) {
			take(0);
			if (is_fine && i == 1)
				give(0);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	use(0);
}

static void take_both(unsigned short one, unsigned short other)
{
	take(one);
	usleep(PAUSE);
	take(other);
	give(other);
	give(one);
}

static void circle(void)
{
	pid_t child;

	make_set(2, 1);
	use(0);
	use(1);
	child = start("checker");
	if (child == 0) {
		take_both(!is_fine, is_fine);
		_exit(0);
	}
	take_both(0, 1);
	waitpid(child, NULL, 0);
}

static void *take_other_way(void *unused)
{
	take_both(!is_fine, is_fine);
	return unused;
}

static void threads(void)
{
	pthread_t thread;

	make_set(2, 1);
	use(0);
	use(1);
	pthread_create(&thread, NULL, take_other_way, NULL);
	take_both(0, 1);
	pthread_join(thread, NULL);
}

static void self(void)
{
	make_set(1, 1);
	use(0);
	take(0);
	if (is_fine)
		give(0);
	use(0);
}

static void hook(void)
{
	pid_t child;

	make_set(1, 1);
	use(0);
	take(0);
	child = start("hook");
	if (child == 0) {
		use(0);
		_exit(0);
	}
	if (is_fine)
		give(0);
	waitpid(child, NULL, 0);
}

/* 0: free places; 1: full ones. */
static void produce(void)
{
	pid_t child = start("producer");

	if (child == 0) {
		take(0);
		give(1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void places(void)
{
	make_set(2, 0);
	if (in_memory)
		sem_init(&in_memory[0], 1, 1);
	else
		give(0);
	produce();
	if (start("consumer") == 0) {
		for (int i = 0; i < 3; i++) {
			take(1);
			usleep(PAUSE);
			give(0);
		}
		_exit(0);
	}
	produce();
	produce();
}

static void events(void)
{
	pid_t child;

	make_set(1, in_memory ? 1 : 0);
	if (!in_memory)
		give(0);
	child = start("worker");
	if (child == 0) {
		take(0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (start("source") == 0) {
		usleep(PAUSE);
		give(0);
		_exit(0);
	}
	take(0);
}

static void reset(void)
{
	pid_t child;

	make_set(1, 1);
	use(0);
	child = start("collector");
	if (child == 0) {
		take(0);
		usleep(PAUSE);
		_exit(0);
	}
	if (start("worker") == 0) {
		usleep(PAUSE / 3);
		use(0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	usleep(PAUSE);
	if (in_memory)
		give(0);
	else
		semctl(set, 0, SETVAL, 1);
	wait(NULL);
	use(0);
}

static void passed(void)
{
	pid_t child;

	make_set(1, 1);
	use(0);
	child = start("master");
	if (child == 0) {
		take(0);
		if (fork() == 0) {
			usleep(PAUSE);
			give(0);
		}
		_exit(0);
	}
	waitpid(child, NULL, 0);
	use(0);
}

/* The first page of a program's memory is never there. */
static void bad(void)
{
	static struct sembuf many[1000];
	union {
		int value;
		unsigned short *values;
	} nowhere = {.values = (unsigned short *)8};

	make_set(1, 1);
	if (semop(set, (struct sembuf *)8, 1) != 0)
		perror("operations");
	if (semop(set, many, 1000) != 0)
		perror("too many");
	if (semctl(set, 0, SETALL, nowhere) != 0)
		perror("values");
	use(0);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"ended", ended}, {"first", first}, {"inverse", inverse}, {"pool", pool},
		{"circle", circle}, {"threads", threads}, {"self", self}, {"hook", hook},
		{"places", places}, {"events", events}, {"reset", reset}, {"passed", passed},
		{"bad", bad}};

	end_after(count > 2 ? 20 : 2);
	is_fine = count > 2;
	if (count > 1 && strncmp(arguments[1], MEMORY, strlen(MEMORY)) == 0) {
		arguments[1] += strlen(MEMORY);
		in_memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
	}
	for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(arguments[1], cases[i].name) == 0)
			cases[i].run();
	printf("done\n");
	if (!in_memory)
		semctl(set, 0, IPC_RMID);
	return 0;
}
