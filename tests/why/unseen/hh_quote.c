/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The rate server (a child, serve_rates) should have flushed its answer to a HOLIDAY question.
 *     The answer stays in its stdio buffer, so the shop waits for it, and the child for the next question.
 *   culprit: serve_rates|start_rates
 *   victim: ask_rates|price_cart
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CARTS 120

struct rates {
	pid_t pid;
	int question;
	int answer;
	pthread_mutex_t lock;
};

static struct rates rates = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static long total_cents;
static int next_cart;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* The child speaks a protocol of lines: one question, one answer. */
static int serve_rates(bool flush_always)
{
	char *line = NULL;
	size_t room = 0;
	int day;

	while (getline(&line, &room, stdin) > 0) {
		char country[8];

		if (sscanf(line, "HOLIDAY %d", &day) == 1) {
			printf("%s\n", day % 7 == 0 ? "yes" : "no");
			if (flush_always)
				fflush(stdout);
			continue;
		}
		if (sscanf(line, "RATE %7s", country) == 1)
			printf("%d\n", 700 + (country[0] * 31 + country[1]) % 1900);
		else
			printf("error\n");
		fflush(stdout);
	}
	free(line);
	return 0;
}

static void start_rates(bool flush_always)
{
	int to[2], from[2];

	if (pipe2(to, 0) || pipe2(from, 0)) {
		perror("pipe");
		exit(1);
	}
	rates.pid = fork();
	if (rates.pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[0]);
		close(to[1]);
		close(from[0]);
		close(from[1]);
		exit(serve_rates(flush_always));
	}
	close(to[0]);
	close(from[1]);
	rates.question = to[1];
	rates.answer = from[0];
}

static void ask_rates(const char *question, char *answer, size_t room)
{
	size_t length = 0;

	pthread_mutex_lock(&rates.lock);
	if (write(rates.question, question, strlen(question)) < 0)
		perror("rate server");
	while (length + 1 < room) {
		ssize_t got = read(rates.answer, answer + length, 1);

		if (got <= 0 || answer[length] == '\n')
			break;
		length++;
	}
	answer[length] = '\0';
	pthread_mutex_unlock(&rates.lock);
}

static int take_cart(void)
{
	int cart;

	pthread_mutex_lock(&total_lock);
	cart = next_cart < CARTS ? next_cart++ : -1;
	pthread_mutex_unlock(&total_lock);
	return cart;
}

static void *price_cart(void *unused)
{
	static const char *const countries[] = {"AT", "BE", "CH", "DE", "DK", "FR"};
	char question[32], answer[32];
	int cart;

	while ((cart = take_cart()) >= 0) {
		long cents = 1000 + cart * 37;

		snprintf(question, sizeof(question), "RATE %s\n", countries[cart % 6]);
		ask_rates(question, answer, sizeof(answer));
		cents += cents * atoi(answer) / 10000;
		if (cart % 30 == 29) {
			snprintf(question, sizeof(question), "HOLIDAY %d\n", cart);
			ask_rates(question, answer, sizeof(answer));
			if (!strcmp(answer, "yes"))
				cents += 500;
		}
		pause_ms(3);
		pthread_mutex_lock(&total_lock);
		total_cents += cents;
		pthread_mutex_unlock(&total_lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t clerks[3];
	int status;

	if (argc != 2)
		return 2;
	start_rates(!strcmp(argv[1], "healthy"));
	for (int i = 0; i < 3; i++)
		pthread_create(&clerks[i], NULL, price_cart, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(clerks[i], NULL);
	close(rates.question);
	waitpid(rates.pid, &status, 0);
	printf("%d carts, %ld.%02ld\n", CARTS, total_cents / 100, total_cents % 100);
	return 0;
}
