#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stap/journal/answer_store.h"

namespace stap {

/// One answer of the solver to one step, as it is kept.
struct LoggedAnswer {
  std::size_t candidate = 0, step = 0;
  std::string status{};  ///< "ok", "refused" or "failed"
  std::string reason{};
  std::vector<double> state{};  ///< empty unless ok
  double seconds = 0.0;
  int attempts = 0;
  std::uint64_t input_hash = 0;  ///< of the state that was asked about; 0: not known

  bool operator==(const LoggedAnswer&) const = default;
};

/// Which answer of an acquisition.
struct AnswerKey {
  std::size_t candidate = 0, step = 0;

  auto operator<=>(const AnswerKey&) const = default;
};

/// The answers of one acquisition by (candidate, step); of two of the same the last counts. States
/// are read when they are asked for.
class LoggedAnswers {
 public:
  std::size_t count() const { return entries_.size(); }
  bool contains(std::size_t candidate, std::size_t step) const {
    return entries_.contains({candidate, step});
  }
  /// Of all, in order.
  std::vector<AnswerKey> keys() const;
  /// Throws Error(data), with file and place, if its state is damaged.
  std::optional<LoggedAnswer> find(std::size_t candidate, std::size_t step) const;
  /// Those that are not ok, in order.
  const std::vector<AnswerKey>& in_vain() const { return in_vain_; }

 private:
  friend class AnswerLog;
  struct Entry {
    LoggedAnswer answer;  // without its state
    StatePlace place{};
  };
  std::map<AnswerKey, Entry> entries_;
  std::vector<AnswerKey> in_vain_;
  std::shared_ptr<const AnswerStore> store_;
};

}  // namespace stap
