/* SPDX-License-Identifier: ISC */
/*
 * C++20 coroutines that record themselves, with thrum.hpp. Three requests share a connection; its answer to
 * the second one gets lost:
 *
 *   thrum record -o run.thrum -- build/examples/coroutines
 *   thrum why run.thrum
 */
#include <coroutine>
#include <cstdio>
#include <deque>
#include <exception>
#include <string>

#include <thrum.hpp>

namespace {

/* Coroutines that could run. */
std::deque<std::coroutine_handle<>> ready;

/* A coroutine that begins at once and frees itself. */
struct fiber {
	struct promise_type : thrum::coroutine {
		promise_type() : coroutine("fiber") {}
		fiber get_return_object() noexcept { return {}; }
		auto initial_suspend() noexcept { return begin(std::suspend_never{}); }
		auto final_suspend() noexcept { return end(std::suspend_never{}); }
		void return_void() noexcept {}
		void unhandled_exception() { std::terminate(); }
	};
};

/* An answer that comes later. One coroutine may await it. */
class answer {
public:
	explicit answer(const char *label) : task_(thrum_task_create(THRUM_KIND_REQUEST, label))
	{
		task_.should_resolve();
	}
	~answer() { task_.release(); }

	void come(std::string text)
	{
		text_ = std::move(text);
		task_.resolve();
		if (waiter_)
			ready.push_back(waiter_);
	}

	thrum_task thrum_task_id() const noexcept { return task_.id(); }
	bool await_ready() const { return !text_.empty(); }
	void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
	const std::string &await_resume() const { return text_; }

private:
	std::string text_;
	std::coroutine_handle<> waiter_;
	thrum::task task_;
};

fiber get(const char *path, answer &answer)
{
	co_await thrum::name(path);
	std::printf("%s: %s\n", path, (co_await answer).c_str());
}

} // namespace

int main()
{
	answer one("answer 1"), two("answer 2"), three("answer 3");

	get("GET /one", one);
	get("GET /two", two);
	get("GET /three", three);
	one.come("a page");
	three.come("another page");
	while (!ready.empty()) {
		std::coroutine_handle<> next = ready.front();

		ready.pop_front();
		next.resume();
	}
	/* Nothing is left that could wake the second request. */
	thrum_suspend(THRUM_DEADLOCKED);
}
