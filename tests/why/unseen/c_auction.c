/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: size 256K stop 700
 *   ask: why
 *   truth: When the actor "auction 7" closes, it ends and throws away the mail that is still in its inbox, among it a bid of kim and one of raj. Nobody answers these bids; both bidders wait for ever.
 *   culprit: auction 7
 *   victim: bidder (kim|raj)|bid (kim|raj)
 * case: healthy
 *   args: healthy
 *   run: size 256K stop 700
 *   ask: why
 *   culprit: nothing
 */
/* An auction house of actors with inboxes on a scheduler of its own; a ticker keeps it busy. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum kind {
	BID,
	ANSWER,
	CLOSE,
	QUOTE
};

struct actor;
struct mail {
	enum kind kind;
	struct actor *from;
	thrum_task bid;
	struct mail *next;
};

struct actor {
	const char *name;
	thrum_task task;
	void (*receive)(struct actor *self, struct mail *mail);
	struct mail *inbox, **inbox_end;
	struct actor *next;
	bool queued, ended;
	int count;
	double pause_until;
};

static struct actor *run_queue, **run_end = &run_queue;
static struct actor auction7, auction8, kim, ana, raj, ticker, board;
static volatile sig_atomic_t quit;
static bool broken;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void on_term(int signal)
{
	quit = 1;
}

static void wake(struct actor *actor)
{
	if (actor->queued)
		return;
	actor->queued = true;
	thrum_task_ready(actor->task);
	actor->next = NULL;
	*run_end = actor;
	run_end = &actor->next;
}

static void post(struct actor *to, enum kind kind, struct actor *from, thrum_task bid)
{
	struct mail *mail = calloc(1, sizeof(*mail));

	mail->kind = kind;
	mail->from = from;
	mail->bid = bid;
	*to->inbox_end = mail;
	to->inbox_end = &mail->next;
	wake(to);
}

static void place_bid(struct actor *bidder, struct actor *auction)
{
	char label[32];

	snprintf(label, sizeof(label), "bid %s", bidder->name + strlen("bidder "));
	thrum_task bid = thrum_task_create(THRUM_KIND_PROMISE, label);
	thrum_task_wait(bid, auction->task);
	thrum_task_wait(bidder->task, bid);
	post(auction, BID, bidder, bid);
}

static void auction_receive(struct actor *self, struct mail *mail)
{
	if (mail->kind == CLOSE) {
		struct mail *rest = self->inbox;

		self->inbox = NULL;
		self->inbox_end = &self->inbox;
		self->ended = true;
		while (rest) {
			struct mail *next = rest->next;

			if (!broken) {
				thrum_task_resolve(rest->bid);
				post(rest->from, ANSWER, self, rest->bid);
			}
			free(rest);
			rest = next;
		}
		thrum_task_resolve(self->task);
		return;
	}
	thrum_task_resolve(mail->bid);
	post(mail->from, ANSWER, self, mail->bid);
}

static void bidder_receive(struct actor *self, struct mail *mail)
{
	thrum_task_read(self->task, mail->bid);
	self->pause_until = now() + 12 + self->count++ % 3;
}

static void board_receive(struct actor *self, struct mail *mail)
{
	self->count++;
}

static void ticker_receive(struct actor *self, struct mail *mail)
{
	for (int i = 0; i < 12; i++) {
		thrum_task quote = thrum_task_create(THRUM_KIND_TASK, "quote");
		post(&board, QUOTE, self, quote);
		thrum_task_resolve(quote);
	}
}

static void make(struct actor *actor, const char *name,
	void (*receive)(struct actor *, struct mail *))
{
	actor->name = name;
	actor->receive = receive;
	actor->inbox_end = &actor->inbox;
	actor->task = thrum_task_create(THRUM_KIND_FIBER, name);
}

static void run_all(void)
{
	struct actor *actor;

	while ((actor = run_queue)) {
		run_queue = actor->next;
		if (!run_queue)
			run_end = &run_queue;
		actor->queued = false;
		THRUM_RUN (actor->task) {
			struct mail *mail;

			while (!actor->ended && (mail = actor->inbox)) {
				actor->inbox = mail->next;
				if (!actor->inbox)
					actor->inbox_end = &actor->inbox;
				actor->receive(actor, mail);
				free(mail);
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct actor *bidders[] = {&kim, &ana, &raj};
	bool closed = false;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	signal(SIGTERM, on_term);
	make(&auction7, "auction 7", auction_receive);
	make(&auction8, "auction 8", auction_receive);
	make(&kim, "bidder kim", bidder_receive);
	make(&ana, "bidder ana", bidder_receive);
	make(&raj, "bidder raj", bidder_receive);
	make(&ticker, "ticker", ticker_receive);
	make(&board, "board", board_receive);
	double begin = now();

	for (int i = 0; i < 3; i++)
		bidders[i]->pause_until = begin + 5 * i + 1;
	while (!quit && now() < begin + 1100) {
		double t = now();

		if (!closed && t > begin + 80) { /* the hammer, and two bids in the same instant */
			closed = true;
			post(&auction7, CLOSE, NULL, THRUM_TASK_NONE);
			for (int i = 0; i < 3; i += 2) {
				if (bidders[i]->pause_until) {
					bidders[i]->pause_until = 0;
					THRUM_RUN (bidders[i]->task)
						place_bid(bidders[i], &auction7);
				}
			}
		}
		for (int i = 0; i < 3; i++)
			if (bidders[i]->pause_until && bidders[i]->pause_until <= t) {
				bidders[i]->pause_until = 0;
				THRUM_RUN (bidders[i]->task)
					place_bid(bidders[i],
						i == 1 || closed ? &auction8 : &auction7);
			}
		post(&ticker, QUOTE, NULL, THRUM_TASK_NONE);
		run_all();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, 1);
		thrum_resume();
	}
	printf("bids answered: kim %d, ana %d, raj %d; %d quotes\n", kim.count, ana.count,
		raj.count, board.count);
	return 0;
}
