#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "stap/core/grid.h"
#include "stap/core/solver.h"

// Multi-step surrogates take and give k states at once. A *cluster* is k consecutive states of a
// trajectory as one state of k C channels, the earliest first: channel c of frame s is channel
// s C + c. In memory that is k states one after the other. Its time is that of its last state.
namespace stap {

/// The grid of clusters of `size` states of `grid`. Throws Error(config) if size is 0.
Grid cluster_grid(Grid grid, std::size_t size);
/// The grid of the states in clusters of this grid. Throws Error(config) if there cannot be `size`
/// of them.
Grid frame_grid(Grid clusters, std::size_t size);

/// "8 or 16", "8": the multiples of `size` on both sides of a number that is none, for messages.
std::string multiples_beside(std::size_t number, std::size_t size);

/// Advances clusters, over any kind of solver: a step is `size` steps of `single`, the first from
/// the last state of the query, and all of its states are the answer. dt is size times that of
/// `single`, and each of its steps gets its own time. If the first step is refused, so is the
/// query; a cluster that does not come to its end fails. seconds and attempts are sums.
std::unique_ptr<Solver> make_clustered_solver(std::shared_ptr<const Solver> single,
                                              std::size_t size);

}  // namespace stap
