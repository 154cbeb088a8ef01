// Pool and test set, block by block: what the cache of `stap run` and `stap generate` share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "stap/ic/sampler.h"
#include "stap/run/study_data.h"

namespace stap {

/// Goes up whenever a solver or sampler is changed so that its numbers change.
inline constexpr const char* kDataFormat = "study/1";

/// All that decides about the bits, in one order: a map with `format` first. Throws Error(config)
/// for sizes of 0 and for steps that are no multiple of the cluster.
config::Value request_document(const DataRequest& request);

/// Makes rows of a request. A row depends on nothing but the request and its index, not by a bit.
class DataMaker {
 public:
  /// `request` and `solver` (that of request.pde) must live as long. `threads`: 0 = all. Throws
  /// Error(config) if the warm-up is too short for a cluster.
  DataMaker(const DataRequest& request, const Solver& solver, int threads);

  /// Initial conditions first .. first+n-1 of the pool: [n, k C, X...]. Throws Error(numerics)
  /// naming the one that cannot be warmed up.
  States<double> pool(std::size_t first, std::size_t n) const;
  /// Test trajectories first .. first+n-1: [n, k + steps, C, X...]. `step_done`, if there is one,
  /// is called with 1 .. steps. Throws Error(numerics) naming what cannot be computed.
  States<double> test(std::size_t first, std::size_t n,
                      const std::function<void(std::size_t)>& step_done = {}) const;

 private:
  void begin(const Rng& stream, std::size_t first, std::size_t times, States<double>& block) const;
  void advance(std::size_t first, std::size_t times, std::size_t from, States<double>& block) const;

  const DataRequest& request_;
  const Solver& solver_;
  std::unique_ptr<Sampler> sampler_;
  double start_;                     // time of the first state of a cluster: 0 or before
  std::unique_ptr<Solver> warm_up_;  // to there; null: states are used as drawn
};

/// How many rows the next block should have, so that it takes seconds whatever the equation costs:
/// few at first, then at most twice as many as before. Multiples of 8 rows (the most lanes of a
/// register) times threads, at most 64 MiB; rows are the same however they are cut.
class BlockSize {
 public:
  /// `row_bytes`: of one row of the result. `threads`: 0 = all.
  BlockSize(std::size_t row_bytes, int threads);

  std::size_t rows() const { return rows_; }
  /// A block of `rows` took this long.
  void took(std::size_t rows, double seconds);

 private:
  std::size_t unit_, most_, rows_;
};

}  // namespace stap
