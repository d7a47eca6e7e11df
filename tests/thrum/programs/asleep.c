/* SPDX-License-Identifier: ISC */
/* For `thrum attach`: records a little for each byte that it reads, on its main thread ("e"), in a signal's
 * handler on a small stack ("s"), or in a child made by fork ("f") or by a system call ("c"). Answers each
 * with a byte. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

static struct thrum_counter *turns;

static void work(const char *label)
{
	thrum_task_resolve(thrum_task_create(THRUM_KIND_TASK, label));
	thrum_counter_add(turns, 1);
}

static void on_signal(int number)
{
	(void)number;
	work("in a handler");
}

/* Below the stack is a page that may not be touched. */
static void set_handler(void)
{
	size_t size = 16384, page = 4096;
	char *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	stack_t stack = {.ss_sp = memory + page, .ss_size = size};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
		sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
		abort();
}

static void work_in_child(pid_t child)
{
	if (child == 0) {
		for (int i = 0; i < 100; i++)
			work("in a child");
		_exit(thrum_enabled());
	}
	int status;

	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
}

int main(void)
{
	char command;

	turns = thrum_counter_create("turns", THRUM_COUNTER_CUMULATIVE);
	set_handler();
	if (write(1, "r", 1) != 1)
		return 1;
	while (read(0, &command, 1) == 1) {
		if (command == 'e')
			work("event");
		else if (command == 's')
			raise(SIGUSR1);
		else if (command == 'f')
			work_in_child(fork());
		else
			work_in_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
		if (write(1, "d", 1) != 1)
			return 1;
	}
	return 0;
}
