/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: In select_two the fiber “controller” waits for two channels. When a sample wakes it, it stays in
 *     the line of “commands”. While it sleeps with the flap open, channel_put hands it the command “stop”
 *     by that old entry. It never looks at the value, and the operator waits for ever.
 *   culprit: select_two|controller|channel_put|commands
 *   victim: operator|stop|await_command
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The controller of a pottery kiln: fibers that talk through channels. */
#include <stdbool.h>
#include <stdio.h>
#include <thrum.h>
#include <ucontext.h>
#include <uv.h>

enum {
	CONTROLLER,
	THERMOMETER,
	OPERATOR,
	FIBERS,
	STACK = 128 * 1024,
	LINE = 4,
	HOT = 900
};

struct channel {
	thrum_task task;
	struct fiber *line[LINE]; /* those who wait for a value */
	int waiting, full, value; /* it keeps the last value until someone takes it */
};

struct fiber {
	ucontext_t context;
	char stack[STACK];
	thrum_task task, timer;
	uint64_t due;
	bool ready, ended;
	struct channel *from;
	int value;
};

static ucontext_t scheduler;
static struct fiber fibers[FIBERS], *running;
static struct channel samples, commands;
static thrum_task command;
static bool broken, answered, flap_open, firing = true;
static int heat = 300;

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->ready = true;
}

static void sleep_ms(int ms)
{
	running->timer = thrum_task_create(THRUM_KIND_TIMER, "rest");
	thrum_task_due(running->timer, ms * 1000000LL);
	thrum_task_wait(running->task, running->timer);
	running->due = uv_hrtime() + ms * 1000000ULL;
	while (running->due)
		swapcontext(&running->context, &scheduler);
	thrum_task_read(running->task, running->timer);
}

static void strike_out(struct channel *channel, const struct fiber *fiber)
{
	int kept = 0;

	for (int i = 0; i < channel->waiting; i++)
		if (channel->line[i] != fiber)
			channel->line[kept++] = channel->line[i];
	channel->waiting = kept;
}

static void channel_put(struct channel *channel, int value)
{
	struct fiber *next = channel->line[0];

	thrum_task_signal(channel->task, channel->waiting);
	if (channel->waiting) {
		strike_out(channel, next);
		next->from = channel;
		next->value = value;
		make_ready(next);
	} else {
		channel->full = 1;
		channel->value = value;
	}
}

/* Returns the channel that has a value first, and the value. */
static struct channel *select_two(struct channel *left, struct channel *right, int *value)
{
	struct channel *channels[] = {left, right};
	thrum_task either;

	for (int i = 0; i < 2; i++)
		if (channels[i]->full) {
			channels[i]->full = 0;
			*value = channels[i]->value;
			thrum_task_read(running->task, channels[i]->task);
			return channels[i];
		}
	either = thrum_task_create(THRUM_KIND_CHOOSE, "command or sample");
	for (int i = 0; i < 2; i++) {
		strike_out(channels[i], running);
		channels[i]->line[channels[i]->waiting++] = running;
		thrum_task_wait(either, channels[i]->task);
	}
	thrum_task_wait(running->task, either);
	for (running->from = NULL; !running->from;)
		swapcontext(&running->context, &scheduler);
	for (int i = 0; i < 2 && !broken; i++)
		strike_out(channels[i], running);
	thrum_task_read(either, running->from->task);
	thrum_task_resolve(either);
	thrum_task_read(running->task, either);
	*value = running->value;
	return running->from;
}

static void control(void)
{
	int value;

	while (firing)
		if (select_two(&commands, &samples, &value) == &commands) {
			THRUM_RUN (command) {
				firing = value != 's';
				answered = true;
				thrum_task_resolve(command);
			}
			make_ready(&fibers[OPERATOR]);
		} else if (value > HOT) {
			flap_open = true;
			sleep_ms(600);
			flap_open = false;
		}
}

static void measure(void)
{
	while (firing) {
		sleep_ms(50);
		channel_put(&samples, heat += flap_open ? -40 : 70);
	}
}

static void await_command(const char *name)
{
	command = thrum_task_create(THRUM_KIND_TASK, name);
	channel_put(&commands, name[0]);
	thrum_task_wait(running->task, command);
	for (answered = false; !answered;)
		swapcontext(&running->context, &scheduler);
	thrum_task_read(running->task, command);
}

static void operate(void)
{
	sleep_ms(60);
	await_command("light");
	while (!flap_open)
		sleep_ms(15);
	sleep_ms(120);
	await_command("stop");
}

static void fiber_begin(int number)
{
	number == CONTROLLER ? control() : number == OPERATOR ? operate() : measure();
	running->ended = true;
	thrum_task_resolve(running->task);
	setcontext(&scheduler);
}

static void run_fibers(void)
{
	for (running = fibers; running < fibers + FIBERS; running++) {
		if (running->due && running->due <= uv_hrtime()) {
			running->due = 0;
			thrum_task_resolve(running->timer);
			make_ready(running);
		}
		if (running->ready && !running->ended) {
			running->ready = false;
			THRUM_RUN (running->task)
				swapcontext(&scheduler, &running->context);
		}
	}
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	uv_sleep(3);
	thrum_resume();
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"controller", "thermometer", "operator"};

	broken = argc > 1 && argv[1][0] == 'b';
	thrum_start(NULL);
	samples.task = thrum_task_create(THRUM_KIND_MAILBOX, "samples");
	commands.task = thrum_task_create(THRUM_KIND_MAILBOX, "commands");
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i].context);
		fibers[i].context.uc_stack = (stack_t){.ss_sp = fibers[i].stack, .ss_size = STACK};
		makecontext(&fibers[i].context, (void (*)(void))fiber_begin, 1, i);
		fibers[i].task = thrum_task_create(THRUM_KIND_FIBER, names[i]);
		make_ready(&fibers[i]);
	}
	thrum_task_should_resolve(fibers[OPERATOR].task);
	while (!fibers[CONTROLLER].ended || !fibers[THERMOMETER].ended || !fibers[OPERATOR].ended)
		run_fibers();
	thrum_stop();
	printf("%d degrees\n", heat);
	return 0;
}
