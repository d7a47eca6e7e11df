/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the worker process resizer-2 meets a bad picture in account_picture and ends itself
 *     (fatal_picture, _exit) while it holds the process-shared mutex of the scoreboard, which is not robust:
 *     the other workers and the one that replaces it wait for the mutex for ever, and the master polls for
 *     their answers
 *   culprit: resizer-2|fatal_picture
 *   victim: resizer-0|resizer-1|resizer-3|main|master_loop
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A master with worker processes, one socket to each; a scoreboard in shared memory counts their work. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 3,
	JOBS = 24
};

struct scoreboard {
	pthread_mutex_t lock;
	long pixels;
	int pictures;
};
struct job {
	int number, width, height;
};
struct answer {
	int number;
	bool accepted;
};
struct worker {
	pid_t pid;
	int socket;
	int pending; /* the job that it works at, or -1 */
};

static struct scoreboard *scoreboard;
static struct worker workers[WORKERS];
static int started;
static bool check_first;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static __attribute__((noinline)) void fatal_picture(const struct job *job)
{
	fprintf(stderr, "resizer: picture %d: width %d\n", job->number, job->width);
	_exit(70);
}

static __attribute__((noinline)) void account_picture(const struct job *job)
{
	pthread_mutex_lock(&scoreboard->lock);
	if (job->width <= 0)
		fatal_picture(job);
	scoreboard->pictures++;
	scoreboard->pixels += (long)job->width * job->height;
	pause_ms(1);
	pthread_mutex_unlock(&scoreboard->lock);
}

static void worker_main(int number, int socket)
{
	char name[16];
	struct job job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "resizer-%d", number);
	prctl(PR_SET_NAME, name);
	while (read(socket, &job, sizeof(job)) == sizeof(job)) {
		struct answer answer = {job.number, true};

		pause_ms(5);
		if (check_first && job.width <= 0)
			answer.accepted = false;
		else
			account_picture(&job);
		if (write(socket, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

static void worker_start(struct worker *worker)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		exit(1);
	worker->pid = fork();
	if (worker->pid < 0)
		exit(1);
	if (!worker->pid) {
		close(ends[0]);
		for (int i = 0; i < WORKERS; i++)
			if (workers[i].socket > 0)
				close(workers[i].socket);
		worker_main(started, ends[1]);
	}
	started++;
	close(ends[1]);
	worker->socket = ends[0];
	worker->pending = -1;
}

static void worker_give(struct worker *worker, int number)
{
	struct job job = {number, number == 11 ? 0 : 100 + number, 80};

	worker->pending = number;
	if (write(worker->socket, &job, sizeof(job)) != sizeof(job))
		perror("give");
}

/* A worker has ended; another one takes its place. */
static void worker_replace(struct worker *worker)
{
	int status;

	waitpid(worker->pid, &status, 0);
	fprintf(stderr, "worker %d ended with status %d\n", (int)worker->pid, WEXITSTATUS(status));
	close(worker->socket);
	worker->socket = -1;
	worker_start(worker);
}

static __attribute__((noinline)) int master_loop(void)
{
	int next = 0, done = 0;

	for (int i = 0; i < WORKERS; i++)
		worker_give(&workers[i], next++);
	while (done < JOBS) {
		struct pollfd polled[WORKERS];

		for (int i = 0; i < WORKERS; i++)
			polled[i] = (struct pollfd){workers[i].socket, POLLIN, 0};
		if (poll(polled, WORKERS, -1) < 0)
			return -1;
		for (int i = 0; i < WORKERS; i++) {
			struct answer answer;

			if (!polled[i].revents)
				continue;
			if (read(workers[i].socket, &answer, sizeof(answer)) != sizeof(answer))
				worker_replace(&workers[i]); /* its picture counts as done */
			done++;
			workers[i].pending = -1;
			if (next < JOBS)
				worker_give(&workers[i], next++);
		}
	}
	return done;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attributes;
	int done;

	check_first = argc > 1 && !strcmp(argv[1], "healthy");
	signal(SIGPIPE, SIG_IGN);
	scoreboard = mmap(NULL, sizeof(*scoreboard), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (scoreboard == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&scoreboard->lock, &attributes);
	for (int i = 0; i < WORKERS; i++)
		worker_start(&workers[i]);
	done = master_loop();
	for (int i = 0; i < WORKERS; i++) {
		close(workers[i].socket);
		waitpid(workers[i].pid, NULL, 0);
	}
	pthread_mutex_lock(&scoreboard->lock);
	printf("%d jobs, %d pictures, %ld pixels\n", done, scoreboard->pictures,
		scoreboard->pixels);
	pthread_mutex_unlock(&scoreboard->lock);
	return done == JOBS ? 0 : 1;
}
