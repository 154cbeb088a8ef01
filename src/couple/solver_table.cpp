#include "stap/couple/solver_table.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "couple/coupled_solver.h"
#include "stap/core/error.h"
#include "stap/couple/by_hand.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

// Whether a program of this name can be started.
bool can_be_started(const std::string& program) {
  const auto can_be_run = [](const fs::path& file) {
    std::error_code error;
    return access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error);
  };
  if (program.find('/') != std::string::npos) return can_be_run(program);
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const fs::path folder(rest.substr(0, colon));
    if (can_be_run(folder / program)) return true;
    if (colon == std::string_view::npos) return false;
    rest.remove_prefix(colon + 1);
  }
}

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
      config::Affects::solver,
      {
          {{"command", "a program that is started for every call, with files for input and output",
            &command_fields()},
           made(&command_fields, &make_command_solver)},
          {{"worker", "a program that is started once and asked again and again", &worker_fields()},
           made(&worker_fields, &make_worker_solver)},
          {{kByHand, "somebody else, who computes elsewhere: 'stap ask', 'stap tell'",
            &by_hand_fields()},
           [](const config::AnyOptions& options, const Outline& outline, const CoupleContext&) {
             return make_by_hand_solver(outline, options.as(by_hand_fields()));
           }},
      });
  return rows;
}

}  // namespace

void check_program(const SolverOptions& options) {
  const std::vector<std::string>& argv = options.argv.words;
  if (argv.empty() || argv[0].empty())
    throw Error(ErrorKind::config,
                "argv is empty, expected a program and its arguments: argv: [./solver, "
                "\"{input}\", \"{output}\"]");
  const auto check = [](const char* key, const std::string& program) {
    if (can_be_started(program)) return;
    throw Error(ErrorKind::config,
                fmt::format("{} names the program {}, which {}", key, program,
                            program.find('/') == std::string::npos
                                ? "is not in PATH; one beside the configuration is ./" + program
                                : (access(program.c_str(), F_OK) == 0 ? "cannot be run (chmod +x)"
                                                                      : "does not exist")));
  };
  const std::vector<std::string>& launch = options.launch.words;
  // What servers start need not be there on the machine that asks.
  if (options.spool.empty() && !launch.empty()) check("launch", launch[0]);
  if (options.spool.empty() && (launch.empty() || argv[0].find('/') != std::string::npos))
    check("argv", argv[0]);
  for (const std::vector<std::string>* list : {&argv, &launch, &options.env})
    for (const std::string& word : *list)
      if (word.find('\0') != std::string::npos)
        throw Error(ErrorKind::config,
                    fmt::format("{} has '{}' with a zero byte behind it, which no program can be "
                                "given",
                                list == &argv     ? "argv"
                                : list == &launch ? "launch"
                                                  : "env",
                                word.c_str()));
  for (const std::string& entry : options.env)
    if (entry.find('=') == std::string::npos || entry[0] == '=')
      throw Error(ErrorKind::config, fmt::format("env has '{}', expected NAME=value", entry));
}

std::vector<std::string> names_in(const std::vector<std::string>& env) {
  std::vector<std::string> names;
  for (const std::string& entry : env) names.push_back(entry.substr(0, entry.find('=')));
  return names;
}

const config::Fields<SolverLimits>& solver_limits_fields() {
  using O = SolverLimits;
  constexpr double kLongest = 1e9;  // 30 years, which clocks can add
  static const config::Fields<O> fields{
      {"seconds", &O::seconds, "of one call; 0: automatic, once 8 answers are known",
       config::between(0, kLongest), "s"},
      {"factor", &O::factor, "automatic: so many medians of the answers' seconds; 0: no limit",
       config::between(0, kLongest)},
      {"least", &O::least, "automatic: but at least this", config::between(0, kLongest), "s"},
      {"start", &O::start, "for a worker to come up", config::above(0).at_most(kLongest), "s"},
      {"launch", &O::launch, "without room for a launcher until a query fails of it",
       config::between(0, kLongest), "s"},
      {"silence", &O::silence, "without a sign of a worker that sends heartbeats; 0: automatic",
       config::between(0, kLongest), "s"},
      {"server", &O::server, "without a sign of a server ('stap serve'), which is then given up",
       config::between(1, 86400), "s"},
      {"output", &O::output, "of one file that it writes, its log included",
       config::between(1e3, 1e15), "byte"},
      {"files", &O::files, "that it may leave in its folder", config::between(1, 1e9)},
  };
  return fields;
}

const config::Registry<CoupledRow>& solver_table() {
  return table();
}

void add_solver(CoupledRow row) {
  table().add(std::move(row));
}

}  // namespace stap
