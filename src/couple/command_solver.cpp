#include <memory>

#include <fmt/format.h>

#include "couple/command_slot.h"
#include "couple/coupled_solver.h"
#include "couple/launch.h"
#include "couple/placeholders.h"
#include "couple/scratch.h"
#include "couple/solver_fields.h"
#include "couple/state_hdf5.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

Launcher launcher_of(const CommandOptions& options) {
  return Launcher(options, {.variables = names_in(options.env)});
}

class CommandSolver final : public CoupledSolver {
 public:
  CommandSolver(const CommandOptions& options, Outline outline, CoupleContext context)
      : CoupledSolver(options, std::move(outline), std::move(context)),
        options_(options),
        launcher_(launcher_of(options)) {}

 private:
  std::unique_ptr<SolverQueue> open_slots() const override {
    return make_slot_queue(
        rules(), [this, scratch = std::make_shared<Scratch>(options_.scratch)](std::size_t number) {
          return std::make_unique<CommandSlot>(options_, launcher_, outline(), context(), *scratch,
                                               number);
        });
  }

  CommandOptions options_;
  Launcher launcher_;
};

}  // namespace

const config::Fields<CommandOptions>& command_fields() {
  using O = CommandOptions;
  static const config::Fields<O> fields = fields_with<O>(
      {{"format", &O::format, "of input and output: .npy, or HDF5 with a dataset 'state'",
        config::choices<O::Format>({{"npy", O::Format::npy}, {"hdf5", O::Format::hdf5}})},
       {"template", &O::files_from, "a folder whose content is copied into every query's"}});
  return fields;
}

std::unique_ptr<Solver> make_command_solver(const CommandOptions& options, const Outline& outline,
                                            const CoupleContext& context) {
  check_program(options);
  if (options.format == CommandOptions::Format::hdf5) check_hdf5();
  const Launcher launcher = launcher_of(options);
  std::map<std::string, std::string> known = placeholders_of(
      outline, "input", "output", {.params = std::vector(varied_names(outline).size(), 0.0)});
  launcher.words(0, known);  // throws what is wrong in it
  known.merge(launcher.placeholders(0));
  filled_in(options.argv.words, known);
  if (launcher && launcher.allocation().on_other_nodes() && options.scratch.empty() &&
      options.spool.empty())
    throw Error(ErrorKind::config,
                fmt::format("scratch is empty, so that calls would have their files in a folder of "
                            "this machine, but they run on {}: name a folder that all of them see",
                            launcher.allocation().text()));
  if (options.steps_at_once > 1 && !mentions(options.argv.words, "{steps}"))
    throw Error(ErrorKind::config,
                fmt::format("steps_at_once is {}, but argv does not tell the program how many are "
                            "asked: put {{steps}} into it",
                            options.steps_at_once));
  if (options.format == CommandOptions::Format::npy)
    for (const std::string& name : varied_names(outline))
      if (!mentions(options.argv.words, fmt::format("{{{}}}", name)))
        throw Error(ErrorKind::config,
                    fmt::format("the parameter {} varies, but argv does not tell it to the "
                                "program: put {{{}}} into it, or choose format hdf5, where it is "
                                "an attribute",
                                name, name));
  if (!options.files_from.empty() && !fs::is_directory(options.files_from))
    throw Error(ErrorKind::config, fmt::format("template is {}, and there is no such folder",
                                               options.files_from.string()));
  if (!options.files_from.empty()) {
    std::error_code error;
    const fs::path scratch = fs::weakly_canonical(
        options.scratch.empty() ? fs::temp_directory_path(error) : options.scratch, error);
    const fs::path inside = scratch.lexically_relative(fs::weakly_canonical(options.files_from));
    if (!inside.empty() && *inside.begin() != "..")
      throw Error(ErrorKind::config,
                  fmt::format("template is {}, which holds the scratch folder {}, so it would be "
                              "copied into itself: choose another scratch",
                              options.files_from.string(), scratch.string()));
  }
  return std::make_unique<CommandSolver>(options, outline, context);
}

}  // namespace stap
