#include "couple/worker_slot.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "couple/scratch.h"
#include "couple/warden_start.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using std::chrono::duration;

constexpr std::uintmax_t kLogMost = 16 << 20;  // bytes kept of what a worker prints for hours
constexpr std::chrono::seconds kMoment{2};

}  // namespace

Slot::Clock::time_point WorkerSlot::later(Slot::Clock::time_point from, double seconds) {
  // Longer than anybody waits, and no number that the clock cannot count.
  const duration<double> wait(std::min(seconds, 1e8));
  return from + std::chrono::duration_cast<Slot::Clock::duration>(wait);
}

WorkerSlot::WorkerSlot(const Outline& outline, WorkerSlotOptions options)
    : outline_(outline), options_(std::move(options)) {}

WorkerSlot::~WorkerSlot() {
  if (connection_ && (state_ == State::idle || state_ == State::asking)) {
    connection_->send(frame_bytes({FrameType::end, 0, {}}));
    connection_->go_on();
    if (process_ && state_ == State::idle) process_->leave();
  }
}

void WorkerSlot::begin(const Query& query, int attempt) {
  query_ = &query;
  attempt_ = attempt;
  outcome_ = {};
  outcome_.answer.attempts = attempt;
  why_.clear();
  by_itself_ = unheard_ = late_ = started_again_ = hung_up_ = had_to_be_ended_ = lacks_ = false;
  if (state_ == State::idle) {
    // What came since the last answer: signs of life, its end, or something that it may not send.
    for (int i = 0; i < kFramesAtOnce; ++i) {
      connection_->go_on();
      if (!connection_->take()) break;
    }
    if (connection_->reader().flaw().empty() &&
        (connection_->closed() || connection_->error() != 0 || dead())) {
      connection_.reset();
      process_.reset();
      state_ = State::down;
    }
  }
  if (state_ == State::idle && connection_->reader().late())
    replace();
  else if (state_ == State::idle)
    ask();
  else
    start();
}

bool WorkerSlot::dead() {
  return process_ && process_->ended();
}

std::optional<Outcome> WorkerSlot::look() {
  if (state_ == State::starting) go_on_starting();
  if (state_ == State::asking) go_on_asking();
  if (state_ == State::idle && query_ != nullptr) {
    query_ = nullptr;
    return std::move(outcome_);
  }
  if (state_ == State::ending) return finish();
  return std::nullopt;
}

void WorkerSlot::ask() {
  state_ = State::asking;
  std::error_code ignored;
  const std::filesystem::path log = options_.folder / "log.txt";
  // It appends, so it goes on at the beginning.
  if (std::filesystem::file_size(log, ignored) > kLogMost && !ignored)
    std::filesystem::resize_file(log, 0, ignored);
  ++id_;
  connection_->reader().expect({{FrameType::answer, answer_most(outline_.grid, query_->steps), id_},
                                {FrameType::failed, failed_most(outline_.grid, query_->steps), id_},
                                {FrameType::heartbeat, 0, {}}});
  connection_->send(query_frame(id_, *query_, outline_));
  asked_ = sign_ = Clock::now();
}

void WorkerSlot::go_on_asking() {
  const bool ended = dead();
  for (int i = 0; i < kFramesAtOnce; ++i) {
    if (connection_->go_on()) sign_ = Clock::now();
    const auto frame = connection_->take();
    if (!frame) break;
    if (frame->type == FrameType::heartbeat) continue;
    Answer& answer = outcome_.answer;
    answer.seconds = duration<double>(Clock::now() - asked_).count();
    std::string flaw;
    if (frame->type == FrameType::answer) {
      flaw = read_answer(frame->payload, outline_.grid, query_->steps, answer.states);
      answer.status = Answer::Status::ok;
    } else {
      WorkerFailure failure;
      flaw = read_failed(frame->payload, outline_.grid, query_->steps, failure);
      answer.status = Answer::Status::failed;
      answer.states = std::move(failure.states);
      answer.reason = failure.text.empty() ? "the worker gave no reason" : failure.text;
      outcome_.worth_a_retry = failure.retry;
    }
    if (!flaw.empty()) {
      breach(flaw);
      return;
    }
    connection_->reader().expect({{FrameType::heartbeat, 0, {}}});
    state_ = State::idle;
    return;
  }
  if (connection_->reader().late())
    replace();
  else if (!connection_->reader().flaw().empty())
    breach(connection_->reader().flaw());
  else if (connection_->error() != 0)
    lack(lack_text("nothing can be sent to a worker or received", connection_->error()));
  else if (ended || connection_->closed()) {
    if (connection_->reader().within_frame()) {
      gone("the worker ended in the middle of its answer");
    } else {
      gone("the worker ended during the query");
      unheard_ = true;
    }
  } else if (Clock::now() >= due_by_state())
    fail(fmt::format("no sign of the worker for {:.3g} s, although it wanted to send one every "
                     "{:.3g} s",
                     duration<double>(Clock::now() - sign_).count(), hello_.heartbeat),
         true);
}

void WorkerSlot::breach(const std::string& flaw) {
  fail(fmt::format("{} {}", state_ == State::starting ? "it" : "the worker", flaw), false);
}

void WorkerSlot::replace() {
  state_ = State::asking;
  breach(connection_->reader().flaw());
  late_ = true;
}

void WorkerSlot::gone(std::string why) {
  fail(std::move(why), true);
  by_itself_ = hung_up_ = true;
  // A launcher ends the other ranks first, and then says what happened.
  end_at_ =
      options_.known_launcher ? later(Clock::now(), options_.farewell) : Clock::now() + kMoment;
}

void WorkerSlot::lack(std::string what) {
  fail({}, false);
  why_ = std::move(what);
  lacks_ = true;
}

void WorkerSlot::fail(std::string why, bool retry) {
  Answer& answer = outcome_.answer;
  outcome_.lost = state_ == State::starting;
  outcome_.worth_a_retry = retry && !outcome_.lost;
  answer.status = Answer::Status::failed;
  answer.states.clear();
  if (state_ == State::asking) answer.seconds = duration<double>(Clock::now() - asked_).count();
  if (outcome_.lost) {
    answer.attempts = attempt_ - 1;
    why = "the worker did not come up: " + why;
  }
  why_ = std::move(why);
  connection_.reset();
  listener_.reset();
  callers_.clear();
  state_ = State::ending;
  end_at_ = Clock::now();
}

std::optional<Outcome> WorkerSlot::finish() {
  if (process_ && !process_->ended()) {
    if (Clock::now() >= end_at_) {
      had_to_be_ended_ = true;
      process_->end();
      end_at_ = Clock::time_point::max();
    }
    return std::nullopt;
  }
  if (process_ && !process_->ended()->lack.empty() && !std::exchange(lacks_, true))
    why_ = process_->ended()->lack;
  if (lacks_) {
    process_.reset();
    query_ = nullptr;
    state_ = State::down;
    throw Error(ErrorKind::storage, why_);
  }
  if (process_ && !started_again_ && (late_ || (unheard_ && process_->ended()->good()))) {
    // It may end while it is idle, and may have done so before it heard of the query.
    started_again_ = true;
    by_itself_ = unheard_ = late_ = false;
    outcome_ = {};
    outcome_.answer.attempts = attempt_;
    process_.reset();
    start();
    return std::nullopt;
  }
  if (process_ && options_.launched) judge_launcher();
  std::string& reason = outcome_.answer.reason = why_;
  if (process_ && by_itself_) {
    const Ending ending = *process_->ended();
    if (ending.start_error != 0)
      reason = fmt::format("the worker did not come up: it {}", ending.text());
    else
      reason += fmt::format(
          " ({}{})", ending.text(),
          outcome_.lost && ending.good() ? "; does it call stap_solver.serve(step)?" : "");
  }
  if (const std::string words = last_words(options_.folder / "log.txt"); !words.empty())
    reason += fmt::format("; last words of its log: {}", words);
  process_.reset();
  query_ = nullptr;
  state_ = State::down;
  return std::move(outcome_);
}

void WorkerSlot::end(const std::string& why) {
  if (state_ == State::ending && lacks_) {
    end_at_ = std::min(end_at_, Clock::now());
  } else if (state_ == State::ending) {
    why_ = fmt::format("{} ({})", why, why_);  // it was failing already
    unheard_ = late_ = hung_up_ = false;
    end_at_ = std::min(end_at_, Clock::now());
    outcome_.lost = outcome_.worth_a_retry = outcome_.not_begun = false;
  } else if (state_ == State::starting || state_ == State::asking) {
    fail(why, false);
    why_ = why;
    outcome_.lost = false;
    outcome_.answer.attempts = attempt_;
  }
}

void WorkerSlot::watch(std::vector<pollfd>& descriptors) const {
  if (process_ && query_ != nullptr) descriptors.push_back({process_->descriptor(), POLLIN, 0});
  if (connection_ && !connection_->closed() && query_ != nullptr)
    descriptors.push_back(connection_->wanted());
  if (listener_) descriptors.push_back({listener_->descriptor(), POLLIN, 0});
  for (const auto& caller : callers_) descriptors.push_back(caller->wanted());
}

Slot::Clock::time_point WorkerSlot::due() const {
  return std::min(process_ ? process_->due() : Clock::time_point::max(), due_by_state());
}

Slot::Clock::time_point WorkerSlot::due_by_state() const {
  switch (state_) {
    case State::starting:
      if (options_.limits.start > 0) return later(started_, options_.limits.start);
      break;
    case State::asking:
      if (hello_.heartbeat > 0)
        return later(sign_, std::max(2 * hello_.heartbeat, options_.limits.silence));
      break;
    case State::idle:
      if (query_ != nullptr) return Clock::time_point();
      break;
    case State::ending:
      return process_ ? end_at_ : Clock::time_point();
    case State::down:
      break;
  }
  return Clock::time_point::max();
}

bool WorkerSlot::let_go() {
  if (!process_ || process_->ended()) return true;
  if (state_ == State::idle) {
    connection_->send(frame_bytes({FrameType::end, 0, {}}));
    connection_->go_on();
    connection_.reset();
    state_ = State::ending;
    end_at_ = Clock::now() + kMoment;
  } else if (Clock::now() >= end_at_) {
    process_->end();
    end_at_ = Clock::time_point::max();
  }
  return false;
}

std::string WorkerSlot::where() const {
  return process_ ? fmt::format("process {}", process_->warden()) : "no process";
}

}  // namespace stap
