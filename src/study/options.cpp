#include "stap/study/options.h"

namespace stap {

const config::Fields<StudyOptions>& study_fields() {
  using O = StudyOptions;
  using enum config::Affects;
  static const config::Fields<O> fields{
      {"steps", &O::steps, "learned steps of a trajectory (L)", config::between(1, 1e6)},
      {"cluster", &O::cluster,
       "states that a network takes and gives at once (k); steps and budget are multiples of it",
       config::between(1, 1e6)},
      {"pool", &O::pool, "initial conditions to choose from; 0: all of the file of initial", data,
       config::at_most(1e9)},
      {"test", &O::test, "test trajectories; 0: none, or all of the file of test", test,
       config::at_most(1e9)},
      {"initial", &O::initial,
       "full trajectories to start with, drawn from the pool; 0 only with the section first",
       training, config::at_most(1e9)},
      {"rounds", &O::rounds, "acquisitions (R); there are R + 1 trainings", rounds,
       config::between(0, 1e4)},
      {"budget", &O::budget, "solver steps per round", later, config::between(1, 1e12)},
      {"members", &O::members, "networks of the committee (M)", training, config::between(1, 1000)},
      {"data_seed", &O::data_seed, "seed of pool and test set", data},
      {"seed", &O::seed, "seed of the initial draw, weights, shuffles and selection", seed},
      {"checkpoint_epochs", &O::checkpoint_epochs, "epochs between two checkpoints", record,
       config::between(1, 1e7)},
      {"keep_committees", &O::keep_committees, "which rounds' networks stay on disk", record,
       config::choices<O::Keep>({{"last", O::Keep::last}, {"all", O::Keep::all}})},
      {"warm_start", &O::warm_start,
       "the networks of a round start from those of the round before, with a fresh optimiser, and "
       "are trained on all that was bought; else from fresh weights",
       later},
      {"on_unstable", &O::on_unstable,
       "what becomes of the steps after a query that is refused or fails: they stay unspent, or "
       "are spent on further trajectories in the same round",
       later,
       config::choices<OnUnstable>({{"drop", OnUnstable::drop}, {"refill", OnUnstable::refill}})},
      {"charge_failed", &O::charge_failed, "a query that fails costs a solver step", later},
      {"charge_warm_up", &O::charge_warm_up,
       "the budget also pays for the warm-up of every trajectory that is chosen, in learned steps; "
       "else initial conditions are free, as in the paper",
       later},
      {"trust_quantile", &O::trust_quantile,
       "trust band: refuse states of the mean model on which members are farther apart than on "
       "this share of the inputs bought so far; 0: no band",
       later, config::between(0, 1)},
      {"validation", &O::validation,
       "share of the bought candidates that is held back from training, to be measured on",
       training, config::between(0, 0.5)},
      {"stages", &O::stages,
       "most stages of a round's training: each continues the one before for twice as many "
       "steps, as long as the error on what validation holds back falls by at least 5 %; the best "
       "one counts. 1: one training, whatever comes of it",
       training, config::between(1, 12)},
      {"images", &O::images,
       "every round is also measured on the test set with each step the mean over the images of "
       "the state under train.symmetries, as stap predict --images makes it",
       record},
      {"distances", &O::distances,
       "what choosing counts distances of states in: the deviation of their channel, so that units "
       "do not matter, or the data's own units, in which the largest channel decides",
       later,
       config::choices<O::Distances>(
           {{"scaled", O::Distances::scaled}, {"physical", O::Distances::physical}})},
  };
  return fields;
}

const config::Fields<FileOptions>& file_fields() {
  static const config::Fields<FileOptions> fields{
      {"path", &FileOptions::path, "HDF5 file; relative to the configuration that names it",
       config::Affects::source},
  };
  return fields;
}

}  // namespace stap
