/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: The shop asks the pricing process for a price and blocks in ask_price. For a limited article pricing
 *     asks the shop how many are left (ask_stock) before it answers, and the shop's loop can't answer: each waits for the other.
 *   culprit: ask_price|ask_stock
 *   victim: till|sell_loop
 * case: healthy
 *   args: healthy
 *   run: kill 2000
 *   ask: why
 *   culprit: nothing
 */
/* A shop and its pricing, two processes that ask each other over sockets. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARTICLES 8

struct message {
	int article;
	int value;
};

static bool send_stock_along;
static const bool is_limited[ARTICLES] = {[5] = true};
static int stock[ARTICLES] = {40, 35, 50, 45, 60, 4, 70, 30};

static void put(int fd, struct message message)
{
	if (send(fd, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
		_exit(1);
}

static bool get(int fd, struct message *message)
{
	return recv(fd, message, sizeof *message, MSG_WAITALL) == sizeof *message;
}

/* ---- the process of pricing ---- */

static int ask_stock(int shop, int article)
{
	struct message message = {article, 0};

	put(shop, message);
	if (!get(shop, &message))
		_exit(0);
	return message.value;
}

static void pricing(int questions, int shop)
{
	struct message message;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "pricing");
	while (get(questions, &message)) {
		int price = 100 + 10 * message.article;
		int left = message.value;

		if (is_limited[message.article] && left < 0)
			left = ask_stock(shop, message.article);
		if (left >= 0 && left < 5)
			price += price / 2; /* the last ones are dear */
		message.value = price;
		put(questions, message);
	}
	_exit(0);
}

/* ---- the process of the shop ---- */

static int pricing_fd, stock_fd, till_fd;

static int ask_price(int article)
{
	struct message message = {article, send_stock_along ? stock[article] : -1};

	put(pricing_fd, message);
	if (!get(pricing_fd, &message))
		exit(1);
	return message.value;
}

static void answer_stock(void)
{
	struct message message;

	if (!get(stock_fd, &message))
		exit(1);
	message.value = stock[message.article];
	put(stock_fd, message);
}

static void answer_till(void)
{
	struct message message;

	if (!get(till_fd, &message))
		exit(0);
	message.value = ask_price(message.article);
	if (stock[message.article] > 1)
		stock[message.article]--;
	put(till_fd, message);
}

static void sell_loop(void)
{
	struct pollfd fds[2] = {{.fd = till_fd, .events = POLLIN},
		{.fd = stock_fd, .events = POLLIN}};

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			answer_stock();
		if (fds[0].revents)
			answer_till();
	}
}

static void *till(void *data)
{
	int fd = *(int *)data;
	long cash = 0;

	pthread_setname_np(pthread_self(), "till");
	for (int i = 0;; i++) {
		struct message message = {(i / 3) % ARTICLES, 0};

		put(fd, message);
		if (!get(fd, &message))
			return NULL;
		cash += message.value;
		printf("sold article %d for %d, %ld in all\n", message.article, message.value,
			cash);
		fflush(stdout);
		usleep(10000);
	}
}

static void *clock_thread(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "clock");
	for (int minutes = 540;; minutes++) {
		usleep(100000);
		if (minutes % 5 == 0)
			printf("it is %d:%02d\n", minutes / 60 % 24, minutes % 60);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int prices[2], stocks[2], tills[2];
	pthread_t thread;

	send_stock_along = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, prices) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, stocks) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, tills)) {
		perror("socketpair");
		return 1;
	}
	switch (fork()) {
	case -1: perror("fork"); return 1;
	case 0:
		close(prices[0]);
		close(stocks[0]);
		close(tills[0]);
		close(tills[1]);
		pricing(prices[1], stocks[1]);
	}
	close(prices[1]);
	close(stocks[1]);
	pricing_fd = prices[0];
	stock_fd = stocks[0];
	till_fd = tills[0];
	pthread_create(&thread, NULL, till, &tills[1]);
	pthread_create(&thread, NULL, clock_thread, NULL);
	sell_loop();
	return 0;
}
