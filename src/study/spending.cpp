#include "stap/study/spending.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/sizes.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/journal/answer_log.h"
#include "stap/study/clusters.h"
#include "stap/study/data_request.h"
#include "stap/study/kept_of_solver.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;

constexpr const char* kStepSecondsFolder = "step-seconds";
constexpr const char* kStepSecondsFormat = "step-seconds/1";

bool is_foreign(const Study& study) {
  return study.pde && study.pde.row->outline != nullptr;
}

std::size_t solver_number(const Study& study, const char* key) {
  const Value* solver = study.effective.find("solver");
  const Value* value = solver != nullptr ? solver->find(key) : nullptr;
  return std::max<std::size_t>(value != nullptr ? value->integer<std::uint64_t>().value_or(1) : 1,
                               1);
}

std::size_t slots_of(const Study& study) {
  const Value* solver = study.effective.find("solver");
  return solver != nullptr ? stap::slots_of(*solver) : 1;
}

std::size_t calls_of(std::size_t rows, std::size_t steps, std::size_t at_once) {
  return product_of({rows, sum_of({steps, at_once - 1}) / at_once});
}

std::string number_of(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Adds to the part of this name; of runs that differ only their number can be told.
void add(ExpectedSpending& spending, SpendingPart part) {
  const auto there = std::ranges::find(spending.parts, part.name, &SpendingPart::name);
  if (there == spending.parts.end()) {
    spending.parts.push_back(std::move(part));
    return;
  }
  if (there->text != part.text) there->text.clear();
  there->steps += part.steps;
  there->calls_most += part.calls_most;
}

void add_data(ExpectedSpending& spending, const Study& study, std::size_t at_once) {
  const DataRequest request = data_request(study);
  const std::size_t before = warm_up_steps(study), rows = request.pool + request.test;
  const std::string key = data_key(request);
  std::error_code error;
  const auto made = [&](std::size_t wanted, const char* file) {
    return wanted == 0 || fs::exists(cached_file(key, file), error);
  };
  if (made(request.pool, "pool.h5") && made(request.test, "test.h5")) {
    spending.cached_steps += product_of({rows, before}) + request.test * request.steps;
    return;
  }
  if (rows > 0 && before > 0)
    add(spending, {"warm-up",
                   fmt::format("{} of {}", number_of(rows, "drawn state", "drawn states"),
                               number_of(before, "step", "steps")),
                   product_of({rows, before}), calls_of(rows, before, at_once)});
  if (request.test > 0)
    add(spending, {"test set",
                   fmt::format("{} of {}", number_of(request.test, "trajectory", "trajectories"),
                               number_of(request.steps, "step", "steps")),
                   request.test * request.steps, calls_of(request.test, request.steps, at_once)});
}

// Of all rounds, each with all stages that it may have.
std::optional<double> known_training_seconds(const Study& study) {
  const std::optional<double> seconds = kept_training_seconds(study);
  if (!seconds) return std::nullopt;
  const StudyOptions& o = study.options;
  const auto rounds = static_cast<double>(o.rounds);
  const double steps = (rounds + 1) * static_cast<double>(o.initial * o.steps) +
                       rounds * (rounds + 1) / 2 * static_cast<double>(o.budget);
  return steps * *seconds * (std::ldexp(1.0, static_cast<int>(o.stages)) - 1);
}

void add_run(ExpectedSpending& spending, const Study& study, std::size_t at_once) {
  const StudyOptions& o = study.options;
  ++spending.runs;
  const std::optional<double> training = known_training_seconds(study);
  if (!training || !spending.training_seconds)
    spending.training_seconds.reset();
  else
    *spending.training_seconds += *training;
  if (o.initial > 0)
    add(spending, {"initial trajectories",
                   fmt::format("{} of {}", o.initial, number_of(o.steps, "step", "steps")),
                   o.initial * o.steps, calls_of(o.initial, o.steps, at_once)});
  if (o.rounds > 0)
    add(spending,
        {"rounds", fmt::format("{} of {}", o.rounds, number_of(o.budget, "step", "steps")),
         o.rounds * o.budget, o.rounds * o.budget});
}

// Hands on the answers of a journal that can be read. What is damaged will be complained about by
// whoever needs it; an estimate does not.
template <class Visit>
void visit_answers(const fs::path& journal, const Visit& visit) {
  std::error_code error;
  if (!fs::is_regular_file(journal, error)) return;
  try {
    read_answers(journal, visit);
  } catch (const Error&) {
  }
}

std::optional<StepSeconds> median_of(std::vector<double> seconds, const char* source) {
  if (seconds.empty()) return std::nullopt;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return StepSeconds{*middle, seconds.size(), source};
}

void collect(const fs::path& journal, std::size_t acquisition_least, std::size_t step_least,
             std::vector<double>& seconds) {
  visit_answers(journal, [&](std::size_t acquisition, const AnswerRecord& answer) {
    if (answer.status == Answer::Status::ok && acquisition >= acquisition_least &&
        answer.step >= step_least)
      seconds.push_back(answer.seconds);
  });
}

std::optional<StepSeconds> read_kept(const fs::path& file) {
  std::error_code error;
  if (file.empty() || !fs::is_regular_file(file, error)) return std::nullopt;
  try {
    const Value value = read_json(file);
    if (field<std::string>(value, "format", file) != kStepSecondsFormat) return std::nullopt;
    StepSeconds kept{field<double>(value, "seconds", file),
                     field<std::uint64_t>(value, "answers", file),
                     field<std::string>(value, "source", file)};
    if (std::isfinite(kept.seconds) && kept.seconds >= 0) return kept;
  } catch (const Error&) {  // a cache may hold anything
  }
  return std::nullopt;
}

std::string duration_text(double seconds) {
  if (seconds < 600) return fmt::format("{:.3g} s", seconds);
  if (seconds < 7200) return fmt::format("{:.3g} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.3g} h", seconds / 3600);
  return fmt::format("{:.3g} days", seconds / 86400);
}

double wall_seconds(const ExpectedSpending& spending, double seconds) {
  const std::size_t left = spending.steps() - std::min(spending.steps(), spending.answered_steps);
  return static_cast<double>(left) * seconds / static_cast<double>(spending.slots);
}

}  // namespace

std::size_t ExpectedSpending::steps() const {
  std::size_t sum = 0;
  for (const SpendingPart& part : parts) sum += part.steps;
  return sum;
}

std::size_t ExpectedSpending::calls_most() const {
  std::size_t sum = 0;
  for (const SpendingPart& part : parts) sum += part.calls_most;
  return sum;
}

std::vector<ExpectedSpending> expected_spending(std::span<const Study> studies,
                                                std::span<const fs::path> journals) {
  std::vector<ExpectedSpending> all;
  std::vector<std::string> problems;
  std::set<std::string> data;
  for (const Study& study : studies) {
    if (!is_foreign(study) || study.dt <= 0) continue;
    const std::string problem = config::yaml_text(*study.effective.find("pde"));
    const auto found = std::ranges::find(problems, problem);
    const auto index = static_cast<std::size_t>(found - problems.begin());
    if (found == problems.end()) {
      problems.push_back(problem);
      all.push_back({.problem = study.pde.row->outline(study.pde.options).name,
                     .first = static_cast<std::size_t>(&study - studies.data()),
                     .slots = slots_of(study),
                     .program = config::find_path(study.effective, "solver.argv") != nullptr,
                     .parts = {}});
    }
    const std::size_t at_once = solver_number(study, "steps_at_once");
    if (data.insert(data_key(data_request(study))).second) add_data(all[index], study, at_once);
    if (study.has_method()) add_run(all[index], study, at_once);
  }
  // Which problem a journal is of does not matter where there is but one.
  if (all.size() == 1)
    for (const fs::path& journal : journals)
      visit_answers(journal, [&](std::size_t, const AnswerRecord&) { ++all[0].answered_steps; });
  return all;
}

std::optional<StepSeconds> known_step_seconds(const Study& study,
                                              std::span<const fs::path> journals) {
  std::vector<double> seconds;
  for (const fs::path& journal : journals) collect(journal, 0, 0, seconds);
  if (auto found = median_of(std::move(seconds), "answers of the run")) {
    found->of_this_run = true;
    return found;
  }
  // Those of a warm-up may be of any length: only what is behind it counts.
  seconds.clear();
  collect(cached_file(data_key(data_request(study)), "journal.jsonl"), 1, 2, seconds);
  if (auto found = median_of(std::move(seconds), "answers for the test set")) return found;
  return read_kept(kept_of_solver(study, kStepSecondsFolder));
}

void keep_step_seconds(const Study& study, const StepSeconds& measured) {
  Value value;
  value.set("format", kStepSecondsFormat);
  value.set("seconds", measured.seconds);
  value.set("answers", measured.answers);
  value.set("source", measured.source);
  keep(kept_of_solver(study, kStepSecondsFolder), value);
}

std::string training_text(const ExpectedSpending& spending) {
  if (spending.runs == 0) return {};
  if (spending.training_seconds)
    return fmt::format("\n  and about {} of training", duration_text(*spending.training_seconds));
  return fmt::format("\n  training comes on top, and is not measured{}",
                     spending.program ? ": 'stap solver check CONFIG' does it" : "");
}

std::string spending_text(const ExpectedSpending& spending,
                          const std::optional<StepSeconds>& seconds) {
  const std::size_t steps = spending.steps(), calls = spending.calls_most();
  std::string text =
      fmt::format("solver {}: {} to be made", spending.problem, number_of(steps, "step", "steps"));
  if (calls < steps) text += fmt::format(", in at most {}", number_of(calls, "call", "calls"));
  if (spending.runs > 1) text += fmt::format(", by {} runs", spending.runs);
  for (const SpendingPart& part : spending.parts) {
    text += fmt::format("\n  {:<21}{:>8}", part.name, part.steps);
    if (!part.text.empty()) text += fmt::format("   {}", part.text);
    const bool each_run = part.name == "initial trajectories" || part.name == "rounds";
    if (spending.runs > 1 && each_run) text += part.text.empty() ? "   all runs" : ", each run";
  }
  if (spending.cached_steps > 0)
    text += fmt::format("\n  {:<21}{:>8}   {} in the cache", "warm-up and test set", 0,
                        number_of(spending.cached_steps, "step is", "steps are"));
  if (spending.answered_steps > 0)
    text += fmt::format("\n  {} answered already", spending.answered_steps);
  if (!seconds)
    return text + "\n  seconds are not known" +
           (spending.program ? ": 'stap solver check CONFIG' measures them" : "");
  return text + fmt::format("\n  about {}: {:.3g} s a step ({}, {}){}",
                            duration_text(wall_seconds(spending, seconds->seconds)),
                            seconds->seconds, number_of(seconds->answers, "step", "steps"),
                            seconds->source,
                            spending.slots > 1 ? fmt::format(", {} slots", spending.slots) : "");
}

Value to_value(const ExpectedSpending& spending, const std::optional<StepSeconds>& seconds) {
  Value value;
  value.set("problem", spending.problem);
  value.set("runs", spending.runs);
  value.set("steps", spending.steps());
  value.set("calls_most", spending.calls_most());
  Value::List parts;
  for (const SpendingPart& part : spending.parts) {
    Value row;
    row.set("name", part.name);
    row.set("steps", part.steps);
    row.set("calls_most", part.calls_most);
    parts.push_back(std::move(row));
  }
  value.set("parts", Value(std::move(parts)));
  value.set("cached_steps", spending.cached_steps);
  value.set("answered_steps", spending.answered_steps);
  value.set("slots", spending.slots);
  value.set("seconds_a_step", seconds ? Value(seconds->seconds) : Value());
  value.set("seconds", seconds ? Value(wall_seconds(spending, seconds->seconds)) : Value());
  value.set("training_seconds",
            spending.training_seconds ? Value(*spending.training_seconds) : Value());
  return value;
}

}  // namespace stap
