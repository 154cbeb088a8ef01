// What every engine checks and computes alike, whatever device it works on.
#pragma once

#include <span>

#include "stap/nn/engine.h"

namespace stap {

/// Each throws Error(config) or Error(data) as stap/nn/engine.h says.
void check_member_count(int members);
void check_member(int members, int member);
void check_members(int members, std::span<const int> list);
void check_state(const FnoShape& shape, const MemberState& state);
void check_batch(const FnoShape& shape, const TransitionsView& batch);
void check_jobs(const FnoShape& shape, int members, std::span<const FitJob> jobs);

/// Name of the GPU that make_cuda_engine() would use; empty if there is none.
std::string cuda_name();

/// As training_bytes() of stap/nn/engine.h.
std::size_t cpu_training_bytes(const FnoShape& shape, int members, int threads);
std::size_t cuda_training_bytes(const FnoShape& shape, int members);

/// The learning rate of an epoch (from 0).
double cosine_rate(const FitOptions& options, int epoch);

/// Adam's step `step` (from 1): w -= rate m / (root_scale sqrt(v) + epsilon).
struct AdamFactors {
  float rate, beta1, beta2, root_scale, epsilon;
};
AdamFactors adam_factors(const FitOptions& options, double rate, std::int64_t step);

}  // namespace stap
