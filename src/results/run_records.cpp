#include "results/run_records.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/core/solver.h"
#include "stap/eval/metrics.h"

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

double answer_seconds(const RunFolder& folder) {
  std::vector<double> seconds;
  std::size_t delivered = 0;
  folder.read_answers([&](std::size_t, const AnswerRecord& answer) {
    if (answer.status != Answer::Status::refused) seconds.push_back(answer.seconds);
    if (answer.status == Answer::Status::ok) ++delivered;
  });
  if (delivered == 0) return std::nan("");
  return quantile(seconds, 50) * static_cast<double>(seconds.size()) /
         static_cast<double>(delivered);
}

}  // namespace stap
