#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stap/acquire/planner.h"
#include "stap/core/solver.h"
#include "stap/core/symmetry.h"
#include "stap/couple/solver_table.h"
#include "stap/ic/ic.h"
#include "stap/nn/compute.h"
#include "stap/nn/family.h"
#include "stap/nn/options.h"
#include "stap/pde/pde.h"
#include "stap/study/options.h"
#include "stap/study/program_sampler.h"

namespace stap {

/// Every section of a study's configuration: pde, solver, initial, test, network, train, study,
/// base, steps, planner (where there is one to choose), compute. As the tables stand now.
std::vector<config::Family> study_families();

/// A configuration, read once: what was chosen, as values to make things of.
struct Study {
  config::Value effective;  ///< the whole document, every field with its value
  config::Value given;      ///< as it was written, method written out: origin_of(given, "pde.dt")

  StudyOptions options;
  NetworkOptions network;
  FitOptions train;
  ComputeOptions compute;
  config::Choice<PdeRow> pde;
  config::Choice<CoupledRow> solver;   ///< how it is reached, if it is not ours
  config::Choice<SamplerRow> initial;  ///< nothing where one of the next two is
  std::optional<ProgramSamplerOptions> initial_program;
  std::filesystem::path initial_file, test_file;  ///< absolute; empty: drawn
  std::filesystem::path first_file;               ///< absolute; empty: none
  config::Choice<SelectorRow> base;               ///< both of these,
  config::Choice<ChooserRow> steps;
  config::Choice<PlannerRow> planner;  ///< or this one

  /// Where bundles of failed queries go, of solvers that are not ours; empty: none are kept.
  std::filesystem::path failures;

  Grid grid;                          ///< of the equation's states, one at a time
  double dt = 0.0;                    ///< its learned step
  std::vector<std::string> channels;  ///< their names; all of these are set where a solver was made
  SharedFixedFields fixed;            ///< of all states

  bool has_method() const { return planner || (base && steps); }
  /// Whether nothing is missing that a run needs.
  bool complete() const { return pde && (drawn() || !initial_file.empty()) && has_method(); }
  /// Whether initial conditions are drawn, and not read from a file.
  bool drawn() const { return initial || initial_program; }
};

/// What a configuration is read for.
enum class Purpose {
  check,     ///< what is there must be right and fit; nothing need be there
  generate,  ///< pde and initial must be there; a method need not, nor fit
  run,       ///< all of it must be there and fit, and files be readable
  train,     ///< as run, but a solver that is not ours is not asked, so it need not be here
  look,      ///< at what was run: all must be there, but nothing is made or looked for again, and a
             ///< method need not be one that this program has
};

/// Reads every section and asks whether they fit each other. Complaints have the origin of the key
/// they are about. With complaints the study holds what could be read.
Study read_study(config::Value document, Purpose purpose, config::Complaints& complaints);
/// Throws Error(config) with all complaints.
Study make_study(config::Value document, Purpose purpose = Purpose::run);

/// What is allowed and may be a mistake, in a sentence for people; or nothing.
std::string pool_note(const Study& study);
std::string hidden_channels_note(const Study& study);

/// The one place that makes solvers of a table's rows. `threads`: 0 = all. Throws Error(config) for
/// one that is not ours.
std::unique_ptr<Solver> make_solver(const config::Choice<PdeRow>& pde, int threads);
/// The same of any study; a solver that is not ours is reached as the section `solver` says.
std::unique_ptr<Solver> make_solver(const Study& study, int threads);
/// Throws Error(config) if initial conditions come from a file.
std::unique_ptr<Sampler> make_sampler(const Study& study, const Grid& grid);
std::unique_ptr<Sampler> make_sampler(const config::Choice<SamplerRow>& initial, const Grid& grid);
/// What the study's networks are.
NetworkSpec study_network(const Study& study);
/// The study's method.
std::unique_ptr<Planner> make_planner(const Study& study);

/// The maps that training may apply to transitions (train.symmetries), on what networks take, with
/// parameters by their names; none without symmetries. Throws Error(config) for what is no symmetry
/// of such states.
std::vector<StateMap> make_symmetries(const Study& study);
/// Those over whose images its networks can be measured and predict (make_image_maps()).
std::vector<StateMap> make_images(const Study& study);

/// A run's configuration with what it means by keys that the version which wrote it did not know,
/// where that is not their default.
config::Value with_older_meaning(config::Value document);
/// The same of a study that goes on with such a run, unless its own document says otherwise.
void keep_older_meaning(Study& study, const config::Value& of_run);

/// "study.seed: 0 here, 1 there" for every field in which two documents differ.
std::vector<std::string> differences(const config::Value& here, const config::Value& there,
                                     const std::string& where);

}  // namespace stap
