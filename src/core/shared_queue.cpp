#include "core/shared_queue.h"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/queue_around.h"
#include "stap/core/sha256.h"

namespace stap {
namespace {

// What makes two queries equal; long enough that others never are.
std::string key_of(const Query& query) {
  Sha256 sha256;
  const std::uint64_t steps = query.steps, values = query.state.size();
  sha256.add(std::as_bytes(std::span(&steps, 1)));
  sha256.add(std::as_bytes(std::span(&values, 1)));
  sha256.add(std::as_bytes(std::span(&query.time, 1)));
  sha256.add(std::as_bytes(std::span<const double>(query.state)));
  sha256.add(std::as_bytes(std::span<const double>(query.params)));
  return sha256.hex();
}

class SharedQueue final : public QueueAround {
 public:
  using QueueAround::QueueAround;

  void submit(Query query) override {
    std::string key = key_of(query);
    if (const auto same = by_key_.find(key); same != by_key_.end()) {
      asked_.at(same->second).ids.push_back(query.id);
      ++open_;
      return;
    }
    const std::uint64_t id = query.id;
    inner().submit(std::move(query));
    ++open_;
    by_key_.emplace(key, id);
    asked_.emplace(id, Asked{std::move(key), {id}});
  }

  std::size_t open() const override { return open_; }
  Outlook outlook() const override { return replies_.empty() ? inner().outlook() : Outlook::ready; }

  std::optional<Reply> next(Clock::time_point until) override {
    if (replies_.empty()) {
      std::optional<Reply> reply = inner().next(until);
      if (!reply) return std::nullopt;
      const auto asked = asked_.find(reply->id);
      for (const std::uint64_t id : asked->second.ids) replies_.push_back({id, reply->answer});
      by_key_.erase(asked->second.key);
      asked_.erase(asked);
    }
    Reply first = std::move(replies_.front());
    replies_.pop_front();
    --open_;
    return first;
  }

  bool give_back(std::uint64_t id) override {
    for (auto& [first, asked] : asked_) {
      const auto found = std::ranges::find(asked.ids, id);
      if (found == asked.ids.end()) continue;
      if (asked.ids.size() == 1 && !inner().give_back(first)) return false;
      asked.ids.erase(found);
      --open_;
      if (!asked.ids.empty()) return true;
      by_key_.erase(asked.key);
      asked_.erase(first);
      return true;
    }
    return false;
  }

  // Of an answer for several, those that nobody has taken yet are not.
  void recorded() override {
    if (replies_.empty()) inner().recorded();
  }

  std::vector<Running> running() const override {
    std::vector<Running> all;
    for (const Running& one : inner().running())
      if (const auto asked = asked_.find(one.id); asked != asked_.end())
        for (const std::uint64_t id : asked->second.ids)
          all.push_back({id, one.seconds, one.where});
    return all;
  }

 private:
  struct Asked {
    std::string key;
    std::vector<std::uint64_t> ids;  // of the queries it is for
  };

  std::unordered_map<std::string, std::uint64_t> by_key_;  // those that are open
  std::unordered_map<std::uint64_t, Asked> asked_;         // by the id of the first of them
  std::deque<Reply> replies_;
  std::size_t open_ = 0;
};

}  // namespace

std::unique_ptr<SolverQueue> make_shared_queue(std::unique_ptr<SolverQueue> inner) {
  return std::make_unique<SharedQueue>(std::move(inner));
}

}  // namespace stap
