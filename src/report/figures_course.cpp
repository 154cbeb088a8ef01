// How runs went: losses, times, ledgers.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "report/seeds.h"
#include "stap/folder/run_folder.h"

namespace stap {
namespace {

constexpr std::size_t kLossPoints = 400;  // of a line; more than pixels would show

// Mean over members of the logarithm of the loss, over rounds: round r fills [r, r + 1].
Series loss_line(const MethodRuns& method, const std::vector<Loss>& losses) {
  std::map<std::size_t, int> epochs;                                // by round
  std::map<std::pair<std::size_t, int>, std::vector<double>> logs;  // by round and epoch
  for (const Loss& loss : losses) {
    epochs[loss.round] = std::max(epochs[loss.round], loss.epoch + 1);
    logs[{loss.round, loss.epoch}].push_back(std::log(loss.loss));
  }
  Series series{.label = method.label, .group = method.group};
  const std::size_t together = (logs.size() + kLossPoints - 1) / kLossPoints;
  std::size_t in_round = 0, last = 0;
  double x = 0, sum = 0, count = 0;
  const auto put = [&] {
    if (count > 0) {
      series.x.push_back(x / count);
      series.y.push_back(std::exp(sum / count));
    }
    x = sum = count = 0;
  };
  for (const auto& [place, values] : logs) {
    const auto& [round, epoch] = place;
    if (round != last || ++in_round > together) {
      put();
      in_round = 1;
    }
    if (round != last) {  // networks begin anew
      series.x.push_back(static_cast<double>(round));
      series.y.push_back(std::nan(""));
      last = round;
    }
    for (const double log : values) {
      x += static_cast<double>(round) + static_cast<double>(epoch + 1) / epochs[round];
      sum += log;
      count += 1;
    }
  }
  put();
  return series;
}

// One row of bars a method: means over runs of what `measure` says about each.
template <class Measure>
void add_bars(Chart& chart, const ProblemMethods& problem, const Measure& measure) {
  for (const MethodRuns& method : problem.methods) {
    std::vector<double> sums(chart.x.names.size(), 0.0), counts(chart.x.names.size(), 0.0);
    for (const RunResult* run : method.runs)
      look_at(*run, chart.note, [&] {
        const std::vector<double> values = measure(*run);  // by name; NaN: not known
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (std::isnan(values[i])) continue;
          sums[i] += values[i];
          counts[i] += 1;
        }
      });
    if (std::ranges::all_of(counts, [](double n) { return n == 0; })) continue;
    Series series{.label = method.label, .group = method.group, .mark = Series::Mark::bars};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      series.x.push_back(static_cast<double>(i));
      series.y.push_back(counts[i] > 0 ? sums[i] / counts[i] : std::nan(""));
    }
    chart.series.push_back(std::move(series));
  }
}

bool charges_warm_ups(const ProblemMethods& problem) {
  for (const MethodRuns& method : problem.methods)
    for (const RunResult* run : method.runs)
      if (const auto* charged = config::find_path(run->config, "study.charge_warm_up");
          charged != nullptr && charged->boolean().value_or(false))
        return true;
  return false;
}

// Seconds by phase and round.
using RoundSeconds = std::map<std::pair<std::size_t, std::size_t>, double>;

RoundSeconds round_seconds(const RunResult& run, const std::vector<std::string>& phases) {
  RoundSeconds seconds;
  for (const Timing& timing : RunFolder(run.folder).read_timings()) {
    const auto phase = std::ranges::find(phases, timing.phase) - phases.begin();
    if (phase < std::ssize(phases))
      seconds[{static_cast<std::size_t>(phase), timing.round}] += timing.seconds;
  }
  return seconds;
}

// By phase the rounds that all runs have: training sets grow, so that others cannot be compared.
// (The first round is trained once for all methods of a sweep.) None: there is no such round.
std::vector<std::set<std::size_t>> shared_rounds(
    const std::map<const RunResult*, RoundSeconds>& seconds, std::size_t phases) {
  std::vector<std::set<std::size_t>> shared(phases);
  for (std::size_t phase = 0; phase < phases; ++phase) {
    std::map<std::size_t, std::size_t> runs;  // by round
    std::size_t with = 0;
    for (const auto& [run, its] : seconds) {
      bool any = false;
      for (const auto& [place, s] : its)
        if (place.first == phase) {
          ++runs[place.second];
          any = true;
        }
      with += any ? 1 : 0;
    }
    for (const auto& [round, count] : runs)
      if (count == with) shared[phase].insert(round);
  }
  return shared;
}

// "train 1 to 3, select 0 to 2; of evaluate there are none, so each run's own".
std::string rounds_text(const std::vector<std::set<std::size_t>>& shared,
                        const std::vector<std::string>& phases) {
  std::string text, own;
  for (std::size_t phase = 0; phase < phases.size(); ++phase) {
    if (shared[phase].empty()) {
      own += (own.empty() ? "" : ", ") + phases[phase];
      continue;
    }
    const std::size_t first = *shared[phase].begin(), last = *shared[phase].rbegin();
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", phases[phase], first);
    if (last > first) text += fmt::format(" to {}", last);
  }
  if (!own.empty())
    text += fmt::format("{}{}: no such round, so that each run's own are shown and do not compare",
                        text.empty() ? "" : "; ", own);
  return text;
}

}  // namespace

Chart losses_chart(const ProblemMethods& problem) {
  Chart chart{.title = "Training loss",
              .x = {.label = "round", .whole = true, .low = 0},
              .y = {.label = "mean squared error", .log = true}};
  std::size_t thrown = 0;
  for (const MethodRuns& method : problem.methods) {
    if (method.runs.empty()) continue;
    const RunResult& run = *method.runs.front();
    look_at(run, chart.note, [&] {
      const RunFolder folder(run.folder);
      const std::vector<Loss> losses = folder.read_whole_losses(folder.read_metrics());
      if (losses.empty()) return;
      chart.series.push_back(loss_line(method, losses));
      thrown += thrown_away(run.stages);
    });
  }
  add_note(chart.note, chart.series.empty()
                           ? "No losses were recorded"
                           : "Geometric means over members, of the first seed of each method. The "
                             "epochs of a round lie between its number and the next");
  if (thrown > 0)
    add_note(
        chart.note,
        fmt::format("The epochs of {} of training that {} thrown away (study.stages) are among "
                    "them, at the ends of rounds",
                    thrown == 1 ? "1 stage" : fmt::format("{} stages", thrown),
                    thrown == 1 ? "was" : "were"));
  return chart;
}

Chart times_chart(const ProblemMethods& problem) {
  Chart chart{.title = "Time by phase",
              .x = {.label = "phase of a round",
                    .log = false,
                    .names = {"train", "evaluate", "select", "acquire"}},
              .y = {.label = "time of a round", .unit = "s"}};
  std::map<const RunResult*, RoundSeconds> seconds;  // of the runs that recorded any
  for (const MethodRuns& method : problem.methods)
    for (const RunResult* run : method.runs)
      look_at(*run, chart.note, [&] {
        RoundSeconds its = round_seconds(*run, chart.x.names);
        if (!its.empty()) seconds[run] = std::move(its);
      });
  const std::vector<std::set<std::size_t>> shared = shared_rounds(seconds, chart.x.names.size());
  add_bars(chart, problem, [&](const RunResult& run) {
    std::vector<double> means(chart.x.names.size(), std::nan(""));
    const auto found = seconds.find(&run);
    if (found == seconds.end()) return means;
    for (std::size_t phase = 0; phase < means.size(); ++phase) {
      double sum = 0, count = 0;
      for (const auto& [place, s] : found->second)
        if (place.first == phase &&
            (shared[phase].empty() || shared[phase].contains(place.second))) {
          sum += s;
          count += 1;
        }
      if (count > 0) means[phase] = sum / count;
    }
    return means;
  });
  if (chart.series.empty()) {
    add_note(chart.note, "No times were recorded");
    return chart;
  }
  const bool alone = seconds.size() == 1;
  add_note(chart.note, fmt::format("Wall clock, means over {}: {}",
                                   alone ? "the rounds that were timed"
                                         : "seeds and over the rounds that all runs have timed",
                                   rounds_text(shared, chart.x.names)));
  if (!alone) add_note(chart.note, "Runs of a sweep share their trainings");
  return chart;
}

Chart ledger_chart(const ProblemMethods& problem) {
  Chart chart{.title = "Where the budget went",
              .x = {.label = "solver steps and queries", .log = false, .names = {"bought"}},
              .y = {.label = "number a round"}};
  const bool warm_ups = charges_warm_ups(problem);
  if (warm_ups) chart.x.names.emplace_back("warm-ups");
  chart.x.names.insert(chart.x.names.end(), {"failed", "refused", "unspent"});
  add_bars(chart, problem, [&](const RunResult& run) {
    const std::vector<Ledger> ledgers = RunFolder(run.folder).read_ledgers();
    std::vector<double> sums(chart.x.names.size(), 0.0);
    // The first one is that of the initial trajectories.
    for (std::size_t i = 1; i < ledgers.size(); ++i) {
      const Ledger& ledger = ledgers[i];
      std::vector<std::size_t> values{ledger.bought};
      if (warm_ups) values.push_back(ledger.warm_up);
      values.insert(values.end(), {ledger.failed, ledger.refused, ledger.unspent});
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += static_cast<double>(values[k]);
    }
    const double rounds = static_cast<double>(ledgers.size()) - 1;
    for (double& sum : sums) sum = rounds > 0 ? sum / rounds : std::nan("");
    return sums;
  });
  add_note(chart.note, chart.series.empty()
                           ? "Nothing was chosen yet; initial trajectories are not counted here"
                           : "Means over rounds and, of several, over seeds, without the "
                             "initial trajectories. Refused queries cost nothing");
  return chart;
}

}  // namespace stap
