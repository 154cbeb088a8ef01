// Many rows through a kernel that advances one register of rows at a time: what all lane kernels
// share. Private to the solvers.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "pde/lane_end.h"
#include "stap/core/solver.h"

namespace stap {

struct LaneBlocks {
  std::size_t lanes = 1;   ///< rows of a block
  std::size_t values = 0;  ///< of one state
  std::size_t margin = 0;  ///< values before and behind a state that the kernel uses for itself
  std::size_t work = 0;    ///< further doubles of scratch a thread needs
  int threads = 1;
  double dt = 0.0;      ///< the learned step, for reasons
  std::string bound{};  ///< what `LaneEnd::How::unbounded` means, as in "|u| passed max_abs = 100"
};

/// One block. Value i of row r is state[i * lanes + r]; lanes without a row repeat row 0. `work`
/// follows the margin behind the state; nothing of it is initialised. All pointers to doubles are
/// aligned to 64 bytes if (margin * lanes) % 8 == 0.
struct LaneBlock {
  std::span<const Query* const> queries;  ///< 1 .. lanes
  double* state;
  double* work;
  LaneEnd* ends;  ///< one per query, to be filled
};

/// Cuts the queries into blocks, in the order given, and calls advance(block) for each on one of
/// the threads; what it leaves in `state` becomes the answers' states, with their seconds, and how
/// a row ended its status and reason. `advance` must not throw and must treat lanes as independent.
void advance_in_lanes(const LaneBlocks& blocks, std::span<const Query* const> queries,
                      std::span<Answer* const> answers,
                      const std::function<void(const LaneBlock&)>& advance);

/// Why a state with max|value| above max_abs is refused; empty if it is not. `symbol` names the
/// field.
std::string refusal_above(std::string_view symbol, double max_abs, std::span<const double> state);
/// What `LaneEnd::How::unbounded` means for such a field.
std::string passed_bound(std::string_view symbol, double max_abs);

}  // namespace stap
