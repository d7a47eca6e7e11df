/* SPDX-License-Identifier: ISC */
/* Writes to a full pipe in a sandbox that forbids pwritev2(), which the program itself never calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LONG 300000 /* us */
#define SIZE 3000
#define TIMES 5

static int ends[2];

static void *take(void *unused)
{
	char bytes[SIZE];

	usleep(LONG);
	while (read(ends[0], bytes, sizeof bytes) > 0)
		;
	return unused;
}

static void forbid(void)
{
	struct sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		perror("seccomp");
}

int main(void)
{
	static const char bytes[SIZE];
	pthread_t thread;

	forbid();
	if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, 4096) < 0 ||
		pthread_create(&thread, NULL, take, NULL) != 0)
		return EXIT_FAILURE;
	for (int i = 0; i < TIMES; i++) {
		ssize_t size = write(ends[1], bytes, sizeof bytes);

		printf("%zd %s\n", size, size < 0 ? strerror(errno) : "bytes");
	}
	close(ends[1]);
	pthread_join(thread, NULL);
	return EXIT_SUCCESS;
}
