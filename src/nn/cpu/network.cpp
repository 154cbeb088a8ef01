#include "nn/cpu/network.h"

#include <numeric>

#include "stap/core/error.h"

namespace stap::cpu {
namespace {

float gathered(const BodyPoint& point, const float* values) {
  float sum = 0.0f;
  for (std::int32_t s = 0; s < point.sources; ++s) sum += point.weight[s] * values[point.from[s]];
  return sum;
}

}  // namespace

Network::Network(const NetworkSpec& s, Isa isa)
    : spec(s),
      body(s.family.row->cpu(s, isa)),
      kernels(cpu::kernels(isa)),
      points(s.grid.points_total()),
      body_points(s.body_grid().points_total()),
      table(stap::body_points(s)),
      positions(position_inputs(s)),
      mask(s.fixed ? s.fixed->mask : std::vector<std::uint8_t>()),
      counted_values(s.grid.channels * counted_points(s.grid, s.fixed.get())) {
  if (body->size() % kPanel != 0)
    throw Error(ErrorKind::internal, "packed weights of a family do not come in whole panels");
}

void Network::scale_input(const MemberView& member, const float* state, const float* told,
                          float* input) const {
  const std::size_t in = spec.in_channels(), out = spec.out_channels();
  for (std::size_t c = 0; c < out; ++c) {
    const float mean = member.scaling->mean[c], inverse = 1.0f / member.scaling->deviation[c];
    const float* values = state + c * points;
    if (table.empty())
      for (std::size_t p = 0; p < points; ++p) input[p * in + c] = (values[p] - mean) * inverse;
    for (std::size_t p = 0; p < table.size(); ++p)
      input[p * in + c] = (gathered(table[p], values) - mean) * inverse;
  }
  const std::size_t placed = in - spec.placed_channels();
  for (std::size_t c = out; c < placed; ++c)
    for (std::size_t p = 0; p < body_points; ++p) input[p * in + c] = told[c - out];
  for (std::size_t c = placed; c < in; ++c)
    for (std::size_t p = 0; p < body_points; ++p)
      input[p * in + c] = positions[(c - placed) * body_points + p];
}

void Network::unscale(const MemberView& member, const float* state, std::size_t first_point,
                      std::size_t n, const float* output, float* advanced) const {
  const bool delta = spec.target == NetworkOptions::Target::delta;
  const std::size_t out = spec.out_channels();
  for (std::size_t c = 0; c < out; ++c) {
    const float mean = member.scaling->mean[c], deviation = member.scaling->deviation[c];
    for (std::size_t p = 0; p < n; ++p) {
      const std::ptrdiff_t there = place(first_point + p);
      if (there < -1) advanced[c * points + static_cast<std::size_t>(-2 - there)] = 0.0f;
      if (there < 0) continue;
      const std::size_t at = c * points + static_cast<std::size_t>(there);
      const float base = delta ? state[at] : mean;
      advanced[at] = base + deviation * output[p * out + c];
    }
  }
}

double Network::loss_gradient(const MemberView& member, const float* state, const float* target,
                              float weight, std::size_t first_point, std::size_t n, float* output,
                              double squares) const {
  const bool delta = spec.target == NetworkOptions::Target::delta;
  const std::size_t out = spec.out_channels();
  for (std::size_t c = 0; c < out; ++c) {
    const float mean = member.scaling->mean[c], deviation = member.scaling->deviation[c];
    const float factor = member.loss_factors[c], slope = weight * (deviation * factor);
    for (std::size_t p = 0; p < n; ++p) {
      const std::ptrdiff_t there = place(first_point + p);
      if (there < 0) {
        output[p * out + c] = 0.0f;
        continue;
      }
      const std::size_t at = c * points + static_cast<std::size_t>(there);
      const float base = delta ? state[at] : mean;
      const float error = (base + deviation * output[p * out + c] - target[at]) * factor;
      squares += static_cast<double>(error) * static_cast<double>(error);
      output[p * out + c] = slope * error;
    }
  }
  return squares;
}

double Network::mean_of(const float* values) const {
  const auto counted = static_cast<double>(counted_values / spec.grid.channels);
  if (mask.empty()) return std::accumulate(values, values + points, 0.0) / counted;
  double sum = 0.0;
  for (std::size_t p = 0; p < points; ++p)
    if (!is_masked(p)) sum += static_cast<double>(values[p]);
  return sum / counted;
}

void Network::conserved_means(const float* state, double* means) const {
  for (const std::size_t c : spec.conserved) *means++ = mean_of(state + c * points);
}

void Network::restore_means(const double* means, float* state) const {
  for (std::size_t i = 0; i < spec.conserved.size(); ++i) {
    float* values = state + spec.conserved[i] * points;
    const double shift = means[i] - mean_of(values);
    for (std::size_t p = 0; p < points; ++p)
      if (!is_masked(p)) values[p] = static_cast<float>(static_cast<double>(values[p]) + shift);
  }
}

void forward(const Network& net, const MemberView& member, std::span<const float* const> states,
             std::span<const float* const> told, std::span<float* const> advanced,
             ForwardMemory& memory, const HiddenSink* sink) {
  const std::size_t conserved = net.spec.conserved.size();
  Rows rows{.weights = member.packed, .count = states.size()};
  rows.input = [&](std::size_t r, float* input) {
    // Before anything is written: a state may be advanced in its place.
    net.conserved_means(states[r], memory.means.data() + r * conserved);
    net.scale_input(member, states[r], told[r], input);
  };
  rows.shifts = [&](std::size_t r) { return net.shifts_of(told[r]); };
  rows.output = [&](std::size_t r, std::size_t first, std::size_t n, const float* output) {
    net.unscale(member, states[r], first, n, output, advanced[r]);
  };
  memory.body->run(rows, sink);
  for (std::size_t r = 0; r < rows.count; ++r)
    net.restore_means(memory.means.data() + r * conserved, advanced[r]);
}

}  // namespace stap::cpu
