#include "couple/slot_queue.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>
#include <exception>
#include <thread>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "couple/query_times.h"
#include "couple/query_tries.h"
#include "couple/shortage.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;
using Seconds = std::chrono::duration<double>;

// A slot may have a clock of its own (a worker that is silent), so it is looked at in between.
constexpr std::chrono::seconds kLookAtAll{1};
constexpr std::chrono::milliseconds kLetGo{2};       // between two looks at what is ending
constexpr std::chrono::milliseconds kUnwatched{10};  // where nothing can be waited for

class SlotQueue final : public SolverQueue {
 public:
  SlotQueue(SlotRules rules, std::function<std::unique_ptr<Slot>(std::size_t)> make_slot)
      : rules_(std::move(rules)),
        make_slot_(std::move(make_slot)),
        times_(rules_.limits, rules_.grace) {}

  // What runs is ended, and waited for as long as that may take, so that its folders can go; so is
  // what stays between queries.
  ~SlotQueue() override {
    for (Place& place : places_) give_up(place);
    waiting_.clear();
    jobs_.clear();
    const auto until = Clock::now() + ticks(rules_.grace + kTidyUp);
    while (busy_ > 0 && Clock::now() < until) pump(until);
    const auto is_gone = [](Place& place) { return place.busy || place.slot->let_go(); };
    while (Clock::now() < until)
      if (std::erase_if(places_, is_gone); places_.empty())
        break;
      else
        std::this_thread::sleep_for(kLetGo);
  }

  void submit(Query query) override {
    const std::uint64_t id = query.id;
    waiting_.push_back(id);
    jobs_.insert_or_assign(id, Job{std::make_unique<Query>(std::move(query))});
    begin_what_can();
  }

  std::size_t open() const override { return jobs_.size() + replies_.size(); }
  Outlook outlook() const override {
    if (!replies_.empty()) return Outlook::ready;
    const auto runs = [](const Place& place) { return place.id.has_value(); };
    return first_to_begin() == waiting_.end() && std::ranges::none_of(places_, runs)
               ? Outlook::never
               : Outlook::later;
  }

  std::optional<Reply> next(Clock::time_point until) override {
    for (;;) {
      begin_what_can();
      if (replies_.empty()) pump(broken_ ? Clock::now() : until);
      if (replies_.empty() && broken_) std::rethrow_exception(std::exchange(broken_, nullptr));
      if (!replies_.empty()) {
        Reply reply = std::move(replies_.front());
        replies_.pop_front();
        return reply;
      }
      if (Clock::now() >= until) return std::nullopt;
    }
  }

  bool give_back(std::uint64_t id) override {
    if (!jobs_.contains(id)) return false;
    std::erase(waiting_, id);
    for (Place& place : places_)
      if (place.id == id) give_up(place);
    jobs_.erase(id);
    return true;
  }

  void close(const Closing& closing) override {
    held_ = held_ || closing.hold;
    times_.close(closing);
  }

  std::vector<Running> running() const override {
    std::vector<Running> list;
    for (std::size_t s = 0; s < places_.size(); ++s)
      if (places_[s].id)
        list.push_back({*places_[s].id, Seconds(Clock::now() - places_[s].begun).count(),
                        fmt::format("slot {}, {}", s, places_[s].slot->where())});
    return list;
  }

 private:
  using Waiting = std::deque<std::uint64_t>;
  struct Job {
    std::unique_ptr<Query> query;
    QueryTries tries{};
  };
  struct Place {
    std::unique_ptr<Slot> slot;
    bool busy = false;
    bool ending = false;
    std::optional<std::uint64_t> id{};   // of the query; none: given up, or free
    std::unique_ptr<Query> abandoned{};  // which its slot may still look at
    Clock::time_point begun{}, rest_until{};
    double rest = 0.0;  // seconds of the last one
  };

  Place* free_place() {
    const auto now = Clock::now();
    for (Place& place : places_)
      if (!place.busy && place.rest_until <= now) return &place;
    if (places_.size() >= rules_.slots) return nullptr;
    std::unique_ptr<Slot> slot = make_slot_(places_.size());  // which may throw
    Place& place = places_.emplace_back();
    place.slot = std::move(slot);
    return &place;
  }

  // The first that waits and would be answered in time.
  Waiting::const_iterator first_to_begin() const {
    if (held_) return waiting_.end();
    return std::ranges::find_if(
        waiting_, [&](std::uint64_t id) { return times_.in_time(*jobs_.at(id).query); });
  }

  void begin_what_can() {
    while (busy_ < rules_.slots && !broken_) {
      const auto first = first_to_begin();
      Place* place = nullptr;
      try {
        if (first != waiting_.end()) place = free_place();
        if (place == nullptr) return;
        begin(*place, first);
      } catch (...) {
        bear(place);
      }
    }
  }

  // What was thrown is told later, unless it may pass.
  void bear(Place* place) {
    try {
      if (place == nullptr) throw;
      place->rest = shortage_.bear(busy_ > 0, place->rest);
      place->rest_until = Clock::now() + ticks(place->rest);
    } catch (...) {
      broken_ = std::current_exception();
    }
  }

  void begin(Place& place, Waiting::const_iterator first) {
    const std::uint64_t id = *first;
    Job& job = jobs_.at(id);
    place.begun = Clock::now();
    place.slot->begin(*job.query, job.tries.count() + 1);
    job.tries.begin();
    waiting_.erase(first);
    place.busy = true;
    place.ending = false;
    place.id = id;
    ++busy_;
  }

  // Has the place no use, its query waits again, unless nobody wants it any more.
  std::optional<Outcome> look_at(Place& place) {
    try {
      return place.slot->look();
    } catch (...) {
      place.busy = false;
      --busy_;
      place.abandoned.reset();
      if (const auto id = std::exchange(place.id, std::nullopt)) {
        jobs_.at(*id).tries.take_back();
        waiting_.push_front(*id);
        bear(&place);
      }
    }
    return std::nullopt;
  }

  void give_up(Place& place) {
    if (!place.busy || !place.id) return;
    const auto job = jobs_.find(*place.id);
    if (job != jobs_.end()) place.abandoned = std::move(job->second.query);
    place.id.reset();
    if (!std::exchange(place.ending, true)) place.slot->end(kNotWanted);
  }

  // Waits for something to happen until then, and takes what has.
  void pump(Clock::time_point until) {
    const bool end = Clock::now() >= times_.back_by();
    for (Place& place : places_)
      if (end) give_up(place);
    std::vector<pollfd> descriptors;
    std::vector<std::pair<std::size_t, std::size_t>> owners;  // place, end of its descriptors
    const bool more = first_to_begin() != waiting_.end();
    auto wake = end ? until : std::min(until, times_.back_by());
    for (std::size_t s = 0; s < places_.size(); ++s) {
      Place& place = places_[s];
      if (!place.busy) {
        if (more) wake = std::min(wake, std::max(place.rest_until, Clock::now()));
        continue;
      }
      place.slot->watch(descriptors);
      owners.emplace_back(s, descriptors.size());
      wake = std::min(wake, place.slot->due());
      if (place.id && !place.ending && !place.slot->getting_ready())
        if (const double most = times_.limit(jobs_.at(*place.id).query->steps); most > 0)
          wake = std::min(wake, place.begun + ticks(most));
    }
    const auto now = Clock::now();
    wake = std::clamp(wake, now, now + kLookAtAll);  // any time point there is may have been given
    const double left = Seconds(wake - now).count();
    const int told =
        poll(descriptors.data(), descriptors.size(), static_cast<int>(std::ceil(left * 1000)));
    const bool unwatched = told < 0 && errno != EINTR;
    if (unwatched) std::this_thread::sleep_for(kUnwatched);
    const bool all = unwatched || Clock::now() - looked_ >= kLookAtAll;
    if (all) looked_ = Clock::now();
    std::size_t from = 0;
    for (const auto& [s, to] : owners) {
      const bool moved = std::any_of(descriptors.begin() + static_cast<std::ptrdiff_t>(from),
                                     descriptors.begin() + static_cast<std::ptrdiff_t>(to),
                                     [](const pollfd& d) { return d.revents != 0; });
      from = to;
      Place& place = places_[s];
      // A time limit is for the query, not for getting ready.
      const bool got_ready = place.slot->getting_ready();
      if (moved || all || place.slot->due() <= Clock::now())
        if (auto outcome = look_at(place)) take(place, *std::move(outcome));
      if (got_ready) place.begun = Clock::now();
      check_time(place);
    }
  }

  void check_time(Place& place) {
    if (!place.busy || !place.id || place.ending || place.slot->getting_ready()) return;
    const double most = times_.limit(jobs_.at(*place.id).query->steps);
    const double taken = Seconds(Clock::now() - place.begun).count();
    if (most <= 0 || taken < most) return;
    place.ending = true;
    place.slot->end(times_.verdict(taken));
  }

  void take(Place& place, Outcome outcome) {
    shortage_.over();
    place.busy = false;
    --busy_;
    place.abandoned.reset();
    if (!place.id) return;
    const std::uint64_t id = *std::exchange(place.id, std::nullopt);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    Job& job = found->second;
    const auto next = job.tries.judge(outcome, place.ending, rules_, place.rest);
    if (next == QueryTries::Next::front) {
      place.rest_until = Clock::now() + ticks(place.rest);
      waiting_.push_front(id);
    } else if (next == QueryTries::Next::behind) {
      waiting_.push_back(id);
    }
    if (next != QueryTries::Next::reply) return;
    Answer& answer = outcome.answer;
    answer.attempts = std::max(job.tries.count(), 1);
    if (answer.status == Answer::Status::ok) times_.add(answer.seconds, job.query->steps);
    replies_.push_back({id, std::move(answer)});
    jobs_.erase(found);
  }

  SlotRules rules_;
  std::function<std::unique_ptr<Slot>(std::size_t)> make_slot_;
  std::vector<Place> places_;
  std::unordered_map<std::uint64_t, Job> jobs_;  // without a reply
  Waiting waiting_;
  std::deque<Reply> replies_;
  QueryTimes times_;
  std::size_t busy_ = 0;
  bool held_ = false;
  Shortage shortage_{};
  std::exception_ptr broken_{};  // what a slot threw: nothing begins until it is told
  Clock::time_point looked_{};   // at all slots
};

}  // namespace

std::unique_ptr<SolverQueue> make_slot_queue(
    SlotRules rules, std::function<std::unique_ptr<Slot>(std::size_t slot)> make_slot) {
  allow_descriptors(rules.slots);
  return std::make_unique<SlotQueue>(std::move(rules), std::move(make_slot));
}

}  // namespace stap
