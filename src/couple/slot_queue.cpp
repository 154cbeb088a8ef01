#include "couple/slot_queue.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <thread>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kAnswersForLimit = 8;  // before them nobody knows what is slow
constexpr std::size_t kRecent = 101;         // answers whose median counts
constexpr int kLostMost = 3;
constexpr Seconds kRestAfterLoss{0.2};  // times the number of losses
// A slot may have a clock of its own (a worker that is silent), so it is looked at in between.
constexpr std::chrono::seconds kLookAtAll{1};

constexpr std::chrono::milliseconds kLetGo{2};  // between two looks at what is ending

Clock::duration ticks(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(Seconds(std::min(seconds, 1e9)));
}

// Every slot has a few sockets open, and many systems allow 1024 unless they are asked for more.
void allow_descriptors(std::size_t slots) {
  const rlim_t wanted = 4 * static_cast<rlim_t>(slots) + 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

class SlotQueue final : public SolverQueue {
 public:
  SlotQueue(SlotRules rules, std::function<std::unique_ptr<Slot>(std::size_t)> make_slot)
      : rules_(std::move(rules)), make_slot_(std::move(make_slot)) {}

  // What runs is ended, and waited for as long as that may take, so that its folders can go; so is
  // what stays between queries.
  ~SlotQueue() override {
    cancel();
    const auto until = Clock::now() + ticks(rules_.grace + 2.0);
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
  bool ready() const override { return !replies_.empty(); }

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

  void cancel() override {
    waiting_.clear();
    for (Place& place : places_) give_up(place);
    jobs_.clear();
    replies_.clear();
  }

  bool give_back(std::uint64_t id) override {
    if (!jobs_.contains(id)) return false;
    std::erase(waiting_, id);
    for (Place& place : places_)
      if (place.id == id) give_up(place);
    jobs_.erase(id);
    return true;
  }

  void hold() override { held_ = true; }

  std::vector<Running> running() const override {
    std::vector<Running> list;
    for (std::size_t s = 0; s < places_.size(); ++s)
      if (places_[s].id)
        list.push_back({*places_[s].id, Seconds(Clock::now() - places_[s].begun).count(),
                        fmt::format("slot {}, {}", s, places_[s].slot->where())});
    return list;
  }

 private:
  struct Job {
    std::unique_ptr<Query> query;
    int tries = 0, losses = 0;
  };
  struct Place {
    std::unique_ptr<Slot> slot;
    bool busy = false;
    bool ending = false;
    std::optional<std::uint64_t> id{};   // of the query; none: given up, or free
    std::unique_ptr<Query> abandoned{};  // which its slot may still look at
    Clock::time_point begun{}, rest_until{};
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

  void begin_what_can() {
    while (!held_ && !waiting_.empty() && !broken_) try {
        Place* place = busy_ < rules_.slots ? free_place() : nullptr;
        if (place == nullptr) return;
        begin(*place);
      } catch (...) {
        broken_ = std::current_exception();
      }
  }

  void begin(Place& place) {
    const std::uint64_t id = waiting_.front();
    Job& job = jobs_.at(id);
    place.begun = Clock::now();
    place.slot->begin(*job.query, job.tries + 1);
    ++job.tries;
    waiting_.pop_front();
    place.busy = true;
    place.ending = false;
    place.id = id;
    ++busy_;
  }

  // Has the place no use, its query waits again.
  std::optional<Outcome> look_at(Place& place) {
    try {
      return place.slot->look();
    } catch (...) {
      broken_ = std::current_exception();
    }
    place.busy = false;
    --busy_;
    place.abandoned.reset();
    if (const auto id = std::exchange(place.id, std::nullopt)) {
      --jobs_.at(*id).tries;
      waiting_.push_front(*id);
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

  // Seconds that a query of so many steps may take; 0: any.
  double limit(std::size_t steps) const {
    const SolverLimits& limits = rules_.limits;
    if (limits.seconds > 0) return limits.seconds;
    if (known_ < kAnswersForLimit || limits.factor <= 0) return 0.0;
    return std::max(limits.least, limits.factor * median_ * static_cast<double>(steps));
  }

  void count(double seconds_of_a_step) {
    ++known_;
    recent_.push_back(seconds_of_a_step);
    if (recent_.size() > kRecent) recent_.pop_front();
    std::vector<double> sorted(recent_.begin(), recent_.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    median_ = *middle;
  }

  // Waits for something to happen until then, and takes what has.
  void pump(Clock::time_point until) {
    std::vector<pollfd> descriptors;
    std::vector<std::pair<std::size_t, std::size_t>> owners;  // place, end of its descriptors
    auto wake = until;
    for (std::size_t s = 0; s < places_.size(); ++s) {
      Place& place = places_[s];
      if (!place.busy) {
        if (!waiting_.empty() && !held_)
          wake = std::min(wake, std::max(place.rest_until, Clock::now()));
        continue;
      }
      place.slot->watch(descriptors);
      owners.emplace_back(s, descriptors.size());
      wake = std::min(wake, place.slot->due());
      if (place.id && !place.ending && !place.slot->getting_ready())
        if (const double most = limit(jobs_.at(*place.id).query->steps); most > 0)
          wake = std::min(wake, place.begun + ticks(most));
    }
    const auto now = Clock::now();
    wake = std::clamp(wake, now, now + kLookAtAll);  // any time point there is may have been given
    const double left = Seconds(wake - now).count();
    poll(descriptors.data(), descriptors.size(), static_cast<int>(std::ceil(left * 1000)));
    const bool all = Clock::now() - looked_ >= kLookAtAll;
    if (all) looked_ = Clock::now();
    std::size_t from = 0;
    for (const auto& [s, end] : owners) {
      const bool moved = std::any_of(descriptors.begin() + static_cast<std::ptrdiff_t>(from),
                                     descriptors.begin() + static_cast<std::ptrdiff_t>(end),
                                     [](const pollfd& d) { return d.revents != 0; });
      from = end;
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
    const double most = limit(jobs_.at(*place.id).query->steps);
    const double taken = Seconds(Clock::now() - place.begun).count();
    if (most <= 0 || taken < most) return;
    place.ending = true;
    place.slot->end(rules_.limits.seconds > 0
                        ? fmt::format("ended after {:.3g} s, the time limit", taken)
                        : fmt::format("ended after {:.3g} s: {:g} times the median of {:.3g} s a "
                                      "step, and at least {:g} s, are the time limit",
                                      taken, rules_.limits.factor, median_, rules_.limits.least));
  }

  void take(Place& place, Outcome outcome) {
    place.busy = false;
    --busy_;
    place.abandoned.reset();
    if (!place.id) return;
    const std::uint64_t id = *std::exchange(place.id, std::nullopt);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    Job& job = found->second;
    const bool timed_out = place.ending;
    if (outcome.lost && !timed_out && ++job.losses < kLostMost) {
      --job.tries;
      place.rest_until = Clock::now() + ticks(kRestAfterLoss.count() * job.losses);
      waiting_.push_front(id);
      return;
    }
    Answer& answer = outcome.answer;
    const bool again = outcome.worth_a_retry || outcome.lost;
    if (answer.status == Answer::Status::failed && again && !timed_out &&
        job.tries <= static_cast<int>(rules_.retries)) {
      waiting_.push_back(id);
      return;
    }
    answer.attempts = std::max(job.tries, 1);
    if (answer.status == Answer::Status::ok)
      count(answer.seconds / static_cast<double>(job.query->steps));
    replies_.push_back({id, std::move(answer)});
    jobs_.erase(found);
  }

  SlotRules rules_;
  std::function<std::unique_ptr<Slot>(std::size_t)> make_slot_;
  std::vector<Place> places_;
  std::unordered_map<std::uint64_t, Job> jobs_;  // without a reply
  std::deque<std::uint64_t> waiting_;
  std::deque<Reply> replies_;
  std::deque<double> recent_;  // seconds of a step
  double median_ = 0.0;        // of them
  std::size_t known_ = 0, busy_ = 0;
  bool held_ = false;
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
