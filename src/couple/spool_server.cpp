#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "couple/query_picker.h"
#include "couple/query_times.h"
#include "couple/served_problem.h"
#include "couple/spool_format.h"
#include "couple/spool_life.h"
#include "stap/core/error.h"
#include "stap/core/stop.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;
using Seconds = std::chrono::duration<double>;
using std::chrono::milliseconds;

constexpr milliseconds kGiveBack{5000};  // before a deadline

class Server {
 public:
  Server(const ServeOptions& options, Observer& observer, const StopAsked& stop)
      : options_(options),
        observer_(observer),
        stop_(stop),
        served_{.name = signs_.name()},
        picker_(served_.name),
        slots_(std::max<std::size_t>(options.slots, 1)) {}

  Served run() {
    while (!folder_ && !over())
      if (!(folder_ = SpoolFolder::open(options_.folder, whose())))
        std::this_thread::sleep_for(kPatience);
    if (folder_) {
      try {
        while (!over()) turn();
      } catch (...) {
        close();
        throw;
      }
      close();
    }
    served_.seconds = Seconds(Clock::now() - begun_).count();
    return served_;
  }

 private:
  struct Task {
    std::string key;
    ServedProblem* problem;
    std::size_t steps;
    Clock::time_point begun;
  };
  using Tasks = std::unordered_map<std::uint64_t, Task>;

  Whose whose() const { return options_.trust_folder ? Whose::anyones : Whose::ours; }

  // Whether to end; that nothing new should begin is noted on the way.
  bool over() {
    const auto now = Clock::now();
    const bool empty = tasks_.empty() && unwritten_.empty();
    const auto ends = [&](Served::End end) { return served_.end = end, true; };
    if (stop_ && stop_()) {
      closing_ = true;
      if (stop_.now() || empty) return ends(Served::End::stopped);
    }
    if (now >= end() || (late_ && empty)) return ends(Served::End::time);
    if (!empty) active_ = now;
    return options_.idle > 0 && now - active_ >= ticks(options_.idle) && ends(Served::End::idle);
  }

  // When what is not finished is given back.
  Clock::time_point end() const {
    const auto own = ticks(options_.seconds > 0 ? options_.seconds : 1e9);
    return std::min(begun_ + own, stop_.deadline().value_or(begun_ + own + kGiveBack) - kGiveBack);
  }

  void turn() {
    if (Clock::now() >= beat_due_) look_around();
    write_answers();
    if (!closing_ && !late_) fetch();
    auto until = std::min(Clock::now() + kPatience, beat_due_);
    if (!closing_ && !late_ && free_slots() > 0) until = std::min(until, picker_.due());
    collect(until);
  }

  std::size_t free_slots() const {
    const std::size_t used = tasks_.size() + unwritten_.size();
    return used < slots_ ? slots_ - used : 0;
  }

  // A sign of life; what is ours no longer, or without our knowing; other settings.
  void look_around() {
    beat_due_ = Clock::now() + ticks(beat_of(silence_).count());
    signs_.give(folder_->server(served_.name),
                fmt::format(R"("slots": {}, "running": {}, "answered": {}, "failed": {})", slots_,
                            tasks_.size(), served_.answered, served_.failed),
                silence_);
    served_.in_vain += std::erase_if(tasks_, [&](const auto& task) {
      if (is_there(folder_->claim(task.second.key, served_.name))) return false;
      task.second.problem->queue().give_back(task.first);
      return true;
    });
    for (const auto& [id, problem] : problems_)
      if (problem->changed(*folder_)) renew_.insert(id);
    if (Clock::now() < claims_due_) return;
    claims_due_ = Clock::now() + ticks(silence_ / 2);
    for (const auto& [key, server] : claims_in(*folder_))
      if (server == served_.name && !has(key)) begin(key);
  }

  bool has(const std::string& key) const {
    return std::ranges::any_of(tasks_, [&](const auto& one) { return one.second.key == key; }) ||
           std::ranges::any_of(unwritten_, [&](const auto& one) { return one.first == key; });
  }

  // Null if it cannot be begun now: what runs is finished as it was begun.
  ServedProblem* problem_of(const std::string& key) {
    const std::string id = key.substr(0, kProblemDigits);
    const auto known = problems_.find(id);
    if (known != problems_.end() && !renew_.contains(id)) return known->second.get();
    if (known != problems_.end()) {
      for (const auto& [number, task] : tasks_)
        if (task.problem == known->second.get()) return nullptr;
      problems_.erase(known);
      renew_.erase(id);
    }
    std::string flaw;
    auto opened = ServedProblem::open(*folder_, id, options_, flaw);
    if (!flaw.empty() && flawed_.insert(id).second)
      observer_.warning(fmt::format("{}; its queries wait until the run writes it again", flaw));
    if (!opened) return nullptr;
    flawed_.erase(id);
    const auto& problem = problems_.emplace(id, std::move(opened)).first->second;
    slots_ = problem->slots();
    silence_ = problem->silence();
    observer_.note(
        fmt::format("serving {} in {}, {} as {}", problem->outline().name, folder_->path().string(),
                    slots_ == 1 ? "1 slot" : fmt::format("{} slots", slots_), served_.name));
    beat_due_ = {};
    return problem.get();
  }

  void fetch() {
    while (free_slots() > 0 && !late_) {
      const std::optional<std::string> key = picker_.next(*folder_, slots_);
      if (!key) return;
      ServedProblem* problem = problem_of(*key);
      if (problem == nullptr || too_late(*problem, 1)) continue;
      const bool ours = move_file(folder_->query(*key), folder_->claim(*key, served_.name));
      picker_.fetched(ours);
      if (ours) begin(*key);
    }
  }

  bool too_late(const ServedProblem& problem, std::size_t steps) {
    const std::optional<double> usual = problem.times.usual(steps);
    return late_ = late_ || (usual && end() - Clock::now() < ticks(*usual));
  }

  // What we have claimed.
  void begin(const std::string& key) {
    ServedProblem* problem = problem_of(key);
    const std::filesystem::path claim = folder_->claim(key, served_.name);
    if (problem == nullptr) return give_back(key);
    Query query;
    const auto bytes = bytes_of(claim, query_bytes_most(problem->outline()));
    if (!bytes && !is_there(claim)) return;  // withdrawn, or a listing was old
    const std::string flaw =
        bytes ? read_query(*bytes, key, problem->outline(), query) : "it cannot be read";
    if (!flaw.empty()) {
      observer_.warning(fmt::format("the query {} is left to be asked again: {}", key, flaw));
      remove_file(claim);
      return;
    }
    if (too_late(*problem, query.steps)) return give_back(key);
    query.id = ++ids_;
    tasks_.emplace(query.id, Task{key, problem, query.steps, Clock::now()});
    problem->queue().submit(std::move(query));
  }

  void give_back(const std::string& key) {
    move_file(folder_->claim(key, served_.name), folder_->query(key));
    ++served_.given_back;
  }

  // Waits for answers until then.
  void collect(Clock::time_point until) {
    std::vector<ServedProblem*> busy;
    for (const auto& [id, problem] : problems_)
      if (problem->queue().open() > 0) busy.push_back(problem.get());
    if (busy.empty()) return std::this_thread::sleep_until(until);
    const auto share = (until - Clock::now()) / static_cast<int>(busy.size());
    for (ServedProblem* problem : busy)
      for (auto wait = Clock::now() + std::max(share, Clock::duration(milliseconds(1)));
           problem->queue().open() > 0; wait = Clock::now()) {
        std::optional<Reply> reply = problem->queue().next(wait);
        if (!reply) break;
        finish(*std::move(reply));
        if (!problem->queue().ready()) break;
      }
  }

  void finish(Reply reply) {
    const auto found = tasks_.find(reply.id);
    if (found == tasks_.end()) return;
    const Task task = std::move(found->second);
    tasks_.erase(found);
    Answer& answer = reply.answer;
    served_.busy_seconds += Seconds(Clock::now() - task.begun).count();
    if (answer.status == Answer::Status::ok) {
      task.problem->times.add(answer.seconds, task.steps);
      task.problem->breaker.add_good();
    } else {
      ++served_.failed;
      task.problem->breaker.add({.reason = answer.reason});
      answer.reason += fmt::format(" (server {})", served_.name);
    }
    unwritten_.emplace_back(task.key, answer_bytes(task.key, answer));
    write_answers();
    if (task.problem->breaker.tripped())
      throw Error(ErrorKind::solver,
                  fmt::format("{}: {}, so this server ends: {}", task.problem->outline().name,
                              task.problem->breaker.verdict(), answer.reason));
  }

  // An answer is paid for: where it cannot be written it waits.
  void write_answers(bool last = false) {
    while (!unwritten_.empty() && (last || Clock::now() >= write_due_)) {
      const auto& [key, bytes] = unwritten_.front();
      const std::filesystem::path claim = folder_->claim(key, served_.name);
      if (is_there(claim) || move_file(folder_->query(key), claim)) {
        try {
          folder_->put(folder_->answer(key), bytes, served_.name, true);
        } catch (const Error& error) {
          if (last) throw;
          observer_.warning(fmt::format("an answer waits: {}", error.what()));
          write_due_ = Clock::now() + std::chrono::seconds(1);
          return;
        }
        remove_file(claim);
        ++served_.answered;
      } else {
        ++served_.in_vain;  // others have it, or nobody wants it any more
      }
      unwritten_.pop_front();
      show();
    }
  }

  void show() {
    const std::size_t known = served_.answered + tasks_.size() + picker_.waiting();
    observer_.progress(
        {.phase = "serving", .done = served_.answered, .total = known, .unit = "queries"});
  }

  // First others get what we cannot finish, then what runs here is ended.
  void close() {
    for (const auto& [id, task] : tasks_) give_back(task.key);
    tasks_.clear();
    try {
      write_answers(true);
    } catch (const Error&) {
      for (const auto& [key, bytes] : unwritten_) give_back(key);
    }
    problems_.clear();
    remove_file(folder_->server(served_.name));
    remove_file(folder_->folder("aside") / served_.name);
  }

  const ServeOptions& options_;
  Observer& observer_;
  const StopAsked& stop_;
  double silence_ = 60.0;
  ServerSigns signs_{silence_};
  Served served_;
  QueryPicker picker_;
  std::optional<SpoolFolder> folder_;
  std::map<std::string, std::unique_ptr<ServedProblem>> problems_;  // by id
  std::set<std::string> renew_, flawed_;                            // their file: changed, damaged
  Tasks tasks_;                                                     // by the id of the query here
  std::deque<std::pair<std::string, std::vector<std::byte>>> unwritten_;  // answers, by key
  std::size_t slots_;
  std::uint64_t ids_ = 0;
  bool closing_ = false, late_ = false;
  Clock::time_point begun_ = Clock::now(), active_ = Clock::now(), beat_due_{}, claims_due_{},
                    write_due_{};
};

}  // namespace

Served serve(const ServeOptions& options, Observer& observer, const StopAsked& stop) {
  check_settings(options);
  return Server(options, observer, stop).run();
}

}  // namespace stap
