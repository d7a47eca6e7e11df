/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The worker process indexer-2 aborts on a document that is too long (scoreboard_add checks the
 *     length while it holds the process-shared mutex of the scoreboard). The mutex isn't robust, so nobody
 *     gets it any more: the other workers wait in scoreboard_lock, and the parent waits for their
 *     acknowledgements.
 *   culprit: indexer-2|SIGABRT|signal 6|abort|check_length|died holding|owner (is )?dead
 *   victim: indexer-[1345]|scoreboard_lock|collect|main|aw_indexer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A document indexer: a parent hands documents to worker processes over pipes, which share a scoreboard. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define DOCUMENTS 80
#define LONGEST 900

struct document {
	int number;
	int length;
};

struct acknowledgement {
	int number;
	int worker;
};

struct scoreboard {
	pthread_mutex_t lock;
	unsigned long documents, bytes;
	unsigned recovered;
	int last_worker;
};

struct worker {
	pid_t pid;
	int number;
	int jobs; /* the parent writes documents to it */
	int busy;
};

static struct scoreboard *board;
static struct worker workers[WORKERS];
static int acknowledgements[2];
static int next_number = 1;
static volatile sig_atomic_t child_ended;

static void on_child(int number)
{
	(void)number;
	child_ended = 1;
}

static void scoreboard_create(int robustness)
{
	pthread_mutexattr_t attributes;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (board == MAP_FAILED)
		exit(1);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, robustness);
	pthread_mutex_init(&board->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

static void scoreboard_lock(void)
{
	if (pthread_mutex_lock(&board->lock) == EOWNERDEAD) {
		board->recovered++;
		pthread_mutex_consistent(&board->lock);
	}
}

static void check_length(const struct document *document)
{
	if (document->length <= LONGEST)
		return;
	fprintf(stderr, "document %d: length %d\n", document->number, document->length);
	abort();
}

static void scoreboard_add(int worker, const struct document *document)
{
	scoreboard_lock();
	check_length(document);
	board->documents++;
	board->bytes += document->length;
	board->last_worker = worker;
	pthread_mutex_unlock(&board->lock);
}

static void tokenize(const struct document *document)
{
	struct timespec time = {0, 1000000 + document->length * 1000L};

	nanosleep(&time, NULL);
}

static void worker_main(int number, int jobs)
{
	struct acknowledgement done = {.worker = number};
	struct document document;
	char name[16];

	snprintf(name, sizeof(name), "indexer-%d", number);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(jobs, &document, sizeof(document)) == sizeof(document)) {
		tokenize(&document);
		scoreboard_add(number, &document);
		done.number = document.number;
		if (write(acknowledgements[1], &done, sizeof(done)) != sizeof(done))
			_exit(1);
	}
	_exit(0);
}

static void worker_start(struct worker *worker)
{
	int ends[2];

	if (pipe(ends))
		exit(1);
	worker->number = next_number++;
	worker->jobs = ends[1];
	worker->busy = 0;
	worker->pid = fork();
	if (worker->pid < 0)
		exit(1);
	if (worker->pid == 0) {
		for (int i = 0; i < WORKERS; i++)
			if (workers[i].jobs > 0)
				close(workers[i].jobs);
		close(acknowledgements[0]);
		worker_main(worker->number, ends[0]);
	}
	close(ends[0]);
}

/* Starts a new worker for each that has died. Returns how many documents were lost. */
static int restart_workers(void)
{
	int status, lost = 0;
	pid_t pid;

	child_ended = 0;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < WORKERS; i++) {
			if (workers[i].pid != pid)
				continue;
			fprintf(stderr, "indexer-%d: signal %d\n", workers[i].number,
				WTERMSIG(status));
			close(workers[i].jobs);
			workers[i].jobs = -1;
			lost += workers[i].busy;
			worker_start(&workers[i]);
		}
	}
	return lost;
}

/* Each worker has at most one document. */
static int hand_out(int number)
{
	struct document document = {.number = number, .length = 100 + number * 37 % 800};

	if (number == 21)
		document.length = 5000;
	for (int i = 0; i < WORKERS; i++) {
		/* The long ones go to the second worker. */
		if (workers[i].busy || (document.length > LONGEST && i != 1))
			continue;
		workers[i].busy = 1;
		return write(workers[i].jobs, &document, sizeof(document)) == sizeof(document);
	}
	return 0;
}

/* Waits until a worker has acknowledged a document, or has died with it. */
static int collect(const sigset_t *mask)
{
	struct pollfd wanted = {.fd = acknowledgements[0], .events = POLLIN};
	struct acknowledgement done;

	if (child_ended)
		return restart_workers();
	if (ppoll(&wanted, 1, NULL, mask) < 0)
		return 0;
	if (read(acknowledgements[0], &done, sizeof(done)) != sizeof(done))
		return 0;
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].number == done.worker)
			workers[i].busy = 0;
	return 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_child};
	struct rlimit no_core = {0, 0};
	sigset_t blocked, before;
	int handed_out = 0, done = 0;

	if (argc != 2)
		return 2;
	scoreboard_create(strcmp(argv[1], "broken") ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	if (pipe(acknowledgements))
		return 1;
	for (int i = 0; i < WORKERS; i++)
		worker_start(&workers[i]);
	while (done < DOCUMENTS) {
		while (handed_out < DOCUMENTS && hand_out(handed_out))
			handed_out++;
		done += collect(&before);
	}
	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < WORKERS; i++)
		close(workers[i].jobs);
	while (wait(NULL) > 0)
		continue;
	printf("%lu documents, %lu bytes, recovered %u times\n", board->documents, board->bytes,
		board->recovered);
	return board->documents != DOCUMENTS - 1;
}
