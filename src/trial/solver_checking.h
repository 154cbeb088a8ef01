// The checks of `stap solver check`, one after the other on one solver. Sources:
// solver_check_runs.cpp (that it runs, and what that takes), solver_check_repeats.cpp (the same
// answer on other ways), solver_check_inputs.cpp (other states), solver_check_parameters.cpp (other
// parameters).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/solver_asking.h"
#include "stap/core/conserved.h"
#include "stap/trial/solver_check.h"

namespace stap {

inline constexpr double kLeastToTell = 0.05;  // seconds; of shorter calls chance is what is seen
// First, second step, again, perturbed, another time, place and mean, scaled; one that is ended,
// two at a time.
inline constexpr std::size_t kCallsBefore = 8, kCallsBehind = 3, kCallsOfHalfSteps = 2;

/// "u from 0 to 1, v from -1 to 3"
std::string range_text(const Solver& solver, const std::vector<double>& state);

class SolverChecking {
 public:
  SolverChecking(const SolverToCheck& asked, std::size_t calls_most, Observer& observer,
                 const StopAsked& stop);
  SolverCheck run() &&;

 private:
  using Clock = SolverQueue::Clock;
  using Seconds = std::chrono::duration<double>;
  using Verdict = CheckRow::Verdict;
  using State = std::vector<double>;
  using Told = SolverTold;

  void row(const char* name, Verdict verdict, std::string text);
  bool can(std::size_t calls, const char* name);
  Told ask(const State& state, double time, std::size_t steps = 1);
  // All of them at the same time.
  std::vector<Told> ask(const Solver& solver, SolverQueue& queue, const std::vector<State>& states,
                        const std::vector<double>& times, std::size_t steps = 1);
  double dt() const { return solver_->dt(); }
  double later() const { return later_time(asked_.time, asked_.span, dt()); }
  void have_parameters_of(std::size_t state);
  // Whether two answers that should be equal are, as far as its noise lets one tell.
  bool equal(const State& a, const State& b) const { return difference(a, b) <= 10.0 * noise_; }

  bool first_answer();  // finds an initial condition that it can advance: all else is about it
  void own_answer();    // the second step of a trajectory, with which others are compared, too
  void ended_early();   // ends a call under way, as Ctrl-C and time limits do
  void seconds();
  void files();
  void again();  // whether an answer is a function of the query
  void judge_noise(const char* name);
  void mates();
  void half_steps();
  void several_steps();
  void other_parameters();  // one call for each that varies
  void another_time();
  void another_place();
  void walls();         // where the place matters: one call for each axis
  void symmetries();    // one call for each that is stated
  void another_mean();  // the state shifted, for:
  void means();
  void note_means(const State& from, const State& to);
  void perturbed();
  void scaled();
  void not_a_number();
  void more_states();

  const SolverToCheck& asked_;
  std::size_t most_, planned_;
  Observer& observer_;
  const StopAsked& stop_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<SolverQueue> queue_;
  SolverCheck found_;
  State input_, answer_, second_;   // a trajectory
  std::vector<double> parameters_;  // with which is asked: those of input_
  std::vector<MeanChange> means_;   // of the channels, the most of all steps that were made
  State later_;                     // the answer to input_ at later(); empty if there is none
  std::size_t tried_ = 0;           // initial conditions
  double first_wall_ = 0.0, first_cpu_ = 0.0;
  double noise_ = 0.0;  // relative difference of two answers to one query
};

}  // namespace stap
