// The options that all kinds of program have in common.
#pragma once

#include <vector>

#include "stap/couple/solver_options.h"

namespace stap {

// The fields that every kind has, of options derived from SolverOptions.
template <class Options>
std::vector<config::Field<Options>> common_fields() {
  using O = SolverOptions;
  using enum config::Affects;
  using OnFailure = SolverOptions::OnFailure;
  const auto in = []<class T>(T O::*member) -> T Options::* { return member; };
  return {
      {"argv", in(&O::argv), "the program and its arguments, a list; {here}: this file's folder"},
      {"launch", in(&O::launch),
       "what comes before it and starts it, a list; srun, mpirun and mpiexec alone stand for "
       "theirs",
       config::one_of({"srun", "mpirun", "mpiexec"})},
      {"ranks", in(&O::ranks), "of a slot: {ranks} of launch", config::between(1, 1000000)},
      {"nodes", in(&O::nodes), "that they are spread over: {nodes} of launch",
       config::between(1, 100000)},
      {"memory", in(&O::memory), "of a slot on each of them: {memory} of launch; empty: not said"},
      {"hosts", in(&O::hosts), "a file of the hosts to use; empty: those of the job"},
      {"env", in(&O::env), "added to the environment: NAME=value; {here}: this file's folder"},
      {"slots", in(&O::slots), "queries at the same time; auto: as many as the job has room for",
       machine, config::between(1, 100000).or_word("auto", 0)},
      {"steps_at_once", in(&O::steps_at_once), "the most consecutive steps that are one call",
       config::between(1, 1000000)},
      {"spool", in(&O::spool),
       "a folder on a shared file system: queries run where 'stap serve FOLDER' does, not here"},
      {"scratch", in(&O::scratch),
       "where folders of queries are made; empty: the system's for temporary files", machine},
      {"on_failure", in(&O::on_failure),
       "what becomes of a query that crashed: skip it, retry first, or end the run", machine,
       config::choices<OnFailure>(
           {{"skip", OnFailure::skip}, {"retry", OnFailure::retry}, {"abort", OnFailure::abort}})},
      {"retries", in(&O::retries), "how often, with on_failure: retry", machine,
       config::between(0, 100)},
      {"breaker", in(&O::breaker),
       "end the run if the first three queries fail, or over half of the last 20", machine},
      {"stragglers", in(&O::stragglers),
       "share of a round's queries that may be given back, unpaid, when only they still run",
       machine, config::at_least(0).below(0.5)},
      {"grace", in(&O::grace), "between SIGTERM and SIGKILL", machine, config::between(0, 3600),
       "s"},
      {"failures_kept", in(&O::failures_kept), "bundles of failed queries that are kept, at most",
       machine, config::at_most(10000)},
      {"limits", in(&O::limits), "what a program may take", solver_limits_fields(), machine},
  };
}

template <class Options>
config::Fields<Options> fields_with(std::vector<config::Field<Options>> own) {
  std::vector<config::Field<Options>> all = common_fields<Options>();
  all.insert(all.begin() + 1, own.begin(), own.end());
  return config::Fields<Options>(all);
}

}  // namespace stap
