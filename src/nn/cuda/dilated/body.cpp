// A dilated network on the GPU: where weights stand, and the order of the kernels.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "nn/bodies.h"
#include "nn/cuda/body.h"
#include "nn/cuda/dilated/kernels.h"
#include "nn/neighbours.h"
#include "stap/core/error.h"
#include "stap/nn/dilated.h"

namespace stap {
namespace cuda {
namespace {

constexpr std::size_t kMostPoints = std::size_t{1} << 18;

// Fields, gradients and sums of some bundles.
struct DilatedWorkspace final : Workspace {
  struct Sizes {
    std::size_t fields, slopes, field, partial, losses, means;
  };
  DilatedWorkspace(const Sizes& s, int of_bundles) : Workspace(of_bundles) {
    for (std::size_t i = 0; i < s.fields; ++i) fields.emplace_back(s.field);
    for (std::size_t i = 0; i < s.slopes; ++i) slopes.emplace_back(s.field);
    partial = DeviceArray<float>(s.partial);
    losses = DeviceArray<double>(s.losses);
    means = DeviceArray<double>(s.means);
  }
  static std::size_t bytes(const Sizes& s) {
    return sizeof(float) * ((s.fields + s.slopes) * s.field + s.partial) +
           sizeof(double) * (s.losses + s.means);
  }

  std::vector<DeviceArray<float>> fields, slopes;  // slopes: of the GELU of each layer that has one
  DeviceArray<float> partial;
  DeviceArray<double> losses, means;
};

// Fields of a training step beside what the layers with a GELU read: what they make last, the
// network's input, its output and then that one's gradient, and gradients of blocks and layers.
enum Extra : std::size_t { kLast, kInput, kOutput, kDBlock, kD, kDBefore, kExtras };
constexpr std::size_t kInferenceFields = 3;

class DilatedBody final : public Body {
 public:
  explicit DilatedBody(const NetworkSpec& spec)
      : spec_(spec), options_(spec.family.options.as(dilated_fields())) {
    taps_.count = 1;
    for (std::size_t axis = 0; axis < spec.grid.axes(); ++axis)
      taps_.count *= static_cast<int>(options_.taps);
    taps_.layers = static_cast<int>(options_.layers()) + 2;
  }

  void check_limits() const override {
    const auto need = [](const char* what, std::size_t value, std::size_t most) {
      if (value > most)
        throw Error(ErrorKind::config,
                    fmt::format("{} is {}, but the GPU kernels hold at most {}: choose less, or "
                                "device: cpu",
                                what, value, most));
    };
    if (spec_.grid.walled() || spec_.fixed != nullptr)
      throw Error(ErrorKind::config,
                  fmt::format("dilated networks have no GPU kernels for {}: choose device: cpu",
                              spec_.grid.walled() ? "axes with walls" : "fixed fields"));
    if (spec_.shifts() > 0)
      throw Error(ErrorKind::config,
                  "network.parameter_input is shifts, but the GPU's kernels take parameters as "
                  "input channels only: choose channels, or device: cpu");
    need("network.width", options_.width, 64);
    need("the number of channels", spec_.out_channels(), kChannels);
    need("the number of input channels", spec_.in_channels(), 64);
    need("the number of grid points", spec_.grid.points_total(), kMostPoints);
  }

  Net net() const override {
    Net net{};
    net.points = net.state_points = net.counted = static_cast<int>(spec_.grid.points_total());
    net.in = static_cast<int>(spec_.in_channels());
    net.out = static_cast<int>(spec_.out_channels());
    net.told = static_cast<int>(spec_.told_channels());
    net.placed = static_cast<int>(spec_.in_channels() - spec_.placed_channels());
    net.projection = 64;  // of what is sketched: the last field
    net.delta = spec_.target == NetworkOptions::Target::delta;
    for (const std::size_t c : spec_.conserved)
      if (c < kChannels) net.conserved |= 1u << c;  // more are refused
    net.member_size = size_of(taps_.layers) * size_of(taps_.layer_size());
    return net;
  }

  std::size_t fragments_size() const override { return size_of(taps_.blocks()) * 64 * 64; }
  std::size_t hidden_channels() const override { return options_.width; }
  std::size_t workspace_bytes(int bundles, bool training) const override {
    return DilatedWorkspace::bytes(sizes(bundles, training));
  }
  void pack(const Parameters& parameters, std::span<float> packed) const override {
    std::fill(packed.begin(), packed.end(), 0.0f);
    for_each_weight([&](std::size_t at, std::size_t t, std::size_t i) {
      packed[at] = parameters[t].values[i];
    });
  }
  void unpack(std::span<const float> packed, Parameters& parameters) const override {
    for_each_weight([&](std::size_t at, std::size_t t, std::size_t i) {
      parameters[t].values[i] = packed[at];
    });
  }

  void prepare() override {
    prepare_dilated();
    // Every axis goes round: walls are refused.
    const std::vector<Beyond> padding(spec_.grid.axes(), Beyond::periodic);
    std::vector<std::size_t> dilations{1};  // of lifting and projection
    for (std::size_t b = 0; b < options_.blocks; ++b)
      dilations.insert(dilations.end(), options_.dilations.begin(), options_.dilations.end());
    dilations.push_back(1);
    std::vector<std::size_t> made;
    for (const std::size_t dilation : dilations) {
      const auto found = std::ranges::find(made, dilation);
      table_of_.push_back(static_cast<std::size_t>(found - made.begin()));
      if (found != made.end()) continue;
      made.push_back(dilation);
      const Neighbours forward = neighbours(spec_.grid.points, padding, options_.taps, dilation);
      forward_.emplace_back(forward);
      back_.emplace_back(adjoint(forward));
    }
  }
  std::unique_ptr<Workspace> workspace(int bundles, bool training) const override {
    return std::make_unique<DilatedWorkspace>(sizes(bundles, training), bundles);
  }
  void order_weights(const Launch& launch) const override { cuda::order_weights(launch, taps_); }

  void forward(const Launch& launch, Workspace& workspace, float* hidden) const override {
    auto& work = static_cast<DilatedWorkspace&>(workspace);
    if (launch.net.conserved != 0) conserved_means(launch, work.means.data());
    float *block = work.fields[0].data(), *from = block;
    const auto unused = [&] {
      for (const DeviceArray<float>& field : work.fields)
        if (field.data() != block && field.data() != from) return field.data();
      throw Error(ErrorKind::internal, "a dilated network has no field left");
    };
    dilated_input(launch, from);
    from = block = convolved(launch, 0, from, unused());
    for (int l = 0; l < depth(); ++l) {
      const bool last = l + 1 == depth();
      Convolution c = layer(l + 1, from, last && hidden != nullptr ? hidden : unused());
      c.gelu = true;
      if (ends_block(l)) c.add = block;
      convolve(launch, taps_, c);
      from = c.y;
      if (ends_block(l)) block = from;
    }
    dilated_output(launch, convolved(launch, depth() + 1, from, unused()));
    if (launch.net.conserved != 0) restore_means(launch, work.means.data());
  }

  void train_step(const Launch& launch, Workspace& workspace, double* squares,
                  float* gradient) const override {
    auto& work = static_cast<DilatedWorkspace&>(workspace);
    const auto field = [&](int l) { return work.fields[size_of(l)].data(); };  // that layer l reads
    const auto extra = [&](Extra which) { return field(depth() + static_cast<int>(which)); };
    const auto slope = [&](int l) { return work.slopes[size_of(l)].data(); };
    float *output = extra(kOutput), *d_block = extra(kDBlock);
    float *d = extra(kD), *d_before = extra(kDBefore);
    const int each = static_cast<int>(options_.dilations.size());

    dilated_input(launch, extra(kInput));
    convolved(launch, 0, extra(kInput), field(0));
    for (int l = 0; l < depth(); ++l) {
      Convolution c = layer(l + 1, field(l), field(l + 1));
      c.gelu = true;
      c.slope = slope(l);
      if (ends_block(l)) c.add = field(l + 1 - each);
      convolve(launch, taps_, c);
    }
    convolved(launch, depth() + 1, extra(kLast), output);
    dilated_loss(launch, output, work.losses.data());

    // d is the gradient at what a layer's GELU takes. Weights are stepped behind their gradient:
    // the way back reads the ordered ones, and no bias.
    const auto step = [&](int number, const float* x, const float* d_out) {
      tap_gradient(launch, taps_, table(forward_, number), x, d_out, work.partial.data());
      dilated_step(launch, taps_, number, work.partial.data(),
                   number == 0 ? work.losses.data() : nullptr, squares, gradient);
    };
    step(depth() + 1, extra(kLast), output);
    Convolution c = back(depth() + 1, output, d_block);
    c.before = slope(depth() - 1);
    c.product = d;
    convolve(launch, taps_, c);
    for (int l = depth() - 1; l >= 0; --l) {
      step(l + 1, field(l), d);
      c = back(l + 1, d, d_before);
      if (l == 0 || ends_block(l - 1)) {
        c.add = c.y = d_block;
        if (l > 0) {
          c.before = slope(l - 1);
          c.product = d_before;
        }
      } else {
        c.factor = slope(l - 1);
      }
      convolve(launch, taps_, c);
      std::swap(d, d_before);
    }
    step(0, extra(kInput), d_block);
    if (gradient == nullptr) order_weights(launch);
  }

 private:
  // A table on the device.
  struct Tables {
    explicit Tables(const Neighbours& from)
        : source(std::span<const std::uint32_t>(from.source)),
          tap(std::span<const std::uint32_t>(from.tap)),
          entries(static_cast<int>(from.entries())) {}
    DeviceArray<std::uint32_t> source, tap;
    int entries;
  };

  static std::size_t size_of(int n) { return static_cast<std::size_t>(n); }
  int depth() const { return taps_.layers - 2; }
  bool ends_block(int l) const {
    return (l + 1) % static_cast<int>(options_.dilations.size()) == 0;
  }

  Table table(const std::vector<Tables>& tables, int number) const {
    const Tables& t = tables[table_of_[size_of(number)]];
    return {t.source.data(), t.tap.data(), t.entries};
  }
  // x -> y = x W + bias, and the way back of y's gradient; all else is to be set.
  Convolution layer(int number, const float* x, float* y) const {
    Convolution c{};
    c.table = table(forward_, number);
    c.layer = number;
    c.forward = true;
    c.x = x;
    c.y = y;
    return c;
  }
  Convolution back(int number, const float* d, float* d_in) const {
    Convolution c{};
    c.table = table(back_, number);
    c.layer = number;
    c.x = d;
    c.y = d_in;
    return c;
  }
  float* convolved(const Launch& launch, int number, const float* x, float* y) const {
    convolve(launch, taps_, layer(number, x, y));
    return y;
  }

  DilatedWorkspace::Sizes sizes(int bundles, bool training) const {
    const Net sizes_of = net();
    const auto n = static_cast<std::size_t>(bundles);
    const std::size_t parts = size_of(layer_parts_of(sizes_of.points));
    return {.fields = training ? size_of(depth()) + kExtras : kInferenceFields,
            .slopes = training ? size_of(depth()) : 0,
            .field = n * sizes_of.field_size(),
            .partial = training ? n * parts * size_of(taps_.layer_size()) : 0,
            .losses = training ? n * parts : 0,
            .means = training || spec_.conserved.empty() ? 0 : n * kRows * kChannels};
  }

  // Calls visit(packed index, tensor, index in the tensor) for every value of every tensor.
  template <class Visit>
  void for_each_weight(const Visit& visit) const {
    const std::size_t taps = size_of(taps_.count);
    for (int l = 0; l < taps_.layers; ++l) {
      const std::size_t in = l == 0 ? spec_.in_channels() : options_.width;
      const std::size_t out = l + 1 == taps_.layers ? spec_.out_channels() : options_.width;
      const std::size_t at = size_of(l) * size_of(taps_.layer_size()), tensor = 2 * size_of(l);
      for (std::size_t o = 0; o < out; ++o)
        for (std::size_t i = 0; i < in; ++i)
          for (std::size_t t = 0; t < taps; ++t)
            visit(at + (t * 64 + i) * 64 + o, tensor, (o * in + i) * taps + t);
      for (std::size_t o = 0; o < out; ++o) visit(at + taps * 64 * 64 + o, tensor + 1, o);
    }
  }

  NetworkSpec spec_;
  DilatedOptions options_;
  Taps taps_;
  std::vector<std::size_t> table_of_;  // by layer
  std::vector<Tables> forward_, back_;
};

}  // namespace
}  // namespace cuda

std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda_dilated() {
  return [](const NetworkSpec& spec, bool) { return std::make_unique<cuda::DilatedBody>(spec); };
}

}  // namespace stap
