#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stap/core/query.h"

namespace stap {

/// Which answer of an acquisition.
struct AnswerKey {
  std::size_t candidate = 0, step = 0;

  auto operator<=>(const AnswerKey&) const = default;
};

/// The answer to one step, as it is written down before it is used, and used instead of asking when
/// work continues.
struct AnswerRecord {
  std::size_t candidate = 0, step = 0;
  Answer::Status status = Answer::Status::failed;
  std::string reason{};          ///< empty when ok
  std::vector<double> state{};   ///< [C, X...] after the step; empty unless ok
  double seconds = 0.0;          ///< its share of the query's
  int attempts = 0;              ///< calls of the solver for its query; 0 when refused
  std::uint64_t input_hash = 0;  ///< hash_of() its input; 0: not known

  AnswerKey key() const { return {candidate, step}; }
  bool operator==(const AnswerRecord&) const = default;
};

/// What an answer must be written down as: a record of every step that was made, and one of the
/// step that was refused or failed. `first`: of its query, whose input had this hash; `values`: of
/// a state; `parameters`: of the query.
std::vector<AnswerRecord> records_of(const Answer& answer, AnswerKey first,
                                     std::uint64_t input_hash, std::size_t values,
                                     std::span<const double> parameters = {});

}  // namespace stap
