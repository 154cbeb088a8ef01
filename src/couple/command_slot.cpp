#include "couple/command_slot.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include "core/shortage.h"
#include "couple/connection.h"
#include "couple/launcher_log.h"
#include "couple/placeholders.h"
#include "couple/state_hdf5.h"
#include "stap/core/error.h"
#include "stap/data/npy.h"

namespace stap {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<std::size_t> shape_of(const Grid& grid) {
  std::vector<std::size_t> shape{grid.channels};
  shape.insert(shape.end(), grid.points.begin(), grid.points.end());
  return shape;
}

}  // namespace

std::map<std::string, std::string> placeholders_of(const Outline& outline, const fs::path& input,
                                                   const fs::path& output, const Query& query) {
  std::map<std::string, std::string> known{{"input", input.string()},
                                           {"output", output.string()},
                                           {"time", fmt::format("{}", query.time)},
                                           {"dt", fmt::format("{}", outline.dt)},
                                           {"steps", fmt::format("{}", query.steps)}};
  for (const Parameter& p : parameters_of(outline, query))
    known[p.name] = fmt::format("{}", p.value);
  return known;
}

CommandSlot::CommandSlot(const CommandOptions& options, const Launcher& launcher,
                         const Outline& outline, const CoupleContext& context,
                         const Scratch& scratch, std::size_t number)
    : options_(options),
      launcher_(launcher),
      outline_(outline),
      context_(context),
      scratch_(scratch),
      number_(number) {}

void CommandSlot::begin(const Query& query, int attempt) {
  query_ = &query;
  attempt_ = attempt;
  ended_because_.clear();
  folder_.clear();
  begun_ = Clock::now();
  waits_ = false;
  waited_ = 0.0;
  try {
    start();
  } catch (...) {  // no fault of the program's
    remove_folder(folder_);
    throw;
  }
}

void CommandSlot::start() {
  folder_ = scratch_.make(fmt::format("{}-{}", number_, ++calls_));
  const bool npy = options_.format == CommandOptions::Format::npy;
  input_ = folder_ / (npy ? "input.npy" : "input.h5");
  output_ = folder_ / (npy ? "output.npy" : "output.h5");
  if (!options_.files_from.empty()) copy_template();
  if (npy) {
    write_npy(input_, shape_of(outline_.grid), query_->state, false);
  } else {
    write_state_hdf5(input_, outline_, *query_);
  }
  const std::filesystem::path log_file = folder_ / "log.txt";
  const Descriptor log(open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (log.number() < 0)
    throw Error(ErrorKind::storage, fmt::format("cannot write {}: {}", log_file.string(),
                                                std::generic_category().message(errno)));
  std::map<std::string, std::string> known = placeholders_of(outline_, input_, output_, *query_);
  std::vector<std::string> words = launcher_.words(number_, known);
  known.merge(launcher_.placeholders(number_));
  const std::vector<std::string> program = filled_in(options_.argv.words, known);
  words.insert(words.end(), program.begin(), program.end());
  Launch launch{.argv = std::move(words),
                .env = options_.env,
                .folder = folder_,
                .out = log.number(),
                .err = log.number(),
                .grace = launcher_ ? std::max(options_.grace, kLauncherGrace) : options_.grace,
                .file_bytes_most = static_cast<std::uint64_t>(options_.limits.output)};
  process_.emplace(launch);
}

void CommandSlot::copy_template() const {
  std::error_code error;
  fs::copy(options_.files_from, folder_, fs::copy_options::recursive, error);
  if (!error) fs::remove_all(output_, error);  // an old one would be taken for the answer
  if (error)
    throw Error(ErrorKind::storage,
                fmt::format("cannot copy the template {} to {}: {}", options_.files_from.string(),
                            folder_.string(), error.message()));
}

void CommandSlot::watch(std::vector<pollfd>& descriptors) const {
  if (process_) descriptors.push_back({process_->descriptor(), POLLIN, 0});
}

std::optional<Outcome> CommandSlot::look() {
  if (!process_) return std::nullopt;
  const std::optional<Ending> ending = process_->ended();
  if (launcher_) look_for_room();
  if (!ending) return std::nullopt;
  process_.reset();
  std::optional<Outcome> judged;
  try {
    judged = judge(*ending);
  } catch (...) {  // ours
    remove_folder(folder_);
    throw;
  }
  std::error_code ignored;
  if (!context_.kept.empty() && judged->answer.status == Answer::Status::ok) {
    fs::create_directories(context_.kept, ignored);
    fs::copy(folder_, context_.kept / folder_.filename(), fs::copy_options::recursive, ignored);
  }
  remove_folder(folder_);
  return judged;
}

// What passes while a launcher waits is no time of the program's.
void CommandSlot::look_for_room() {
  waits_ = !launcher_words(folder_ / "log.txt").waits.empty();
  if (waits_) waited_ = std::chrono::duration<double>(Clock::now() - begun_).count();
}

// What the launcher says comes before its exit code, which is 0 also where a node is lost.
std::optional<Outcome> CommandSlot::judge_launcher(const Ending& ending) {
  const LauncherWords said = launcher_words(folder_ / "log.txt");
  if (!said.node_lost.empty())
    return failed(fmt::format("{}: {}", kNodeLost, said.node_lost), false, true);
  if (launcher_.is_known() && ending.by_force())
    return failed(fmt::format("its launcher was ended by {}", ending.text()), false, true);
  // It is 0 as well where a node could not launch a task.
  std::error_code error;
  if (said.not_started.empty() || (ending.good() && fs::exists(output_, error)))
    return std::nullopt;
  Outcome outcome = failed("its launcher could not start it: " + said.not_started, false, true);
  outcome.lost = false;
  outcome.not_begun = true;
  return outcome;
}

Outcome CommandSlot::judge(const Ending& ending) {
  if (ended_because_ == kNotWanted) return {};
  ending.check_lack();
  if (!ended_because_.empty()) return failed(ended_because_, false);
  if (launcher_ && ending.start_error == 0)
    if (auto outcome = judge_launcher(ending)) return *std::move(outcome);
  if (ending.start_error != 0) return failed(ending.text(), false, ending.start_error == ETXTBSY);
  if (ending.signal == SIGXFSZ)
    return failed(fmt::format("it wrote a file of more than {} bytes (limits.output)",
                              static_cast<std::uint64_t>(options_.limits.output)),
                  false);
  if (!ending.good()) {
    const std::string words = last_words(folder_ / "log.txt");
    return failed(ending.text() + (words.empty() ? "" : ": " + words), true);
  }
  if (files_below(folder_, options_.limits.files) > options_.limits.files)
    return failed(fmt::format("it left more than {} files (limits.files)", options_.limits.files),
                  false);
  Outcome outcome;
  try {
    outcome.answer.states = read_output();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw Error(ErrorKind::storage, error.what());
    return failed(fmt::format("exit code 0, but {}", error.what()), false);
  }
  std::vector<double>& states = outcome.answer.states;
  if (const std::string flaw = cut_at_flaw(states, outline_.grid.values()); !flaw.empty()) {
    Outcome flawed =
        failed(fmt::format("exit code 0, but in {} {}", output_.filename().string(), flaw), false);
    flawed.answer.states = std::move(states);
    return flawed;
  }
  outcome.answer.status = Answer::Status::ok;
  // If it never said that it had begun, nobody knows.
  outcome.answer.seconds = waits_ ? ending.seconds : std::max(ending.seconds - waited_, 0.0);
  return outcome;
}

// [C, X...] for one step; [steps, C, X...] always.
std::vector<double> CommandSlot::read_output() const {
  std::error_code error;
  const fs::file_status status = fs::status(output_, error);
  if (!fs::exists(status))
    throw Error(error && is_shortage(error.value()) ? ErrorKind::storage : ErrorKind::data,
                fmt::format("there is no {}", output_.filename().string()));
  if (!fs::is_regular_file(status))  // to open another kind may take for ever
    throw Error(ErrorKind::data, fmt::format("{} is no file", output_.filename().string()));
  const std::size_t values = query_->steps * outline_.grid.values();
  Array<double> array = options_.format == CommandOptions::Format::npy ? read_npy(output_, values)
                                                                       : read_states_hdf5(output_);
  std::vector<std::size_t> wanted = shape_of(outline_.grid);
  if (query_->steps == 1 && array.shape == wanted) return std::move(array.values);
  wanted.insert(wanted.begin(), query_->steps);
  if (array.shape != wanted)
    throw Error(ErrorKind::data,
                fmt::format("{} has the shape {}, expected {}", output_.filename().string(),
                            shape_text(array.shape), shape_text(wanted)));
  return std::move(array.values);
}

Outcome CommandSlot::failed(const std::string& reason, bool worth_a_retry, bool lost) {
  Outcome outcome;
  outcome.worth_a_retry = worth_a_retry;
  outcome.lost = lost;
  outcome.answer.reason = reason;
  outcome.answer.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  fs::path bundle;
  if (!lost && !folder_.empty() &&
      keep_bundle(folder_, context_.failures, options_.failures_kept, context_.recipe,
                  outline_.grid, *query_, attempt_, reason, bundle))
    outcome.answer.reason += fmt::format(" (kept in {})", bundle.string());
  return outcome;
}

void CommandSlot::end(const std::string& why) {
  ended_because_ = why;
  if (process_) process_->end();
}

CommandSlot::Clock::time_point CommandSlot::due() const {
  return process_ ? process_->due() : Clock::time_point::max();
}

std::string CommandSlot::where() const {
  if (!process_) return "ended";
  return fmt::format("below process {}{}", process_->warden(), waits_ ? ", waits for room" : "");
}

}  // namespace stap
