/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: deadlock by lock order: "rdk:main" holds the lock of the partition and wants the handle's lock to
 *     write; "rdk:broker1" holds the handle's lock to read and wants the partition's. The destroying thread
 *     waits behind them.
 *   culprit: rdk:main|rdk:broker1|query_leader|forget_leader
 *   victim: destroy|app
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about librdkafka: rd_kafka_destroy hangs if a leader becomes unreachable while a request for
 * its offset is in flight, as two threads take the handle's lock and the partition's lock in opposite orders.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct handle {
	pthread_rwlock_t lock;
	thrum_task lock_task;
	int leader_queries, terminating;
};

struct toppar {
	pthread_mutex_t lock;
	thrum_task lock_task;
	int leader;
};

static struct handle rk = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static struct toppar toppar = {.lock = PTHREAD_MUTEX_INITIALIZER, .leader = 1};
static pthread_barrier_t broker_down;
static bool healthy;

static void handle_lock(bool to_write)
{
	if (to_write ? pthread_rwlock_trywrlock(&rk.lock) : pthread_rwlock_tryrdlock(&rk.lock)) {
		thrum_task_wait(thrum_task_current(), rk.lock_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (to_write)
			pthread_rwlock_wrlock(&rk.lock);
		else
			pthread_rwlock_rdlock(&rk.lock);
		thrum_resume();
	}
	thrum_lock_acquired(rk.lock_task);
}

static void handle_unlock(void)
{
	thrum_lock_released(rk.lock_task);
	pthread_rwlock_unlock(&rk.lock);
}

static void toppar_lock(void)
{
	if (pthread_mutex_trylock(&toppar.lock)) {
		thrum_task_wait(thrum_task_current(), toppar.lock_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&toppar.lock);
		thrum_resume();
	}
	thrum_lock_acquired(toppar.lock_task);
}

static void toppar_unlock(void)
{
	thrum_lock_released(toppar.lock_task);
	pthread_mutex_unlock(&toppar.lock);
}

static void query_leader(void)
{
	handle_lock(true);
	rk.leader_queries++;
	handle_unlock();
}

/* The request for the offset has failed: this thread asks for a new leader. */
static void *serve_main(void *data)
{
	(void)data;
	thrum_lane_name("rdk:main");
	toppar_lock();
	pthread_barrier_wait(&broker_down);
	toppar.leader = -1;
	if (healthy) {
		toppar_unlock();
		query_leader();
	} else {
		query_leader();
		toppar_unlock();
	}
	return NULL;
}

static void forget_leader(void)
{
	toppar_lock();
	toppar.leader = -1;
	toppar_unlock();
}

static void *serve_broker(void *data)
{
	(void)data;
	thrum_lane_name("rdk:broker1");
	handle_lock(false);
	pthread_barrier_wait(&broker_down);
	forget_leader();
	handle_unlock();
	return NULL;
}

static void destroy(void)
{
	handle_lock(true);
	rk.terminating = 1;
	handle_unlock();
}

int main(int argc, char **argv)
{
	pthread_t main_thread, broker;
	thrum_task app;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	rk.lock_task = thrum_task_create(THRUM_KIND_LOCK, "rk_lock");
	toppar.lock_task = thrum_task_create(THRUM_KIND_LOCK, "toppar lock");
	app = thrum_task_create(THRUM_KIND_TASK, "destroy handle");
	thrum_task_should_resolve(app);
	pthread_barrier_init(&broker_down, NULL, 3);
	pthread_create(&main_thread, NULL, serve_main, NULL);
	pthread_create(&broker, NULL, serve_broker, NULL);
	pthread_barrier_wait(&broker_down);
	usleep(50000);
	THRUM_RUN (app)
		destroy();
	thrum_task_resolve(app);
	pthread_join(main_thread, NULL);
	pthread_join(broker, NULL);
	printf("%d queries, leader %d\n", rk.leader_queries, toppar.leader);
	thrum_stop();
	return 0;
}
