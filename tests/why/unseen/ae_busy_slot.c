/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A worker is killed in the middle of a job. reap_worker starts a new one in its slot but neither
 *     queues the job again nor marks the slot as free, so the supervisor waits for an answer in vain.
 *   culprit: reap_worker|[Kk]illed (by|process)
 *   victim: run_jobs|collect_result
 *   clue: killed by SIGKILL
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A supervisor of workers that scale images. A worker that takes too much memory is killed by the kernel. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOTS 3
#define JOBS 60
#define HUGE 23 /* the image that is too large for the first try */

struct job {
	int image, tries;
};

struct slot {
	pid_t pid;
	int fd;
	bool busy;
	struct job job;
	int done;
};

static struct slot slots[SLOTS];
static struct job queue[JOBS];
static int queued, done, deaths, signals;
static bool careful;

/* A worker: takes jobs until the supervisor closes the socket. */
static void scale_images(int fd)
{
	struct job job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &job, sizeof(job)) == sizeof(job)) {
		usleep(400 + job.image % 5 * 300);
		if (job.image % 30 == HUGE && job.tries == 0)
			raise(SIGKILL); /* as the kernel's out-of-memory killer does */
		if (write(fd, &job.image, sizeof(job.image)) != sizeof(job.image))
			break;
	}
	_exit(0);
}

static void start_worker(struct slot *slot)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		exit(1);
	slot->pid = fork();
	if (slot->pid == 0) {
		for (int i = 0; i < SLOTS; i++)
			if (slots[i].fd > 0)
				close(slots[i].fd);
		close(ends[0]);
		close(signals);
		scale_images(ends[1]);
	}
	close(ends[1]);
	slot->fd = ends[0];
}

static void queue_job(struct job job)
{
	queue[queued++] = job;
}

/* Gives jobs to the slots that are free. */
static void hand_out(void)
{
	for (int i = 0; i < SLOTS && queued > 0; i++)
		if (!slots[i].busy) {
			slots[i].job = queue[--queued];
			slots[i].busy = true;
			if (write(slots[i].fd, &slots[i].job, sizeof(struct job)) !=
				sizeof(struct job))
				fputs("worker is gone\n", stderr);
		}
}

static void collect_result(struct slot *slot)
{
	int image;

	if (read(slot->fd, &image, sizeof(image)) != sizeof(image))
		return; /* SIGCHLD tells the rest */
	slot->busy = false;
	slot->done++;
	done++;
}

static void reap_worker(pid_t pid, int status)
{
	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &slots[i];

		if (slot->pid != pid)
			continue;
		deaths += WIFSIGNALED(status);
		close(slot->fd);
		slot->fd = 0;
		if (careful && slot->busy) {
			slot->busy = false;
			slot->job.tries++;
			queue_job(slot->job);
		}
		start_worker(slot);
	}
}

static void take_signals(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		reap_worker(pid, status);
}

static void run_jobs(void)
{
	while (done < JOBS) {
		struct pollfd fds[SLOTS + 1] = {{.fd = signals, .events = POLLIN}};

		hand_out();
		for (int i = 0; i < SLOTS; i++) {
			fds[i + 1].fd = slots[i].fd;
			fds[i + 1].events = POLLIN;
		}
		if (poll(fds, SLOTS + 1, -1) < 0)
			continue;
		for (int i = 0; i < SLOTS; i++)
			if (fds[i + 1].revents & POLLIN)
				collect_result(&slots[i]);
		if (fds[0].revents)
			take_signals();
	}
}

static void stop_workers(void)
{
	for (int i = 0; i < SLOTS; i++)
		close(slots[i].fd);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
}

int main(int argc, char **argv)
{
	sigset_t chld;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &chld, SFD_CLOEXEC);
	for (int i = 0; i < SLOTS; i++)
		start_worker(&slots[i]);
	for (int i = 0; i < JOBS; i++)
		queue_job((struct job){.image = i});
	run_jobs();
	stop_workers();
	printf("%d images, %d workers died\n", done, deaths);
	return 0;
}
