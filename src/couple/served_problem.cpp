#include "couple/served_problem.h"

#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/couple/solver_table.h"

namespace stap {

void check_settings(const ServeOptions& options) {
  config::Value none;
  for (const std::string& setting : options.settings) {
    config::apply_override(none, setting);
    if (!setting.starts_with("solver."))
      throw Error(ErrorKind::config,
                  fmt::format("{}: a server has settings of the section solver only, for example "
                              "solver.scratch=/local",
                              setting));
  }
}

std::unique_ptr<ServedProblem> ServedProblem::open(const SpoolFolder& folder, const std::string& id,
                                                   const ServeOptions& options, std::string& flaw) {
  std::optional<std::string> text;
  SpoolProblem problem;
  try {
    text = folder.problem_text(id);
    if (!text) return nullptr;
    problem = read_problem(*text, id, folder.problem(id));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    flaw = error.what();
    return nullptr;
  }
  return std::unique_ptr<ServedProblem>(
      new ServedProblem(id, *std::move(text), std::move(problem), options));
}

ServedProblem::ServedProblem(std::string id, std::string text, SpoolProblem problem,
                             const ServeOptions& options)
    : id_(std::move(id)), text_(std::move(text)), problem_(std::move(problem)) {
  for (const std::string& setting : options.settings)
    config::apply_override(problem_.recipe, setting);
  config::Value how = *problem_.recipe.find("solver");
  how.erase("spool");  // here it is run
  if (options.slots > 0) how.set("slots", options.slots);
  const auto choice = solver_table().choose(how);
  const config::Value section = choice.value();
  if (const config::Value* slots = section.find("slots"))
    slots_ = slots->integer<std::uint64_t>().value_or(1);
  if (const config::Value* silence = config::find_path(section, "limits.server"))
    silence_ = silence->real().value_or(silence_);
  CoupleContext context{.failures = problem_.failures, .recipe = problem_.recipe};
  solver_ = choice.row->make(choice.options, problem_.outline, context);
  queue_ = solver_->open();
  // What one failure means for the run is for the run to say; that all fail may be this machine.
  breaker = Breaker({.breaker = solver_->failure_policy().breaker});
}

bool ServedProblem::changed(const SpoolFolder& folder) const {
  try {
    const auto text = folder.problem_text(id_);
    return text && *text != text_;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return false;  // it cannot be read just now
  }
}

}  // namespace stap
