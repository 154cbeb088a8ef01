// Rows that were made, put together from what is in the log.
#include <utility>

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

DrawnRow draw_row(const Sampler& sampler, const RowsWanted& wanted, std::size_t index) {
  DrawnRow row{std::vector<double>(sampler.grid().values()),
               draw_parameters(wanted.parameters, wanted.stream, index)};
  sampler.draw(wanted.stream, index, row.state, row.parameters);
  return row;
}

DrawnRow recorded_row(const Sampler& sampler, const RowsWanted& wanted, std::size_t index,
                      std::vector<double> record) {
  if (!sampler.draws_parameters())
    return {std::move(record), draw_parameters(wanted.parameters, wanted.stream, index)};
  const std::size_t values = sampler.grid().values(), count = wanted.parameters.size();
  if (record.size() != values + count)
    throw Error(ErrorKind::data,
                fmt::format("draw {} of the {} has {} values, expected {} and {} parameters: the "
                            "journal is not of these data, remove it with its folder",
                            index, wanted.phase, record.size(), values, count));
  DrawnRow row;
  row.parameters.assign(record.end() - static_cast<std::ptrdiff_t>(count), record.end());
  record.resize(values);
  row.state = std::move(record);
  return row;
}

std::vector<double> RowMaker::row(const RowsWanted& wanted, const LoggedAnswers& answers,
                                  std::size_t row) const {
  const std::size_t index = draw_of(answers, row);
  auto [state, parameters] = drawn(wanted, answers, index);
  std::vector<double> states;
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

DrawnRow RowMaker::drawn(const RowsWanted& wanted, const LoggedAnswers& answers,
                         std::size_t index) const {
  if (!sampler_.expensive()) return draw_row(sampler_, wanted, index);
  return recorded_row(sampler_, wanted, index, recorded_state(wanted, answers, index, 0).state);
}

RowParameters RowMaker::parameters(const RowsWanted& wanted, const LoggedAnswers& answers) const {
  RowParameters all{names_of(wanted.parameters), {}};
  for (std::size_t row = 0; row < wanted.rows && !all.names.empty(); ++row) {
    const std::size_t index = draw_of(answers, row);
    const std::vector<double> own = sampler_.draws_parameters()
                                        ? drawn(wanted, answers, index).parameters
                                        : draw_parameters(wanted.parameters, wanted.stream, index);
    all.values.insert(all.values.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace stap
