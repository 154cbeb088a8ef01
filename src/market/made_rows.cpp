// Rows that were made, put together from what is in the log.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "market/rows.h"
#include "stap/core/error.h"

namespace stap {
namespace {

// The draw that is a row: those that failed are none.
std::size_t draw_of(const LoggedAnswers& answers, std::size_t row) {
  for (const AnswerKey& key : answers.in_vain())
    if (key.candidate <= row) ++row;
  return row;
}

}  // namespace

AnswerRecord recorded_state(const RowsWanted& wanted, const LoggedAnswers& answers,
                            std::size_t index, std::size_t number) {
  if (auto answer = answers.find(index, number)) return *std::move(answer);
  throw Error(ErrorKind::internal,
              fmt::format("{}: state {} of row {} was not made", wanted.phase, number, index));
}

std::vector<double> drawn_state(const Sampler& sampler, const RowsWanted& wanted,
                                std::size_t index) {
  std::vector<double> state(sampler.grid().values());
  sampler.draw(wanted.stream, index, state);
  return state;
}

std::vector<double> RowMaker::row(const RowsWanted& wanted, const LoggedAnswers& answers,
                                  std::size_t row) const {
  const std::size_t index = draw_of(answers, row);
  const std::vector<double> parameters = wanted.parameters_of(index);
  std::vector<double> states, state = sampler_.expensive()
                                          ? recorded_state(wanted, answers, index, 0).state
                                          : drawn_state(sampler_, wanted, index);
  for (std::size_t number = 0;; ++number) {
    if (number >= first()) states.insert(states.end(), state.begin(), state.end());
    if (number + 1 == first() + wanted.times()) return states;
    AnswerRecord answer = recorded_state(wanted, answers, index, number + 1);
    if (answer.input_hash != hash_of(state, parameters))
      throw Error(ErrorKind::data,
                  fmt::format("answer {} of row {} of the {} was recorded for another state: the "
                              "journal is not of these data, remove it with its folder",
                              number + 1, index, wanted.phase));
    state = std::move(answer.state);
  }
}

RowParameters RowMaker::parameters(const RowsWanted& wanted, const LoggedAnswers& answers) const {
  RowParameters all{names_of(wanted.parameters), {}};
  for (std::size_t row = 0; row < wanted.rows && !all.names.empty(); ++row)
    std::ranges::copy(wanted.parameters_of(draw_of(answers, row)), std::back_inserter(all.values));
  return all;
}

}  // namespace stap
