/* SPDX-License-Identifier: ISC */
/*
 * Records one event of each kind over and over, from several threads.
 *
 * busy FILE [name=number]...
 *
 *   size     KiB of the recording             threads  how many
 *   discard  1: discard when full             rounds   for each thread, about 33 events each
 *   live     1: with a table of live tasks    far      1: also ids and values of 64 bits
 *   gaps     1: a clock of its own, which jumps in each round by about 2^27 ticks, or more
 *   quiet    1: switches are not recorded
 *   names    1: more names than there is room for definitions
 *   signals  1: a signal handler records too
 *   end      0: stop; 1: be killed; 2: say "ready" when the rounds are over, and go on until killed
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <thrum.h>

static struct {
	long size, discard, live, gaps, threads, rounds, far, quiet, names, signals, end;
} options = {.size = 1024, .threads = 1, .rounds = 100};

static const struct {
	const char *name;
	long *value;
} names[] = {
	{"size", &options.size},
	{"discard", &options.discard},
	{"live", &options.live},
	{"gaps", &options.gaps},
	{"threads", &options.threads},
	{"rounds", &options.rounds},
	{"far", &options.far},
	{"quiet", &options.quiet},
	{"names", &options.names},
	{"signals", &options.signals},
	{"end", &options.end},
};

THRUM_CATEGORY(net, "net");
THRUM_TAG(parse, &net, "net/dns.\"parse\"\\", 1);
THRUM_TAG(loose, NULL, "t\303\244g", 0);
static struct thrum_counter *counter;
static pthread_barrier_t all_here, all_go;

/* ---- A clock that jumps ----------------------------------------------------------------- */

static _Atomic uint64_t sixteenths = UINT64_C(1) << 30;

static uint64_t read_clock(void *context)
{
	(void)context;
	return atomic_fetch_add(&sixteenths, 16 * 7);
}

static const struct thrum_clock jumping = {read_clock, NULL, 1000000000};

/* Steps around 2^27 ticks, which is the most that fits the compact header. */
static void jump(long round)
{
	static const uint64_t ticks[] = {(1u << 27) - 20, (1u << 27) - 7, 1u << 27, 1u << 28, 5};
	if (options.gaps)
		atomic_fetch_add(&sixteenths, 16 * ticks[round % 5]);
}

/* ---- Work ------------------------------------------------------------------------------- */

static void record_tasks(long round)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, "GET /");
	thrum_task answer = thrum_task_createf(THRUM_KIND_PROMISE, "answer %ld", round);
	thrum_task timer = thrum_task_create_in(request, THRUM_KIND_TIMER, NULL);
	thrum_task bind = thrum_task_create_waiting(THRUM_KIND_BIND, "", answer);
	thrum_task_label(timer, "\"quoted\" \\ \t \n \1 { a = 5 }, \377 \342\202\254");
	thrum_task_should_resolve(answer);
	thrum_task_due(timer, round % 2 ? 1000 : -5000000000);
	thrum_task_wait(request, answer);
	jump(round);
	THRUM_RUN (answer) {
		thrum_task_read(answer, timer);
		thrum_task_read(bind, timer);
		thrum_lock_acquired(timer);
		thrum_lock_released(timer);
		if (thrum_enabled()) {
			static struct thrum_site site = {__FILE__, "at", 1, 0};

			thrum__lock_held(&site, bind, timer);
			thrum__wait_at(&site, bind, answer);
			thrum__signal_at(&site, bind, 1);
		}
		thrum_task_ready(bind);
		thrum_task_signal(bind, (unsigned)round);
		thrum_task_resolve(answer);
	}
	thrum_task_become(bind, timer);
	thrum_task_fail(timer, "reset by \"peer\"");
	if (round % 10)
		thrum_task_cancel(request);
	thrum_task_switch(THRUM_TASK_NONE);
}

static void record_rest(long round)
{
	static const char key[] = "\0key\377";
	char text[700];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	thrum_log(text);
	thrum_logf("round %ld", round);
	thrum_link_send(key, sizeof key);
	thrum_link_receive(key, 0);
	thrum_tag(&parse);
	thrum_tag_value(&loose, -round);
	thrum_span_begin(&parse);
	thrum_span_begin(&loose);
	thrum_span_end(&loose);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	thrum_resume();
	thrum_span_end(&parse);
	thrum_counter_add(counter, 1);
	thrum_lane_name("worker");
	if (round % 16 == 0)
		thrum_level("net", (int)(round / 16 % 4));
}

/* Records ids and values that don't fit 32 bits, in the wide forms. */
static void record_far(long round)
{
	thrum_task far = (UINT64_C(1) << 40) + (uint64_t)round, near = thrum_task_current();
	thrum_task_wait(near, far);
	thrum_task_read(near, far);
	thrum_task_read(far, near);
	thrum_task_label(far, "far");
	thrum_task_become(far, near);
	thrum_tag_value(&loose, INT64_MIN + round);
	thrum_counter_set(counter, INT64_MAX - round);
	THRUM_RUN (far) {
		thrum_task_create(THRUM_KIND_TASK, "near");
		thrum_task_create_waiting(THRUM_KIND_MAP, "waits", far);
		thrum_task_resolve(far);
		thrum_task_signal(far, 1u << 31);
	}
}

static void on_signal(int number)
{
	(void)number;
	thrum_task task = thrum_task_create(THRUM_KIND_HANDLE, "signal");
	THRUM_RUN (task) {
		thrum_log("in a handler");
	}
	thrum_task_resolve(task);
}

/*
 * Makes more names than the smallest recording has definitions: the last ones are written to the
 * lane.
 */
static void record_names(void)
{
	for (int i = 0; i < 300; i++) {
		char path[32];
		snprintf(path, sizeof path, "many/%d", i);
		thrum_counter_set(thrum_counter_create(path, THRUM_COUNTER_GAUGE), i);
	}
}

static void *work(void *unused)
{
	(void)unused;
	/* All threads get a lane of their own before any of them can leave its lane to another. */
	thrum_log("here");
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_go);
	if (options.names)
		record_names();
	for (long round = 0; round < options.rounds; round++) {
		record_tasks(round);
		record_rest(round);
		if (options.far)
			record_far(round);
	}
	return NULL;
}

static void work_for_ever(void)
{
	puts("ready");
	fflush(stdout);
	for (long round = 0;; round++) {
		record_tasks(round);
		record_rest(round);
		if (round % 100 == 0)
			usleep(100);
	}
}

static int start(const char *file)
{
	struct thrum_config config = {.file = file,
		.size = (uint64_t)options.size << 10,
		.full = options.discard ? THRUM_FULL_DISCARD : THRUM_FULL_OVERWRITE,
		.no_live_tasks = !options.live,
		.clock = options.gaps ? &jumping : NULL};
	int error = thrum_start(&config);
	if (error != 0)
		fprintf(stderr, "busy: error %d\n", error);
	return error;
}

static void set_timer(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 100}, {0, 100}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static void parse_options(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			size_t length = strlen(names[k].name);
			if (strncmp(argv[i], names[k].name, length) == 0 && argv[i][length] == '=')
				*names[k].value = atol(argv[i] + length + 1);
		}
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[256];
	if (argc < 2)
		return 64;
	parse_options(argc, argv);
	counter = thrum_counter_create("net/tcp/bytes", THRUM_COUNTER_CUMULATIVE);
	pthread_barrier_init(&all_here, NULL, (unsigned)options.threads + 1);
	pthread_barrier_init(&all_go, NULL, (unsigned)options.threads + 1);
	if (start(argv[1]) != 0)
		return 2;
	if (options.quiet)
		thrum_level("task", 2);
	if (options.signals)
		set_timer();
	for (long i = 0; i < options.threads; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	pthread_barrier_wait(&all_here);
	thrum_log("is there a lane for this?");
	pthread_barrier_wait(&all_go);
	for (long i = 0; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	/* The recorder asks for a lane again after a while, and then records how many events were
	 * lost. */
	usleep(5000);
	thrum_log("there is one now");
	if (options.end == 1)
		raise(SIGKILL);
	if (options.end == 2)
		work_for_ever();
	thrum_stop();
	return 0;
}
