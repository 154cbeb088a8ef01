#include "stap/market/simulate.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/answer_times.h"
#include "market/courses.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/core/isa.h"
#include "stap/core/seal.h"
#include "stap/core/sha256.h"
#include "stap/data/array_file.h"
#include "stap/data/transitions.h"
#include "stap/eval/hybrid.h"
#include "stap/folder/own_folder.h"
#include "stap/folder/run_records.h"
#include "stap/journal/answer_log.h"
#include "stap/market/market.h"
#include "stap/study/data_files.h"
#include "stap/study/study.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using config::Value;
using How = SimulationRules::How;
using Placing = SimulationRules::Placing;

constexpr const char *kOwnRequest = "config.yaml", *kResultFile = "simulation.h5",
                     *kSolvedFile = "transitions.h5";
constexpr std::string_view kSimulationLine = "simulation";
constexpr std::size_t kSolvedAs = 1;     // the acquisition of all answers
constexpr std::size_t kRowsKnown = 100;  // whose answers tell what a step takes

const char* name_of(How how) {
  return how == How::tolerance ? "tolerance" : how == How::share ? "share" : "verify";
}
const char* name_of(Placing placing) {
  return placing == Placing::planned ? "planned" : placing == Placing::even ? "even" : "random";
}

// Asks for what trajectories wait for, and uses what is recorded.
class Simulation final : public Customer {
 public:
  Simulation(const SimulationRequest& request, Courses& courses, const Solver& solver,
             AnswerLog& log)
      : Customer(log, kSolvedAs),
        request_(request),
        courses_(courses),
        solver_(solver),
        policy_(solver.failure_policy()),
        before_(log.recorded(kSolvedAs)),
        waiting_(courses.count()) {
    for (std::size_t row = 0; row < courses.count(); ++row) {
      moved_.push_back(row);
      for (const std::string& name : solver.parameters()) {
        const auto& names = request.parameters.names;
        const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
        waiting_[row].parameters.push_back(request.parameters.row(row)[at]);
      }
    }
  }

  std::vector<SolverOrder> ask() override {
    std::vector<SolverOrder> orders;
    while (!moved_.empty()) {
      const std::vector<std::size_t> rows = std::exchange(moved_, {});
      courses_.move(rows);
      for (const std::size_t row : rows) question(row, orders);
    }
    return orders;
  }

  void take(std::uint64_t id, std::vector<AnswerRecord> records) override {
    const auto [row, question] = open_.at(id);
    open_.erase(id);
    fill(row, question, std::move(records.front()));
  }

  std::string text() const override { return "simulation"; }
  Progress progress() const override {
    std::size_t done = 0;
    for (std::size_t row = 0; row < courses_.count(); ++row) done += courses_[row].settled;
    return {"simulating", done, courses_.count() * request_.rules.steps, "steps"};
  }
  bool bears(Answer::Status status) const override {
    return !policy_.abort || status != Answer::Status::failed;
  }
  std::string trouble(const AnswerRecord& record) const override {
    const std::vector<CourseQuestion>& questions = courses_[record.candidate].questions;
    const auto at = std::ranges::find(questions, record.step, &CourseQuestion::number);
    const std::size_t step = at == questions.end() ? record.step : at->step;
    return fmt::format("trajectory {}, step {}: {}", record.candidate, step + 1, record.reason);
  }
  // Every answer is needed.
  std::size_t most_stragglers(double) const override { return 0; }
  std::optional<double> known_seconds(const Solver&) const override {
    AnswerTimes times;
    for (const AnswerKey& key : before_.keys()) {
      if (key.candidate >= kRowsKnown) break;
      if (const auto answer = before_.find(key.candidate, key.step)) times.add(answer->seconds, 1);
    }
    return times.usual(1);
  }

  std::size_t failed() const { return failed_; }
  std::size_t refused() const { return refused_; }

 private:
  struct Waiting {
    std::vector<double> parameters{};  // as the solver names them
    std::vector<AnswerRecord> answers{};
    std::size_t missing = 0;
  };

  void question(std::size_t row, std::vector<SolverOrder>& orders) {
    const std::vector<CourseQuestion>& questions = courses_[row].questions;
    Waiting& waiting = waiting_[row];
    waiting.answers.assign(questions.size(), {});
    waiting.missing = questions.size();
    for (std::size_t q = 0; q < questions.size(); ++q) {
      if (before_.contains(row, questions[q].number)) continue;
      open_[next_] = {row, q};
      orders.push_back({&solver_,
                        {row, questions[q].number},
                        {.id = next_++,
                         .state = questions[q].input,
                         .time = static_cast<double>(questions[q].step) * solver_.dt(),
                         .params = waiting.parameters}});
    }
    // The last of them moves the row on, which forgets its questions.
    const std::size_t all = questions.size();
    for (std::size_t q = 0; q < all; ++q)
      if (const std::size_t number = questions[q].number; before_.contains(row, number))
        fill(row, q, checked(row, q, *before_.find(row, number)));
  }

  AnswerRecord checked(std::size_t row, std::size_t q, AnswerRecord record) const {
    const CourseQuestion& question = courses_[row].questions[q];
    const std::uint64_t here = hash_of(question.input, waiting_[row].parameters);
    if (record.input_hash == 0 || record.input_hash == here) return record;
    throw Error(
        ErrorKind::data,
        fmt::format("{}: the recorded answer to trajectory {}, step {} is one to another state: a "
                    "simulation continues only with the networks, the device and the instruction "
                    "set it started with; give another folder",
                    log_.folder().string(), row, question.step + 1));
  }

  void fill(std::size_t row, std::size_t q, AnswerRecord record) {
    Waiting& waiting = waiting_[row];
    failed_ += record.status == Answer::Status::failed ? 1 : 0;
    refused_ += record.status == Answer::Status::refused ? 1 : 0;
    waiting.answers[q] = std::move(record);
    if (--waiting.missing > 0) return;
    for (const AnswerRecord& answer : waiting.answers)
      if (!bears(answer.status)) throw Error(ErrorKind::solver, trouble(answer));
    courses_.take(row, waiting.answers);
    moved_.push_back(row);
  }

  const SimulationRequest& request_;
  Courses& courses_;
  const Solver& solver_;
  FailurePolicy policy_;
  LoggedAnswers before_;
  std::vector<Waiting> waiting_;
  std::vector<std::size_t> moved_;
  std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> open_;  // row, question
  std::uint64_t next_ = 0;
  std::size_t failed_ = 0, refused_ = 0;
};

Value document_of(const SimulationRequest& request) {
  const SimulationRules& rules = request.rules;
  Value document;
  document.set("format", kSimulationFormat);
  document.set("instruction_set", to_string(active_isa()));
  document.set("rows", request.initial.count());
  document.set("steps", rules.steps);
  document.set("how", name_of(rules.how));
  if (rules.how != How::share) document.set("tolerance", rules.tolerance);
  if (rules.how == How::verify) document.set("verify", rules.draft);
  if (rules.how == How::share) {
    document.set("share", rules.share);
    document.set("placing", name_of(rules.placing));
    if (rules.placing == Placing::random) document.set("seed", rules.seed);
  }
  if (rules.how == How::tolerance) {
    document.set("anywhere", rules.anywhere);
    const std::string bars = config::json_text(to_value(*request.bars));
    document.set("bars_sha256", sha256_hex(std::as_bytes(std::span(bars))));
  }
  if (rules.most) document.set("most", *rules.most);
  Sha256 sum;
  sum.add(std::as_bytes(request.initial.values()));
  sum.add(std::as_bytes(std::span(request.parameters.values)));
  document.set("input_sha256", sum.hex());
  for (const Value::Member& member : *request.about.map()) document.set(member.key, member.value);
  return document;
}

// The folder of one request.
class SimulationFolder final : public OwnFolder {
 public:
  SimulationFolder(const SimulationRequest& request, const StateInfo& info, fs::path path)
      : OwnFolder(std::move(path),
                  {.holds = "simulation",
                   .without_config = "holds a simulation, but no config.yaml that says which: "
                                     "remove the folder, or put the file back",
                   .line = kSimulationLine,
                   .key = "request"}),
        request_(request),
        info_(info),
        document_(document_of(request)),
        text_(config::yaml_text(document_)) {}

  Simulated simulate(Committee& committee, const Solver& solver, Observer& observer,
                     const StopAsked& stop) const {
    const auto started = std::chrono::steady_clock::now();
    Simulated result;
    bool closed = false;
    // Before there is a folder: they may be more than the memory holds.
    const std::unique_ptr<Courses> courses = make_courses(request_, committee, observer, stop);
    auto [log, begun] = open(observer, [&](JournalLine&& line, const std::string&) {
      closed = closed || line.type == "ledger";
      const Value* spent = line.body.find("seconds");
      if (line.type == kSimulationLine && spent != nullptr)
        result.seconds += spent->real().value_or(0.0);
    });
    if (!begun) begin(log);
    log.hold_reserve(info_.grid.values());
    Simulation simulation(request_, *courses, solver, log);
    Customer* const customers[] = {&simulation};
    try {
      Market().serve(customers, observer, stop,
                     [&](std::span<const OpenQuestion>) -> std::vector<Reply> {
                       throw Error(ErrorKind::config,
                                   fmt::format("a simulation needs a solver that answers by "
                                               "itself, but {} answers by hand",
                                               solver.name()));
                     });
      result.finished = true;
    } catch (const Stopped&) {
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - started;
    result.seconds += spent.count();
    count(*courses, simulation, result);
    if (result.finished) {
      write(*courses);
      if (!closed) log.note("ledger", ledger(*courses, result));
    }
    if (!closed) log.note(kSimulationLine, line(spent.count()));
    return result;
  }

 private:
  void check_begun() const override {
    const fs::path file = path() / kOwnRequest;
    const Value there = read_yaml(file);
    check_format(field<std::string>(there, "format", file), kSimulationFormat, file);
    check_seal(file, Sealed::always);
    const auto differing = differences(document_, there, path().string());
    if (!differing.empty())
      throw Error(ErrorKind::config,
                  fmt::format("{} holds another simulation; choose another folder or the old "
                              "options:\n  {}",
                              path().string(), fmt::join(differing, "\n  ")));
  }
  std::string id() const override { return sha256_hex(std::as_bytes(std::span(text_))); }
  bool is_written_aside(const fs::path& file) const override {
    return file == kOwnRequest || file == kResultFile || file == kSolvedFile;
  }

  Value line(double seconds) const {
    Value body;
    body.set("request", id());
    body.set("seconds", seconds);
    return body;
  }

  void begin(AnswerLog& log) const {
    const SimulationRules& rules = request_.rules;
    const double values = static_cast<double>(info_.grid.values()),
                 rows = static_cast<double>(request_.initial.count()),
                 solved = static_cast<double>(most_solver_steps(rules, request_.initial.count()));
    // The trajectories, and each answer with its input, once more in answers.bin.
    ArrayWriter(path() / kResultFile)
        .check_room(static_cast<std::size_t>(
            std::min(1e18, values * (rows * static_cast<double>(rules.steps + 1) + 3 * solved))));
    log.restart(kSimulationLine, line(0));
    write_sealed(path() / kOwnRequest, text_);
  }

  void count(const Courses& courses, const Simulation& simulation, Simulated& result) const {
    result.failed = simulation.failed();
    result.refused = simulation.refused();
    for (std::size_t row = 0; row < courses.count(); ++row) {
      const Course& course = courses[row];
      for (std::size_t step = 0; step < course.paid.size(); ++step) {
        result.paid += static_cast<std::size_t>(course.paid[step]);
        result.by_solver += course.by_solver[step];
      }
      result.beyond += course.beyond ? 1 : 0;
      if (course.failed_step >= 0 && result.trouble.empty())
        result.trouble = course.troubles.front();
    }
  }

  Value ledger(const Courses& courses, const Simulated& result) const {
    Ledger ledger{.budget = most_solver_steps(request_.rules, request_.initial.count()),
                  .bought = result.paid - result.failed,
                  .refused = result.refused,
                  .failed = result.failed,
                  .charged_failures = result.failed,
                  .passes = 1,
                  .reasons = {}};
    ledger.unspent = ledger.budget - result.paid;
    for (std::size_t row = 0; row < courses.count(); ++row)
      std::ranges::copy(courses[row].troubles, std::back_inserter(ledger.reasons));
    require_balance(ledger);
    return to_value(kSolvedAs, ledger);
  }

  void write(const Courses& courses) const {
    write_solved(courses);
    const std::size_t rows = courses.count(), steps = request_.rules.steps;
    std::vector<double> predicted;
    std::vector<std::uint8_t> maker;
    std::vector<std::int64_t> paid, failed_step;
    for (std::size_t row = 0; row < rows; ++row) {
      const Course& course = courses[row];
      std::ranges::copy(course.predicted, std::back_inserter(predicted));
      std::ranges::copy(course.by_solver, std::back_inserter(maker));
      std::ranges::copy(course.paid, std::back_inserter(paid));
      failed_step.push_back(course.failed_step);
    }
    ArrayWriter writer(path() / kResultFile);
    writer.add_text_attribute("format", kSimulationFormat.data());
    writer.describe(info_);
    for (const Value::Member& member : *document_.map())
      if (member.key != "format")
        writer.add_text_attribute(member.key, member.value.text() != nullptr
                                                  ? *member.value.text()
                                                  : config::json_text(member.value, 0));
    std::vector<std::size_t> shape{rows, steps + 1, info_.grid.channels};
    shape.insert(shape.end(), info_.grid.points.begin(), info_.grid.points.end());
    std::size_t next = 0;
    writer.add_pieces("trajectory", shape, [&] { return std::span(courses[next++].states); });
    writer.add_bytes("by_solver", {rows, steps}, maker);
    writer.add_integers("solver_steps", {rows, steps}, paid);
    writer.add_integers("failed_step", {rows}, failed_step);
    if (request_.rules.how != How::share || request_.rules.placing == Placing::planned)
      writer.add("predicted_error", {rows, steps + 1}, predicted);
    const std::vector<std::string>& names = request_.parameters.names;
    if (!names.empty()) {
      writer.add_text_attribute(kParameterNames, fmt::format("{}", fmt::join(names, ",")));
      writer.add(kParameters, {rows, names.size()}, request_.parameters.values);
    }
    writer.commit();
  }

  // By trajectory and question, whatever the order of answers. What is asked of a step once more,
  // from another state, belongs to another acquisition.
  void write_solved(const Courses& courses) const {
    std::vector<std::pair<Provenance, const Course::Solved*>> all;
    for (std::size_t row = 0; row < courses.count(); ++row) {
      std::map<std::size_t, std::size_t> before;
      for (const Course::Solved& one : courses[row].solved)
        all.push_back({{before[one.step]++, row, one.step}, &one});
    }
    std::ranges::stable_sort(all, {}, [](const auto& one) { return one.first.acquisition; });
    TransitionSet set{.grid = info_.grid, .equation = info_.equation, .dt = info_.dt};
    set.parameters.names = request_.parameters.names;
    for (const auto& [origin, one] : all) {
      set.acquisitions = origin.acquisition + 1;
      set.origins.push_back(origin);
      set.inputs.insert(set.inputs.end(), one->input.begin(), one->input.end());
      set.outputs.insert(set.outputs.end(), one->output.begin(), one->output.end());
      set.parameters.add(request_.parameters.row(origin.candidate));
    }
    if (set.count() > 0) write_transitions(path() / kSolvedFile, set);
  }

  const SimulationRequest& request_;
  const StateInfo& info_;
  Value document_;
  std::string text_;
};

void check(const SimulationRequest& request, const Committee& committee, const Solver& solver) {
  const SimulationRules& rules = request.rules;
  const auto refuse = [](const std::string& why) { throw Error(ErrorKind::config, why); };
  if (rules.steps == 0 || request.initial.count() == 0) refuse("a simulation of nothing");
  check_initial(request.initial, "the input");
  const double needed = bytes_of_courses(request),
               there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > there)
    refuse(
        fmt::format("{} trajectories of {} steps take {:.3g} GB of memory, but this machine has "
                    "{:.3g}: simulate fewer at a time",
                    request.initial.count(), rules.steps, needed / 1e9, there / 1e9));
  if (rules.how != How::share && !(rules.tolerance > 0 && std::isfinite(rules.tolerance)))
    refuse(fmt::format("a tolerance of {:g} is none: give one above 0", rules.tolerance));
  if (rules.how == How::share && !(rules.share > 0 && rules.share <= 1))
    refuse(fmt::format("a share of {:g} is none: give one up to 1", rules.share));
  if (rules.how == How::verify && rules.draft == 0) refuse("drafts of no steps");
  if (rules.how == How::tolerance && (!request.bars || request.bars->cluster != 1))
    refuse("a tolerance needs error bars of networks that make one step at a time");
  if (rules.how == How::tolerance)  // before there is a folder
    HybridTurns(*request.bars, {.tolerance = rules.tolerance, .steps = rules.steps});
  if (rules.how == How::share && rules.placing == Placing::planned && committee.members() < 2)
    refuse(
        "only networks that disagree can plan where the solver helps most, and there is one: "
        "choose another placing");
  if (committee.grid().channels != solver.grid().channels ||
      committee.grid().points != solver.grid().points)
    refuse(fmt::format("the networks take states of {}, but {} has {}",
                       committee.grid().shape_text(), solver.name(), solver.grid().shape_text()));
  const std::vector<std::string>& names = request.parameters.names;
  for (const std::string& name : solver.parameters())
    if (std::ranges::find(names, name) == names.end())
      refuse(fmt::format("{} takes the parameter {}, but these networks know of {}", solver.name(),
                         name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

std::size_t most_solver_steps(const SimulationRules& rules, std::size_t trajectories) {
  const std::size_t each = rules.how == How::tolerance ? rules.steps
                           : rules.how == How::share   ? shared_steps(rules)
                                                       : rules.steps * rules.draft;
  return std::min(each * trajectories, rules.most.value_or(each * trajectories));
}

Simulated simulate(const SimulationRequest& request, Committee& committee,
                   std::shared_ptr<const Solver> solver, const StateInfo& info,
                   const fs::path& folder, Observer& observer, const StopAsked& stop) {
  check(request, committee, *solver);
  const SimulationFolder data(request, info, folder);
  return with_storage_errors([&] { return data.simulate(committee, *solver, observer, stop); });
}

}  // namespace stap
