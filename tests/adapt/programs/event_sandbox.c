/* SPDX-License-Identifier: ISC */
/*
 * An event makes itself active for some time. Before that, the program forbids itself to ask the kernel for
 * the time, as the C library needn't: who does so is killed. It knows nothing of thrum.
 */
#include <event2/event.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define TURNS 5000

static struct event *event;

static void on_turn(evutil_socket_t fd, short what, void *unused)
{
	static int turns;

	(void)fd;
	(void)what;
	(void)unused;
	if (++turns < TURNS)
		event_active(event, EV_TIMEOUT, 1);
}

static void *nothing(void *unused)
{
	return unused;
}

static void forbid(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int main(void)
{
	struct event_base *base = event_base_new();
	pthread_t thread;

	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	event = event_new(base, -1, 0, on_turn, NULL);
	event_active(event, EV_TIMEOUT, 1);
	forbid();
	event_base_dispatch(base);
	puts("ended well");
	fflush(stdout);
	return 0;
}
