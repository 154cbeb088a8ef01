#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/observer.h"
#include "stap/core/rng.h"
#include "stap/core/states.h"
#include "stap/nn/compute.h"
#include "stap/nn/fno.h"
#include "stap/nn/options.h"

namespace stap {

/// Rows of a training step: a batch is never larger.
inline constexpr std::size_t kBatchRows = 32;

/// Pairs (input, one learned step later), not owned.
struct TransitionsView {
  StatesView<const float> inputs, targets;
  std::span<const float> times;  ///< of the inputs, in [0,1]; empty without a time input

  std::size_t count() const { return inputs.count; }
};

/// Everything a member is: enough to go on training exactly where it stopped.
struct MemberState {
  Scaling scaling;
  Parameters weights;
  Parameters moment1, moment2;  ///< of Adam; empty means zero
  std::int64_t steps = 0;       ///< Adam steps made

  bool operator==(const MemberState&) const = default;
};

/// A member to train, from epoch `epochs_done` up to `epochs_stop` of options.epochs. The order of
/// the rows in epoch e is a function of (rng, e) alone, so stopping and going on is exact.
struct FitJob {
  int member = 0;
  TransitionsView data;
  FitOptions options;
  Rng rng{0};
  int epochs_done = 0;  ///< moved on by fit()
  int epochs_stop = 0;
};

/// E networks of one shape, stacked, on one device. A member's weights depend on nothing but its
/// state, data, options and rng: not on the other members, the threads or the blocks, bit for bit.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const FnoShape& shape() const = 0;
  virtual int members() const = 0;

  /// Trains all jobs (one per member at most), each with its own data, rate and progress. The
  /// observer hears of every epoch of every member. Throws Error(config) on bad options,
  /// Error(data) on empty data or data of another shape. No allocation between epochs' ends.
  virtual void fit(std::span<FitJob> jobs, Observer& observer) = 0;

  /// Mean squared error of a batch (1 .. kBatchRows rows) in physical units, and its gradient.
  virtual double gradient(int member, const TransitionsView& batch, Parameters& gradient) = 0;

  virtual MemberState save(int member) const = 0;
  /// Throws Error(data) if the state is not of this shape.
  virtual void load(int member, const MemberState& state) = 0;

  /// The members of this list as a committee. It reads the engine's weights: the engine must
  /// outlive it, and must not train while it computes.
  virtual std::unique_ptr<Committee> committee(std::vector<int> members) = 0;
};

/// A fresh member: initial weights from rng, no training yet.
MemberState fresh_member(const FnoShape& shape, Scaling scaling, const Rng& rng);

/// The engine on the CPU, with `members` members of zero weights. threads = 0: all cores.
std::unique_ptr<Engine> make_cpu_engine(const FnoShape& shape, int members, int threads = 0);
/// The engine on the first GPU. Throws Error(unavailable) if there is none or its memory does not
/// suffice, and Error(config) for a shape its kernels cannot hold (docs/performance.md).
std::unique_ptr<Engine> make_cuda_engine(const FnoShape& shape, int members,
                                         ComputeOptions::Precision precision);
/// Memory that an engine takes to train its members, on the device the options ask for; about.
std::size_t training_bytes(const ComputeOptions& options, const FnoShape& shape, int members,
                           int threads = 0);
/// The one the options ask for.
std::unique_ptr<Engine> make_engine(const ComputeOptions& options, const FnoShape& shape,
                                    int members, int threads = 0);

}  // namespace stap
