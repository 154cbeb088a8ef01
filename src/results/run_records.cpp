#include "results/run_records.h"

#include <iterator>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/solver.h"

namespace stap {

std::vector<PhaseSeconds> times_of(const RunFolder& folder, std::size_t rounds) {
  std::vector<PhaseSeconds> times(rounds);
  for (const Timing& timing : folder.read_timings())
    if (timing.round < rounds) times[timing.round][timing.phase] += timing.seconds;
  return times;
}

ChosenSteps chosen_steps(const RunFolder& folder, std::size_t rounds, std::size_t pool,
                         std::size_t steps) {
  ChosenSteps chosen{.steps = steps};
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<Purchase>& purchases = chosen.rounds.emplace_back();
    const std::size_t passes = folder.passes(round);
    if (passes == 0)
      throw Error(ErrorKind::data,
                  fmt::format("there is no plan in {}", folder.round_folder(round).string()));
    for (std::size_t pass = 1; pass <= passes; ++pass) {
      Plan plan = folder.read_plan(round, pass, pool, steps);
      std::move(plan.purchases.begin(), plan.purchases.end(), std::back_inserter(purchases));
    }
  }
  return chosen;
}

AnswerTotals answer_totals(const RunFolder& folder) {
  AnswerTotals totals;
  folder.read_answers([&](std::size_t, const AnswerRecord& answer) {
    totals.seconds += answer.seconds;
    if (answer.status == Answer::Status::ok) ++totals.delivered;
  });
  return totals;
}

}  // namespace stap
