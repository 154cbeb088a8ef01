#include "stap/core/answer_record.h"

#include <span>

#include "stap/core/parameters.h"

namespace stap {

std::vector<AnswerRecord> records_of(const Answer& answer, AnswerKey first,
                                     std::uint64_t input_hash, std::size_t values,
                                     std::span<const double> parameters) {
  std::vector<AnswerRecord> records;
  const auto add = [&](Answer::Status status, std::string reason, std::span<const double> state) {
    const bool tried = status != Answer::Status::refused;
    records.push_back({.candidate = first.candidate,
                       .step = first.step + records.size(),
                       .status = status,
                       .reason = std::move(reason),
                       .state = {state.begin(), state.end()},
                       .attempts = tried ? answer.attempts : 0,
                       .input_hash = input_hash});
    if (!state.empty()) input_hash = hash_of(state, parameters);
  };
  const std::span<const double> states = answer.states;
  for (std::size_t at = 0; at < states.size(); at += values)
    add(Answer::Status::ok, {}, states.subspan(at, values));
  if (answer.status != Answer::Status::ok) add(answer.status, answer.reason, {});
  const std::size_t tried = records.size() - (answer.status == Answer::Status::refused ? 1 : 0);
  for (std::size_t i = 0; i < tried; ++i)
    records[i].seconds = answer.seconds / static_cast<double>(tried);
  return records;
}

}  // namespace stap
