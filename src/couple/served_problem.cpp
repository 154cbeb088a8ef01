#include "couple/served_problem.h"

#include <utility>

#include <fmt/format.h>

#include "stap/core/error.h"
#include "stap/couple/solver_table.h"

namespace stap {
namespace {

constexpr std::size_t kFileMost = std::size_t{16} << 20;

}  // namespace

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

ServedProblem::ServedProblem(const SpoolFolder& folder, std::string id, const ServeOptions& options)
    : id_(std::move(id)) {
  const std::filesystem::path file = folder.problem(id_);
  const auto bytes = bytes_of(file, kFileMost);
  if (!bytes) throw Error(ErrorKind::data, fmt::format("cannot read {}", file.string()));
  text_ = *bytes;
  problem_ =
      read_problem(config::parse_json({reinterpret_cast<const char*>(text_.data()), text_.size()},
                                      file.string()),
                   file);
  if (problem_id(problem_.outline) != id_)
    throw Error(ErrorKind::data,
                fmt::format("{} is about another problem than its name says", file.string()));
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
  const auto bytes = bytes_of(folder.problem(id_), kFileMost);
  return bytes && *bytes != text_;
}

}  // namespace stap
