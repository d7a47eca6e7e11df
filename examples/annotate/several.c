/* SPDX-License-Identifier: ISC */
/* Waits for all and for any. With the bug, one of three pages never comes. */
#include "annotate.h"

#define PAGES 3

struct page {
	thrum_task task;
	bool done;
};

/* Ends when all pages have ended. */
static thrum_task wait_for_all(const struct page *pages)
{
	thrum_task all = thrum_task_create(THRUM_KIND_JOIN, "all pages");

	for (int i = 0; i < PAGES; i++)
		if (!pages[i].done)
			thrum_task_wait(all, pages[i].task);
	return all;
}

/* Ends when one of the two has ended. */
static thrum_task wait_for_any(thrum_task answer, thrum_task timer)
{
	thrum_task any = thrum_task_create(THRUM_KIND_CHOOSE, "answer in time");

	thrum_task_wait(any, answer);
	thrum_task_wait(any, timer);
	return any;
}

static void page_came(struct page *page, thrum_task all)
{
	THRUM_RUN (page->task)
		thrum_task_resolve(page->task);
	page->done = true;
	thrum_task_read(all, page->task);
}

static void choose_first(void)
{
	thrum_task answer = thrum_task_create(THRUM_KIND_REQUEST, "answer");
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "patience");
	thrum_task any;

	thrum_task_due(timer, 5000000);
	any = wait_for_any(answer, timer);
	pause_ms(5);
	thrum_task_resolve(timer);
	THRUM_RUN (any) {
		thrum_task_read(any, timer);
		thrum_task_cancel(answer);
		thrum_task_resolve(any);
	}
}

int main(int argc, char **argv)
{
	static struct page pages[PAGES];
	thrum_task all;

	begin(argc);
	choose_first();
	for (int i = 0; i < PAGES; i++)
		pages[i].task = thrum_task_createf(THRUM_KIND_TASK, "page %d", i + 1);
	all = wait_for_all(pages);
	thrum_task_should_resolve(all);
	for (int i = 0; i < PAGES; i++) {
		pause_ms(2);
		if (!broken || i != 1)
			page_came(&pages[i], all);
	}
	while (broken)
		pause();
	thrum_task_resolve(all);
	return 0;
}
