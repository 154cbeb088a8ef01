#include "couple/spool_queue.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "couple/spool_format.h"
#include "couple/spool_session.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using Clock = SolverQueue::Clock;
using Keys = std::vector<std::string>;

// One for all queues of this process in a folder. Throws what SpoolFolder::make does.
std::shared_ptr<SpoolSession> session_of(const std::filesystem::path& path, double silence) {
  static std::mutex registry;
  static std::map<std::filesystem::path, std::weak_ptr<SpoolSession>> sessions;
  SpoolFolder folder = SpoolFolder::make(path);
  const std::lock_guard lock(registry);
  std::weak_ptr<SpoolSession>& known = sessions[std::filesystem::canonical(path)];
  std::shared_ptr<SpoolSession> session = known.lock();
  if (!session) known = session = std::make_shared<SpoolSession>(std::move(folder), silence);
  return session;
}

// Ids are the caller's. A query may be asked in parts, one behind the other, under one id: answers
// of parts stay until the whole is recorded.
class SpoolQueue final : public SolverQueue, private SpoolAsker {
 public:
  SpoolQueue(const std::filesystem::path& folder, double silence, SpoolProblem problem)
      : session_(session_of(folder, silence)), problem_(problem_id(problem.outline)) {
    const std::lock_guard lock(session_->mutex);
    session_->add(problem_, std::move(problem));
  }

  // What was handed out may not be in a journal if an exception ended this.
  ~SpoolQueue() override {
    const bool stays = std::uncaught_exceptions() > exceptions_;
    const std::lock_guard lock(session_->mutex);
    for (const auto& [id, open] : open_) {
      session_->leave(*this, id, open.key, false);
      for (const std::string& key : open.before) session_->release(key, true);
    }
    for (const Ready& ready : replies_)
      for (const std::string& key : ready.keys) session_->release(key, true);
    for (const auto& [id, keys] : given_)
      for (const std::string& key : keys) session_->release(key, stays);
  }

  void submit(Query query) override {
    const std::lock_guard lock(session_->mutex);
    const std::uint64_t id = query.id;
    Open open{spool_key(problem_, query), {}};
    if (const auto part = given_.find(id); part != given_.end()) {
      open.before = std::move(part->second);
      given_.erase(part);
    }
    session_->ask(*this, id, open.key, query);
    open_.insert_or_assign(id, std::move(open));
  }

  std::size_t open() const override { return open_.size() + replies_.size(); }
  Outlook outlook() const override { return replies_.empty() ? Outlook::later : Outlook::ready; }

  std::optional<Reply> next(Clock::time_point until) override {
    for (;;) {
      Clock::time_point wake;
      {
        const std::lock_guard lock(session_->mutex);
        if (replies_.empty()) session_->look();
        if (!replies_.empty()) {
          Ready ready = std::move(replies_.front());
          replies_.pop_front();
          given_.insert_or_assign(ready.reply.id, std::move(ready.keys));
          return std::move(ready.reply);
        }
        wake = session_->due();
      }
      if (Clock::now() >= until) return std::nullopt;
      std::this_thread::sleep_until(std::min(until, wake));
    }
  }

  bool give_back(std::uint64_t id) override {
    const std::lock_guard lock(session_->mutex);
    const auto found = open_.find(id);
    if (found == open_.end()) return false;
    session_->leave(*this, id, found->second.key, true);
    for (const std::string& key : found->second.before) session_->release(key, false);
    open_.erase(found);
    return true;
  }

  // What servers work on needs nobody who waits: the next process takes it.
  void close(const Closing& closing) override {
    if (!closing.hold) return;
    const std::lock_guard lock(session_->mutex);
    held_ = true;
    session_->withdraw();
  }

  void recorded() override {
    const std::lock_guard lock(session_->mutex);
    for (const auto& [id, keys] : given_)
      for (const std::string& key : keys) session_->release(key, false);
    given_.clear();
  }

  std::vector<Running> running() const override {
    std::vector<Running> list;
    if (held_) return list;
    const std::lock_guard lock(session_->mutex);
    for (const auto& [id, open] : open_)
      if (const auto place = session_->place(open.key))
        list.push_back({id, place->seconds, fmt::format("server {}", place->server)});
    return list;
  }

 private:
  struct Open {
    std::string key;
    Keys before;  // answers of earlier parts
  };
  struct Ready {
    Reply reply;
    Keys keys;
  };

  bool held() const override { return held_; }

  void take(std::uint64_t id, const std::string& key, const Answer& answer) override {
    const auto found = open_.find(id);
    Keys keys = std::move(found->second.before);
    keys.push_back(key);
    open_.erase(found);
    replies_.push_back({{id, answer}, std::move(keys)});
  }

  std::shared_ptr<SpoolSession> session_;
  std::string problem_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::deque<Ready> replies_;
  std::unordered_map<std::uint64_t, Keys> given_;  // answers that were handed out, not recorded
  bool held_ = false;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

std::unique_ptr<SolverQueue> make_spool_queue(const std::filesystem::path& folder, double silence,
                                              SpoolProblem problem) {
  if (problem.recipe.find("solver") == nullptr)
    throw Error(ErrorKind::config,
                fmt::format("spool is {}, but how servers are to make the solver is not said: the "
                            "recipe of its context must have the section solver",
                            folder.string()));
  return std::make_unique<SpoolQueue>(folder, silence, std::move(problem));
}

}  // namespace stap
