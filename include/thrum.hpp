/* SPDX-License-Identifier: ISC */
/*
 * thrum.hpp: thrum.h for C++17, with objects that end what they began. Coroutines need C++20.
 *
 *   void answer(request &request)
 *   {
 *       thrum::task task(thrum_task_create(THRUM_KIND_REQUEST, request.path()));
 *       thrum::run run(task);      // until the block ends, this task runs
 *       ...
 *   }                              // resolved; failed, if an exception leaves the block
 *
 * Everything here is inline and calls thrum.h; the rules of that header hold. Nothing throws, and
 * nothing allocates. An object belongs to one thread at a time, except a thrum::mutex.
 */
#ifndef THRUM_HPP
#define THRUM_HPP

#include <exception>
#include <mutex>
#include <utility>

#include <thrum.h>

namespace thrum {

/*
 * Owns a task, and ends it. The destructor resolves a task that is still pending; if an exception that
 * was thrown since the object was made is on its way, it fails the task. Take the id from a call of
 * thrum.h, so that the recording names the place of that call.
 */
class task {
public:
	task() noexcept = default;
	explicit task(thrum_task id) noexcept : id_(id), exceptions_(std::uncaught_exceptions()) {}
	task(task &&other) noexcept : id_(other.release()), exceptions_(other.exceptions_) {}
	task &operator=(task &&other) noexcept
	{
		if (this != &other) {
			end();
			exceptions_ = other.exceptions_;
			id_ = other.release();
		}
		return *this;
	}
	task(const task &) = delete;
	task &operator=(const task &) = delete;
	~task() { end(); }

	/* THRUM_TASK_NONE if nothing is recorded, or if the task has ended. */
	thrum_task id() const noexcept { return id_; }
	operator thrum_task() const noexcept { return id_; }

	void label(const char *label) noexcept { thrum_task_label(id_, label); }
	void should_resolve() noexcept { thrum_task_should_resolve(id_); }
	void wait(thrum_task source) noexcept { thrum_task_wait(id_, source); }

	/* The running task ends this one. */
	void resolve() noexcept { thrum_task_resolve(release()); }
	void fail(const char *reason) noexcept { thrum_task_fail(release(), reason); }
	void cancel() noexcept { thrum_task_cancel(release()); }

	/* Gives the id away; then somebody else has to end the task. */
	thrum_task release() noexcept { return std::exchange(id_, THRUM_TASK_NONE); }

private:
	void end() noexcept
	{
		if (std::uncaught_exceptions() > exceptions_)
			fail("exception");
		else
			resolve();
	}

	thrum_task id_ = THRUM_TASK_NONE;
	int exceptions_ = 0;
};

/* Makes a task run on this lane until the block ends. */
class run {
public:
	explicit run(thrum_task id) noexcept : before_(thrum_task_enter(id)) {}
	run(const run &) = delete;
	run &operator=(const run &) = delete;
	~run() { thrum_task_leave(before_); }

private:
	thrum_task before_;
};

/* Gives this lane's time a name until the block ends. */
class span {
public:
	explicit span(struct thrum_tag &tag) noexcept : tag_(tag) { thrum_span_begin(&tag_); }
	span(const span &) = delete;
	span &operator=(const span &) = delete;
	~span() { thrum_span_end(&tag_); }

private:
	struct thrum_tag &tag_;
};

/* Says that this lane runs nothing until the block ends, and why. */
class suspension {
public:
	explicit suspension(struct thrum_tag *reason) noexcept { thrum_suspend(reason); }
	suspension(const suspension &) = delete;
	suspension &operator=(const suspension &) = delete;
	~suspension() { thrum_resume(); }
};

/*
 * A std::mutex that records who waits for it and who holds it; for std::lock_guard, std::unique_lock
 * and std::condition_variable_any. `thrum record` also sees every other std::mutex, but only the thread
 * that holds it. This one is held by the running task, and needs no `thrum record`. The label is
 * copied.
 */
class mutex {
public:
	explicit mutex(const char *label) noexcept : id_(thrum_task_create(THRUM_KIND_LOCK, label)) {}

	void lock()
	{
		if (!mutex_.try_lock()) {
			thrum_task_wait(thrum_task_current(), id_.id());
			suspension blocked(THRUM_BLOCKED);
			mutex_.lock();
		}
		thrum_lock_acquired(id_.id());
	}
	bool try_lock()
	{
		bool locked = mutex_.try_lock();

		if (locked)
			thrum_lock_acquired(id_.id());
		return locked;
	}
	void unlock()
	{
		thrum_lock_released(id_.id());
		mutex_.unlock();
	}

private:
	std::mutex mutex_;
	task id_;
};

} // namespace thrum

#if defined(__cpp_impl_coroutine) && __cpp_impl_coroutine >= 201902L
#include <coroutine>
#include <type_traits>

namespace thrum {

/* In a coroutine, `co_await thrum::name("GET /")` names its task; it never suspends. */
struct name {
	explicit name(const char *text) noexcept : label(text) {}
	const char *label;
};

/* The task of what a coroutine awaits: of an awaitable with a member function thrum_task_id(). */
template <typename T>
thrum_task task_of(const T &awaitable) noexcept
{
	if constexpr (requires { { awaitable.thrum_task_id() } noexcept; })
		return awaitable.thrum_task_id();
	else
		return THRUM_TASK_NONE;
}

/*
 * A base for the promise_type of coroutines: each coroutine is a task that runs between its
 * suspensions, waits for what it awaits, and ends with the coroutine.
 *
 *   struct promise_type : thrum::coroutine {
 *       promise_type() : coroutine("fetch") {}
 *       auto initial_suspend() noexcept { return begin(std::suspend_never{}); }
 *       auto final_suspend() noexcept { return end(std::suspend_always{}); }
 *       void unhandled_exception() { failed("exception"); ... }
 *       ...
 *   };
 *
 * If the awaited object has a member function thrum_task_id(), which is noexcept, the coroutine waits for
 * that task; otherwise for one that is made for the time of the waiting. A coroutine that is destroyed
 * before its end is cancelled. All of them have one place in the recording, so name them.
 */
class coroutine {
public:
	explicit coroutine(const char *label) noexcept
		: id_(thrum_task_create(THRUM_KIND_FIBER, label))
	{
	}
	coroutine(const coroutine &) = delete;
	coroutine &operator=(const coroutine &) = delete;
	~coroutine() { thrum_task_cancel(id_); }

	thrum_task thrum_task_id() const noexcept { return id_; }

	/* Wraps what initial_suspend returns. */
	template <typename T>
	auto begin(T awaitable) noexcept
	{
		return awaiter<T>{std::move(awaitable), *this, true};
	}

	/* Ends the task, and returns what final_suspend returns. */
	template <typename T>
	T end(T awaitable) noexcept
	{
		thrum_task_resolve(std::exchange(id_, THRUM_TASK_NONE));
		thrum_task_leave(before_);
		return awaitable;
	}

	/* The coroutine ends by an exception. */
	void failed(const char *reason) noexcept
	{
		thrum_task_fail(std::exchange(id_, THRUM_TASK_NONE), reason);
	}

	auto await_transform(name name) noexcept
	{
		thrum_task_label(id_, name.label);
		return std::suspend_never{};
	}

	template <typename T>
	auto await_transform(T &&awaitable)
	{
		if constexpr (requires { std::forward<T>(awaitable).operator co_await(); })
			return wrap(std::forward<T>(awaitable).operator co_await(), task_of(awaitable));
		else if constexpr (requires { operator co_await(std::forward<T>(awaitable)); })
			return wrap(operator co_await(std::forward<T>(awaitable)), task_of(awaitable));
		else if constexpr (std::is_lvalue_reference_v<T>)
			return awaiter<T>{awaitable, *this, false, task_of(awaitable)};
		else
			return wrap(std::forward<T>(awaitable), task_of(awaitable));
	}

private:
	/* Stands around another awaitable, and tells when the coroutine leaves its lane and comes back. */
	template <typename T>
	struct awaiter {
		T inner;
		coroutine &self;
		bool away; /* the coroutine doesn't run */
		thrum_task source = THRUM_TASK_NONE;
		bool begins = away;
		bool made = false; /* the source is the awaiter's own */

		~awaiter()
		{
			if (made)
				thrum_task_cancel(source);
		}

		bool await_ready() { return inner.await_ready(); }

		template <typename Promise>
		auto await_suspend(std::coroutine_handle<Promise> handle)
		{
			/* Another thread may resume the coroutine before the inner call returns. */
			leave();
			return inner.await_suspend(handle);
		}

		decltype(auto) await_resume()
		{
			enter();
			return inner.await_resume();
		}

	private:
		void leave() noexcept
		{
			if (begins)
				return;
			made = source == THRUM_TASK_NONE;
			if (made)
				source = thrum_task_create_in(self.id_, THRUM_KIND_WAIT, "co_await");
			thrum_task_wait(self.id_, source);
			away = true;
			thrum_task_leave(self.before_);
		}

		void enter() noexcept
		{
			if (!away)
				return;
			if (std::exchange(made, false))
				thrum_task_resolve(source);
			away = false;
			self.before_ = thrum_task_enter(self.id_);
			thrum_task_read(self.id_, source);
		}
	};

	template <typename T>
	auto wrap(T inner, thrum_task source)
	{
		return awaiter<T>{std::move(inner), *this, false, source};
	}

	thrum_task id_;
	thrum_task before_ = THRUM_TASK_NONE; /* ran on this lane before the coroutine went on */
};

} // namespace thrum
#endif
#endif
