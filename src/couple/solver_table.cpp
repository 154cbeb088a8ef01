#include "stap/couple/solver_table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "couple/command_slot.h"
#include "couple/placeholders.h"
#include "couple/scratch.h"
#include "couple/slot_queue.h"
#include "stap/core/error.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// The fields that every kind has, of options derived from SolverOptions.
template <class Options>
std::vector<config::Field<Options>> common_fields() {
  using O = SolverOptions;
  using OnFailure = SolverOptions::OnFailure;
  const auto in = []<class T>(T O::*member) -> T Options::* { return member; };
  return {
      {"argv", in(&O::argv), "the program and its arguments, a list; {here}: this file's folder"},
      {"env", in(&O::env), "added to the environment: NAME=value"},
      {"slots", in(&O::slots), "queries at the same time", config::between(1, 100000)},
      {"steps_at_once", in(&O::steps_at_once), "the most consecutive steps that are one call",
       config::between(1, 1000000)},
      {"scratch", in(&O::scratch),
       "where folders of queries are made; empty: the system's for temporary files"},
      {"on_failure", in(&O::on_failure),
       "what becomes of a query that crashed: skip it, retry first, or end the run",
       config::choices<OnFailure>(
           {{"skip", OnFailure::skip}, {"retry", OnFailure::retry}, {"abort", OnFailure::abort}})},
      {"retries", in(&O::retries), "how often, with on_failure: retry", config::between(0, 100)},
      {"breaker", in(&O::breaker),
       "end the run if the first three queries fail, or over half of the last 20"},
      {"stragglers", in(&O::stragglers),
       "share of a round's queries that may be given back, unpaid, when only they still run",
       config::at_least(0).below(0.5)},
      {"grace", in(&O::grace), "between SIGTERM and SIGKILL", config::between(0, 3600), "s"},
      {"failures_kept", in(&O::failures_kept), "bundles of failed queries that are kept, at most",
       config::at_most(10000)},
      {"limits", in(&O::limits), "what a program may take", solver_limits_fields()},
  };
}

template <class Options>
config::Fields<Options> fields_with(std::vector<config::Field<Options>> own) {
  std::vector<config::Field<Options>> all = common_fields<Options>();
  all.insert(all.begin() + 1, own.begin(), own.end());
  return config::Fields<Options>(all);
}

// Whether a program of this name can be started.
bool is_there(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const fs::path folder(rest.substr(0, colon));
    if (access((folder / program).c_str(), X_OK) == 0 && !fs::is_directory(folder / program))
      return true;
    if (colon == std::string_view::npos) return false;
    rest.remove_prefix(colon + 1);
  }
}

void check(const SolverOptions& options) {
  const std::vector<std::string>& argv = options.argv.words;
  if (argv.empty() || argv[0].empty())
    throw Error(ErrorKind::config,
                "argv is empty, expected a program and its arguments: argv: [./solver, "
                "\"{input}\", \"{output}\"]");
  if (!is_there(argv[0]))
    throw Error(
        ErrorKind::config,
        fmt::format("argv names the program {}, which {}", argv[0],
                    argv[0].find('/') == std::string::npos
                        ? "is not in PATH; one beside the configuration is ./" + argv[0]
                        : (fs::exists(argv[0]) ? "cannot be run (chmod +x)" : "does not exist")));
  for (const std::string& entry : options.env)
    if (entry.find('=') == std::string::npos || entry[0] == '=')
      throw Error(ErrorKind::config, fmt::format("env has '{}', expected NAME=value", entry));
}

// What kinds of solver have in common: the outline's guard, policies, and a queue over slots.
class CoupledSolver : public Solver {
 protected:
  CoupledSolver(const SolverOptions& options, Outline outline, CoupleContext context)
      : Solver(outline.name, outline.grid, outline.dt, options.steps_at_once),
        outline_(std::move(outline)),
        context_(std::move(context)),
        policy_{options.on_failure == SolverOptions::OnFailure::abort, options.breaker,
                options.stragglers},
        rules_{options.slots,
               options.on_failure == SolverOptions::OnFailure::retry ? options.retries : 0,
               options.limits, options.grace} {}

  std::vector<std::string> channels() const override { return outline_.channels; }
  FailurePolicy failure_policy() const override { return policy_; }

  const Outline& outline() const { return outline_; }
  const CoupleContext& context() const { return context_; }
  const SlotRules& rules() const { return rules_; }

 private:
  std::string guard(const Query& query) const override {
    return guard_refusal(outline_, query.state);
  }

  Outline outline_;
  CoupleContext context_;
  FailurePolicy policy_;
  SlotRules rules_;
};

class CommandSolver final : public CoupledSolver {
 public:
  CommandSolver(const CommandOptions& options, Outline outline, CoupleContext context)
      : CoupledSolver(options, std::move(outline), std::move(context)), options_(options) {}

 private:
  std::unique_ptr<SolverQueue> open_queue() const override {
    return make_slot_queue(
        rules(), [this, scratch = std::make_shared<Scratch>(options_.scratch)](std::size_t number) {
          return std::make_unique<CommandSlot>(options_, outline(), context(), *scratch, number);
        });
  }

  CommandOptions options_;
};

template <class Options>
auto made(const config::Fields<Options>& (*fields)(),
          std::unique_ptr<Solver> (*make)(const Options&, const Outline&, const CoupleContext&)) {
  return [fields, make](const config::AnyOptions& options, const Outline& outline,
                        const CoupleContext& context) {
    return make(options.as(fields()), outline, context);
  };
}

config::Registry<CoupledRow>& table() {
  static config::Registry<CoupledRow> rows(
      "solver", "how a solver that is not built in is reached (pde: external)",
      {
          {{"command", "a program that is started for every call, with files for input and output",
            &command_fields()},
           made(&command_fields, &make_command_solver)},
      });
  return rows;
}

}  // namespace

const config::Fields<SolverLimits>& solver_limits_fields() {
  using O = SolverLimits;
  static const config::Fields<O> fields{
      {"seconds", &O::seconds, "of one call; 0: automatic, once 8 answers are known",
       config::at_least(0), "s"},
      {"factor", &O::factor, "automatic: so many medians of the answers' seconds; 0: no limit",
       config::at_least(0)},
      {"least", &O::least, "automatic: but at least this", config::at_least(0), "s"},
      {"start", &O::start, "for a worker to come up", config::above(0), "s"},
      {"silence", &O::silence, "without a sign of a worker that sends heartbeats; 0: automatic",
       config::at_least(0), "s"},
      {"output", &O::output, "of one file that it writes, its log included",
       config::between(1e3, 1e15), "byte"},
      {"files", &O::files, "that it may leave in its folder", config::at_least(1)},
  };
  return fields;
}

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
  check(options);
  filled_in(options.argv.words,
            placeholders_of(outline, "input", "output", 0.0, 1));  // throws what is wrong in it
  const auto mentions = [&](const char* name) {
    return std::ranges::any_of(options.argv.words, [&](const std::string& word) {
      return word.find(name) != std::string::npos;
    });
  };
  if (options.steps_at_once > 1 && !mentions("{steps}"))
    throw Error(ErrorKind::config,
                fmt::format("steps_at_once is {}, but argv does not tell the program how many are "
                            "asked: put {{steps}} into it",
                            options.steps_at_once));
  if (!options.files_from.empty() && !fs::is_directory(options.files_from))
    throw Error(ErrorKind::config, fmt::format("template is {}, and there is no such folder",
                                               options.files_from.string()));
  return std::make_unique<CommandSolver>(options, outline, context);
}

const config::Registry<CoupledRow>& solver_table() {
  return table();
}

void add_solver(CoupledRow row) {
  table().add(std::move(row));
}

}  // namespace stap
