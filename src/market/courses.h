// Trajectories that a surrogate and a solver make together, as simulate() has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stap/core/answer_record.h"
#include "stap/core/committee.h"
#include "stap/core/observer.h"
#include "stap/core/stop.h"
#include "stap/market/simulate.h"

namespace stap {

/// One step of the solver that a trajectory waits for.
struct CourseQuestion {
  std::size_t number = 0;  ///< by which its answer is recorded
  std::size_t step = 0;    ///< 0-based
  std::vector<double> input{};
};

/// One trajectory.
struct Course {
  std::vector<double> states{};           ///< [L + 1, C, X...], as far as they are made
  std::vector<double> predicted{};        ///< [L + 1]
  std::vector<std::uint8_t> by_solver{};  ///< [L]
  std::vector<std::int64_t> paid{};       ///< [L]: steps of the solver for each
  std::vector<CourseQuestion> questions{};
  std::size_t settled = 0;  ///< states that will not change any more, but for the input
  bool beyond = false;      ///< not within the tolerance
  /// 1 .. L: the first that the solver could not make from where the trajectory was; -1: none.
  std::int64_t failed_step = -1;
  std::vector<std::string> troubles{};  ///< all refusals and failures
  /// What the solver made of what.
  struct Solved {
    std::size_t step = 0;
    std::vector<double> input, output;
  };
  std::vector<Solved> solved{};
};

/// All of them, under one of the rules. What becomes of one does not depend on the others.
class Courses {
 public:
  Courses(const SimulationRequest& request, Committee& committee);
  virtual ~Courses() = default;

  std::size_t count() const { return courses_.size(); }
  const Course& operator[](std::size_t row) const { return courses_[row]; }

  /// The surrogate's work for these, none of which waits for the solver: then each has questions,
  /// or is done. Throws Stopped where that may take long.
  virtual void move(std::span<const std::size_t> rows) = 0;
  /// Takes the answers to all of a row's questions, in their order.
  void take(std::size_t row, std::span<AnswerRecord> answers);

 protected:
  // False: the solver cannot go on from where the trajectory is.
  virtual bool use(std::size_t row, std::span<AnswerRecord> answers) = 0;

  std::span<double> state(std::size_t row, std::size_t time);
  std::span<const float> single(std::size_t row, std::size_t time);  // in networks' precision
  void ask(std::size_t row, std::size_t number, std::size_t step, std::span<const double> input);
  /// Steps that each may ask the solver for.
  std::size_t allowed(std::size_t row) const;

  const SimulationRequest& request_;
  Committee& committee_;
  std::vector<Course> courses_;

 private:
  std::vector<std::vector<float>> singles_;
};

/// While a share is planned the observer is told of every plan, and `stop` is asked; both must
/// outlive them.
std::unique_ptr<Courses> make_courses(const SimulationRequest& request, Committee& committee,
                                      Observer& observer, const StopAsked& stop);

/// Bytes of memory that they take at least; there may be more than can be counted.
double bytes_of_courses(const SimulationRequest& request);

/// Solver steps of each trajectory under a share.
std::size_t shared_steps(const SimulationRules& rules);

}  // namespace stap
