/* SPDX-License-Identifier: ISC */
/*
 * A guest of Xen that hangs. It has no system below it but Xen, records with libthrum-core.a, and lends
 * its recording to dom0:
 *
 *   xl create unikernel.cfg           (type = "pvh", kernel = ".../xen-unikernel.elf", memory = 16)
 *   thrum why --xen unikernel
 *
 * Two tasks take turns, and wake each other by event channels. The front end sends requests, one after
 * the other, and the back end answers them. To save events, the back end says when it is about to
 * sleep, and only then the front end sends it one. The back end has a bug: after it has said so, it
 * doesn't look for requests once more, as RING_FINAL_CHECK_FOR_REQUESTS does in Xen's drivers.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <thrum/core.h>

#include "machine.h"
#include "xen.h"

#define TICKS_A_SECOND 100
#define REPORT_EVERY 40 /* requests */
#define STALLED 100     /* ticks without an answer: something is wrong */
#define PAGE 4096

static uint8_t memory[128 * PAGE] __attribute__((aligned(PAGE)));

/* One of the tasks that take turns. */
struct side {
	thrum_task task;
	thrum_task event; /* that it waits for */
	unsigned channel;
	bool is_ready;
};

static struct side front, back;
static thrum_task interrupts; /* what the timer's interrupt does */
static struct thrum_counter *uptime;
static volatile uint64_t ticks;
static uint64_t last_answer; /* the tick of the last answer that the front end got */

/* The two share this. Requests are numbers, from 1 on. */
static struct {
	unsigned asked, answered;
	bool wants_event;           /* the back end sleeps */
	thrum_task request, answer; /* of the latest number */
} ring;

/* ---- Interrupts ----------------------------------------------------------------------------- */

static void tick(void)
{
	thrum_task before = thrum_task_enter(interrupts);

	ticks++;
	thrum_counter_add(uptime, 1);
	thrum_task_leave(before);
}

static void wake(struct side *side)
{
	thrum_task_resolve(side->event);
	side->event = THRUM_TASK_NONE;
	side->is_ready = true;
	thrum_task_ready(side->task);
}

static void wake_front(void)
{
	wake(&front);
}

static void wake_back(void)
{
	wake(&back);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

/* The task doesn't run again before it gets an event. */
static void sleep(struct side *side, const char *event)
{
	side->is_ready = false;
	side->event = thrum_task_create(THRUM_KIND_PROMISE, event);
	thrum_task_wait(side->task, side->event);
}

/* Asks for the next number, or takes the answer. */
static void run_front(void)
{
	if (ring.request) {
		thrum_task_read(front.task, ring.answer);
		thrum_task_resolve(ring.request);
		ring.request = THRUM_TASK_NONE;
		last_answer = ticks;
		return;
	}
	ring.asked++;
	ring.request = thrum_task_createf(THRUM_KIND_REQUEST, "request %u", ring.asked);
	thrum_task_should_resolve(ring.request);
	ring.answer = thrum_task_createf(THRUM_KIND_PROMISE, "answer %u", ring.asked);
	thrum_task_wait(ring.request, ring.answer);
	sleep(&front, "event for the front end");
	if (ring.wants_event) {
		ring.wants_event = false;
		xen_notify(back.channel);
	}
}

/* Answers a request. If there is none, reports now and then, and sleeps. */
static void run_back(void)
{
	static bool has_reported;

	if (!has_reported && ring.answered < ring.asked) {
		ring.answered++;
		thrum_task_resolve(ring.answer);
		xen_notify(front.channel);
		return;
	}
	if (!has_reported && ring.answered > 0 && ring.answered % REPORT_EVERY == 0) {
		machine_print("unikernel: ");
		machine_print_number(ring.answered);
		machine_print(" answers\n");
		has_reported = true;
		return; /* The front end has its turn, too. */
	}
	has_reported = false;
	ring.wants_event = true;
	sleep(&back, "event for the back end");
}

/* Runs the tasks in turn, and sleeps while none is ready. Returns when there was no answer for a long
 * time. */
static void run(void)
{
	machine_forbid_interrupts();
	while (ticks - last_answer < STALLED) {
		if (!front.is_ready && !back.is_ready) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			machine_sleep();
			thrum_resume();
		}
		if (front.is_ready)
			THRUM_RUN (front.task)
				run_front();
		if (back.is_ready)
			THRUM_RUN (back.task)
				run_back();
		/* Here the events come that were sent. */
		machine_allow_interrupts();
		machine_forbid_interrupts();
	}
}

/* ---- Start ---------------------------------------------------------------------------------- */

static uint64_t read_clock(void *context)
{
	(void)context;
	return xen_time();
}

static bool start_recording(void)
{
	int error = thrum_core_start(&(struct thrum_core){.memory = memory,
		.size = sizeof memory,
		.clock = {.read = read_clock, .frequency = 1000000000 / 16},
		.realtime = xen_time_of_day(),
		.program = "unikernel"});

	if (!error && xen_publish(memory, sizeof memory / PAGE))
		return true;
	machine_print("unikernel: not recorded: ");
	machine_print(error ? thrum_error_message(error) : "xenstore refuses");
	machine_print("\n");
	return false;
}

void kernel_main(void);

void kernel_main(void)
{
	xen_start();
	if (!start_recording())
		return;
	uptime = thrum_counter_create("uptime", THRUM_COUNTER_CUMULATIVE);
	interrupts = thrum_task_create_in(THRUM_TASK_NONE, THRUM_KIND_HANDLE, "timer interrupt");
	front = (struct side){.task = thrum_task_create(THRUM_KIND_FIBER, "front end"),
		.channel = xen_event_channel(wake_front),
		.is_ready = true};
	back = (struct side){.task = thrum_task_create(THRUM_KIND_FIBER, "back end"),
		.channel = xen_event_channel(wake_back),
		.is_ready = true};
	machine_start_timer(tick, TICKS_A_SECOND);
	run();
	machine_print("unikernel: hangs\n");
	for (;;)
		machine_sleep();
}
