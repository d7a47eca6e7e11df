/* SPDX-License-Identifier: ISC */
/*
 * Locks that are taken on stacks which no thread began with. It knows nothing of thrum.
 *
 *	odd_stacks edge     a coroutine begins with the last word of its stack: nothing lies above
 *	odd_stacks returns  the last word is where it would return to
 *	odd_stacks left     a handler leaves a lock's wait for another stack, and that one's for the first,
 *	                    which ends and is unmapped before the other one goes on
 *	odd_stacks plain    a coroutine of makecontext()
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define SIZE 65536
#define TIMES 20

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

/* A page that can't be read follows. */
static char *make_stack(void)
{
	char *stack = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || mprotect(stack, SIZE, PROT_READ | PROT_WRITE) != 0)
		exit(2);
	return stack;
}

static void *nothing(void *unused)
{
	return unused;
}

/* ---- A stack's end ------------------------------------------------------------------------------ */

#ifdef __x86_64__

static void *main_stack, *other_stack;
void swap_stacks(void **from, void *to);
__asm__(".text\n"
	".globl swap_stacks\n"
	".type swap_stacks, @function\n"
	"swap_stacks:\n"
	"push %rbx\n"
	"push %rbp\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"push %r15\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"pop %r15\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbp\n"
	"pop %rbx\n"
	"ret\n"
	".size swap_stacks, .-swap_stacks\n");

static void end(void)
{
	exit(3);
}

static void take_and_swap(void)
{
	for (;;) {
		pthread_mutex_lock(&a);
		pthread_mutex_unlock(&a);
		swap_stacks(&other_stack, main_stack);
	}
}

static void show_edge(int returns)
{
	uintptr_t *top = (void *)(make_stack() + SIZE);

	if (returns)
		*--top = (uintptr_t)end;
	*--top = (uintptr_t)take_and_swap;
	other_stack = top - 6; /* registers */
	for (int i = 0; i < TIMES; i++)
		swap_stacks(&main_stack, other_stack);
}

#else

static void show_edge(int returns)
{
	(void)returns;
}

#endif

/* ---- Contexts ----------------------------------------------------------------------------------- */

static ucontext_t outside, first, second;
static char *first_stack;
static atomic_int stage; /* how far the main thread has come */

static void begin(ucontext_t *context, char *stack, void (*function)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = SIZE;
	context->uc_link = &outside;
	makecontext(context, function, 0);
}

static void take_by_turns(void)
{
	for (int i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&a);
		pthread_mutex_unlock(&a);
		swapcontext(&first, &outside);
	}
}

static void show_plain(void)
{
	begin(&first, make_stack(), take_by_turns);
	for (int i = 0; i < TIMES; i++)
		swapcontext(&outside, &first);
}

/* Leaves the wait for a, and later that for b. */
static void change(int number)
{
	(void)number;
	if (stage == 1)
		swapcontext(&first, &second);
	else if (stage == 2)
		swapcontext(&second, &first);
}

static void take_first(void)
{
	stage = 1;
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	stage = 4;
	setcontext(&second);
}

static void take_second(void)
{
	stage = 2;
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	munmap(first_stack, SIZE);
	stage = 5;
}

/* Waits until the main thread sleeps, having come so far. */
static void await(int so_far)
{
	char text[256];
	size_t size = 0;

	do {
		FILE *file = fopen("/proc/self/stat", "r");

		usleep(20000);
		size = file ? fread(text, 1, sizeof text - 1, file) : 0;
		text[size] = '\0';
		if (file)
			fclose(file);
	} while (stage != so_far || !strstr(text, ") S "));
}

static void *keep(void *main_thread)
{
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	stage = -1;
	for (int i = 1; i <= 2; i++) {
		await(i);
		pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
	}
	pthread_mutex_unlock(&a); /* the first one ends */
	await(4);
	pthread_mutex_unlock(&b);
	await(5);
	return NULL;
}

static void show_left(void)
{
	struct sigaction action = {.sa_handler = change, .sa_flags = SA_NODEFER};
	pthread_t keeper, self = pthread_self();

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&keeper, NULL, keep, &self);
	while (stage != -1)
		usleep(1000);
	first_stack = make_stack();
	begin(&first, first_stack, take_first);
	begin(&second, make_stack(), take_second);
	swapcontext(&outside, &first);
	pthread_join(keeper, NULL);
}

int main(int count, char **arguments)
{
	const char *name = count > 1 ? arguments[1] : "plain";
	pthread_t thread;

	alarm(60);
	pthread_create(&thread, NULL, nothing, NULL);
	pthread_join(thread, NULL);
	if (strcmp(name, "plain") == 0)
		show_plain();
	else if (strcmp(name, "left") == 0)
		show_left();
	else
		show_edge(strcmp(name, "returns") == 0);
	puts("ended well");
	return 0;
}
