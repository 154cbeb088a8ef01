#include "market/make_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "market/row_walk.h"
#include "stap/core/error.h"
#include "stap/core/hash64.h"
#include "stap/core/warm_up.h"
#include "stap/study/clusters.h"

namespace stap {

RowMaker::RowMaker(const Sampler& sampler, std::shared_ptr<const Solver> solver, std::size_t lead)
    : sampler_(sampler), solver_(std::move(solver)) {
  const double length = warm_up_before(cluster_start(lead, solver_->dt()), sampler_.warm_up());
  if (length > 0) warm_up_ = make_warm_up_solver(solver_, length);
}

void RowMaker::make(const RowsWanted& wanted, AnswerLog& log, Observer& observer,
                    const StopAsked& stop) const {
  const double dt = solver_->dt();
  std::vector<Leg> legs;
  if (warm_up_) legs.push_back({*warm_up_, true, 0, 1, -sampler_.warm_up(), 1});
  if (wanted.times() > 1)
    legs.push_back({*solver_, false, first(), first() + wanted.times() - 1,
                    cluster_start(wanted.lead, dt), first() + wanted.lead - 1});
  Progress progress{.phase = wanted.phase, .done = 0, .total = 0, .unit = "solver steps"};
  for (const Leg& leg : legs) progress.total += wanted.rows * (leg.end - leg.begin);
  Tally tally(wanted, solver_->failure_policy(), log.recorded(wanted.acquisition));
  for (std::size_t end = 0; end != tally.end();) {  // again for those that take others' places
    end = tally.end();
    progress.done = 0;
    if (sampler_.dear()) draw_all(wanted, end, log, observer, stop);
    for (const Leg& leg : legs) walk_rows(sampler_, leg, tally, log, progress, observer, stop);
  }
  if (!tally.ended.empty())
    observer.warning(
        fmt::format("{}: {} of {} draws failed, and the next ones took their places{}",
                    wanted.phase, tally.ended.size(), tally.end(),
                    tally.texts.empty() ? "" : fmt::format(":{}", tally.last_texts())));
}

// One at a time, each on disk before the next is begun.
void RowMaker::draw_all(const RowsWanted& wanted, std::size_t end, AnswerLog& log,
                        Observer& observer, const StopAsked& stop) const {
  const LoggedAnswers before = log.recorded(wanted.acquisition);
  const std::string phase = fmt::format("drawing the {}", wanted.phase);
  for (std::size_t index = 0; index < end; ++index) {
    if (before.contains(index, 0)) continue;
    observer.progress({phase, index, end, "initial conditions"});
    if (stop && stop()) throw Stopped();
    LoggedAnswer draw{.candidate = index,
                      .step = 0,
                      .status = std::string(to_string(Answer::Status::ok)),
                      .state = std::vector<double>(sampler_.grid().values())};
    sampler_.draw(wanted.stream, index, draw.state);
    log.append(wanted.acquisition, draw);
    log.commit();
  }
  observer.progress({phase, end, end, "initial conditions"});
}

std::vector<double> RowMaker::row(const RowsWanted& wanted, const LoggedAnswers& answers,
                                  std::size_t row) const {
  std::size_t index = row;
  for (const AnswerKey& key : answers.in_vain())
    if (key.candidate <= index) ++index;
  std::vector<double> states, state = drawn(sampler_, wanted, answers, index);
  for (std::size_t number = 0;; ++number) {
    if (number >= first()) states.insert(states.end(), state.begin(), state.end());
    if (number + 1 == first() + wanted.times()) return states;
    LoggedAnswer answer = recorded(wanted, answers, index, number + 1);
    if (answer.input_hash != hash64(std::as_bytes(std::span<const double>(state))))
      throw Error(ErrorKind::data,
                  fmt::format("answer {} of row {} of the {} was recorded for another state: the "
                              "journal is not of these data, remove it with its folder",
                              number + 1, index, wanted.phase));
    state = std::move(answer.state);
  }
}

}  // namespace stap
