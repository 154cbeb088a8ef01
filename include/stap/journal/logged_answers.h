#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "stap/core/answer_record.h"
#include "stap/journal/answer_store.h"

namespace stap {

/// The answers of one acquisition by (candidate, step); of two of the same the last counts. States
/// are read when they are asked for.
class LoggedAnswers {
 public:
  std::size_t count() const { return entries_.size(); }
  bool contains(std::size_t candidate, std::size_t step) const {
    return entries_.contains({candidate, step});
  }
  /// Of all, in order.
  std::vector<AnswerKey> keys() const {
    std::vector<AnswerKey> all;
    for (const auto& [key, entry] : entries_) all.push_back(key);
    return all;
  }
  /// Throws Error(data), with file and place, if its state is damaged.
  std::optional<AnswerRecord> find(std::size_t candidate, std::size_t step) const;
  /// Those that are not ok, in order.
  const std::vector<AnswerKey>& in_vain() const { return in_vain_; }

 private:
  friend class AnswerLog;
  struct Entry {
    AnswerRecord answer;  // without its state
    StatePlace place{};
  };
  std::map<AnswerKey, Entry> entries_;
  std::vector<AnswerKey> in_vain_;
  std::shared_ptr<const AnswerStore> store_;
};

}  // namespace stap
