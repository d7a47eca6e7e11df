/* SPDX-License-Identifier: ISC */
/* Threads of the C++ library that hand work to each other. */
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <thread>

namespace {
std::mutex mutex;
std::condition_variable has_work;
std::queue<int> work;
int sum;
bool is_waiting;

void add_up()
{
	for (;;) {
		std::unique_lock<std::mutex> lock(mutex);

		has_work.wait(lock, [] {
			is_waiting = work.empty();
			return !is_waiting;
		});
		int number = work.front();

		work.pop();
		if (number < 0)
			return;
		sum += number;
	}
}
} // namespace

int main()
{
	std::thread worker(add_up);

	for (int number : {1, 2, 3, -1}) {
		std::unique_lock<std::mutex> lock(mutex);

		while (!is_waiting) {
			lock.unlock();
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
			lock.lock();
		}
		is_waiting = false;
		work.push(number);
		has_work.notify_one();
	}
	worker.join();
	std::printf("%d\n", sum);
	return 0;
}
