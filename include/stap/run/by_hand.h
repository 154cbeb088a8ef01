#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stap/core/solver.h"

namespace stap {

/// A query of a run that waits for somebody to answer it (stap/couple/by_hand.h).
struct Question {
  /// A hash of the run, the acquisition, candidate and step, and the bits of its state: an answer
  /// that was meant for another question has another one. Below 2^53, so that programs that keep
  /// numbers as doubles keep it.
  std::uint64_t id = 0;
  std::size_t run = 0;                  ///< position in the list of runs
  std::size_t acquisition = 0;          ///< 0: the initial trajectories; i + 1: of round i
  std::size_t candidate = 0, step = 0;  ///< as in the journal
  Query query{};                        ///< a single state, its time, and how many steps
};

/// What somebody says about a question.
struct ToldAnswer {
  std::uint64_t id = 0;
  bool failed = false;
  std::string reason{};              ///< where it failed
  std::vector<std::size_t> shape{};  ///< [C, X...], or [steps, C, X...]
  /// After every step; behind those that were asked for, NaN. Nothing where it failed.
  std::vector<double> states{};
  std::string where{};  ///< "answers.h5, row 3", for messages
};

/// Between runs and whoever answers them: what was told goes in, what still waits comes out.
struct ByHand {
  std::vector<ToldAnswer> told{};  ///< is used up
  std::size_t recorded = 0;        ///< of these: so many are new,
  std::size_t known = 0;           ///< and so many were recorded before, with the same bytes
  std::vector<Question> open{};    ///< when the loop has ended with LoopEnd::waiting
};

}  // namespace stap
