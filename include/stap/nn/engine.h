#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stap/core/committee.h"
#include "stap/core/observer.h"
#include "stap/core/rng.h"
#include "stap/core/states.h"
#include "stap/core/stop.h"
#include "stap/core/symmetry.h"
#include "stap/nn/compute.h"
#include "stap/nn/network.h"
#include "stap/nn/options.h"

namespace stap {

/// Rows of a training step: a batch is never larger.
inline constexpr std::size_t kBatchRows = 32;

/// Pairs (input, one learned step later), not owned.
struct TransitionsView {
  StatesView<const float> inputs, targets;
  std::span<const float> told;  ///< of the inputs' conditions: told_rows()

  std::size_t count() const { return inputs.count; }
};

/// Everything a member is: enough to go on training exactly where it stopped.
struct MemberState {
  Scaling scaling;
  Parameters weights;
  Parameters moment1, moment2;  ///< of Adam; empty means zero
  Parameters average;           ///< running one of the weights; empty: none was made yet
  std::int64_t steps = 0;       ///< Adam steps made

  bool operator==(const MemberState&) const = default;
};

/// A member to train. The order of the rows in epoch e, their images and the noise on them are
/// functions of (rng, e) alone, so stopping and going on is exact.
struct FitJob {
  int member = 0;
  TransitionsView data{};
  FitOptions options{};
  Rng rng{0};
  int epochs_done = 0;               ///< where training starts; moved on by fit()
  std::optional<int> epochs_stop{};  ///< where it ends; empty: at the last of length().epochs
  /// Maps of rows, not owned: every epoch sees each row's image under one of them, drawn anew. At
  /// most kMostSymmetries; empty: rows as they are.
  std::span<const StateMap> symmetries{};
  /// What the errors of each channel are multiplied by before they are squared, not owned: errors
  /// first, so that no unit takes a number out of its range. Empty: 1 each.
  std::span<const float> loss_factors{};

  FitLength length() const { return fit_length(options, data.count()); }
  int epochs_end() const { return epochs_stop.value_or(length().epochs); }
};

/// E networks of one spec, stacked, on one device. A member's weights depend on nothing but its
/// state, data, options and rng: not on the other members, the threads or the blocks, bit for bit.
/// Wrong arguments are found here, whatever the device, and nothing is changed then; a member that
/// the engine does not have is Error(config).
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const NetworkSpec& spec() const = 0;
  virtual int members() const = 0;

  /// Trains all jobs (one per member at most), each with its own data, rate and progress, epoch by
  /// epoch. The observer hears of every epoch of every member. `stop` is asked after every epoch:
  /// where it says true, fit() returns, epochs_done tells how far each job came, and to go on from
  /// there gives the bits that going through would have given. Throws Error(config) on bad options,
  /// two jobs of a member or a job without an epoch to train, Error(data) on empty data or data of
  /// another shape. No allocation between epochs' ends.
  void fit(std::span<FitJob> jobs, Observer& observer, const StopAsked& stop = {});

  MemberState save(int member) const;
  /// As it is used once it is trained: its weights are the averaged ones if there are any, and what
  /// only training needs is left out.
  MemberState save_trained(int member) const;
  /// Throws Error(data) if the state is not of this network.
  void load(int member, const MemberState& state);

  /// The members of this list as a committee; an empty list is Error(config). It reads the engine's
  /// weights: the engine must outlive it, and must not train while it computes.
  std::unique_ptr<Committee> committee(std::vector<int> members);

 private:
  // What a device does. Arguments are right; `stop` can be asked.
  virtual void do_fit(std::span<FitJob> jobs, Observer& observer, const StopAsked& stop) = 0;
  virtual MemberState do_save(int member, bool trained) const = 0;
  virtual void do_load(int member, const MemberState& state) = 0;
  virtual std::unique_ptr<Committee> do_committee(std::vector<int> members) = 0;
};

/// A fresh member: initial weights from rng, no training yet.
MemberState fresh_member(const NetworkSpec& spec, Scaling scaling, const Rng& rng);
/// The weights and the scaling alone: to be trained anew, from where another training ended.
MemberState warm_member(MemberState state);

/// The engine on the CPU, with `members` members of zero weights. threads = 0: all cores. Throws
/// Error(config) without a member.
std::unique_ptr<Engine> make_cpu_engine(const NetworkSpec& spec, int members, int threads = 0);
/// The engine on the first GPU, with `members` members of zero weights. Throws Error(unavailable)
/// if there is no GPU or its memory does not suffice, and Error(config) without a member or for a
/// network that kernels do not hold (docs/lab/performance.md).
std::unique_ptr<Engine> make_cuda_engine(const NetworkSpec& spec, int members,
                                         ComputeOptions::Precision precision);
/// The engine that the options ask for: on the first GPU or on the CPU.
std::unique_ptr<Engine> make_engine(const ComputeOptions& options, const NetworkSpec& spec,
                                    int members, int threads = 0);
/// device_text() for networks of this family: "cpu" where it has no body for the GPU, unless one
/// was asked for by name, which is Error(config) then.
std::string device_text(const ComputeOptions& options, const config::Choice<FamilyRow>& family);
/// What happens to rows before a training sees them.
struct RowChanges {
  std::size_t maps = 0;  ///< FitJob::symmetries
  bool noise = false;    ///< FitOptions::noise
};
/// Bytes that the engine the options ask for takes to train its members, with the maps; about.
std::size_t training_bytes(const ComputeOptions& options, const NetworkSpec& spec, int members,
                           const RowChanges& changes = {}, int threads = 0);

}  // namespace stap
