#include "nn/cuda/network.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::cuda {
namespace {

// One real matrix [rows][columns].
struct Dense {
  std::size_t rows, columns;
  std::vector<double> values;

  Dense(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  double& at(std::size_t r, std::size_t c) { return values[r * columns + c]; }
  double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
  Dense transposed() const {
    Dense t(columns, rows);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) t.at(c, r) = at(r, c);
    return t;
  }
};

// cos and sin of 2 pi a / n, exact for what reduces.
std::pair<double, double> turn(std::size_t a, std::size_t n) {
  const double angle = 2.0 * std::numbers::pi * static_cast<double>(a % n) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Real line of n values -> modes 0 .. kept-1 as (re, im).
Dense real_forward(std::size_t n, std::size_t kept) {
  Dense d(2 * kept, n);
  for (std::size_t k = 0; k < kept; ++k)
    for (std::size_t x = 0; x < n; ++x) {
      const auto [c, s] = turn(k * x, n);
      d.at(2 * k, x) = c;
      d.at(2 * k + 1, x) = -s;
    }
  return d;
}

// The way back: modes beyond kept are 0, imaginary parts of mode 0 and n/2 do not count.
Dense real_inverse(std::size_t n, std::size_t kept) {
  Dense d(n, 2 * kept);
  for (std::size_t k = 0; k < kept; ++k) {
    const bool single = k == 0 || 2 * k == n;
    const double weight = (single ? 1.0 : 2.0) / static_cast<double>(n);
    for (std::size_t x = 0; x < n; ++x) {
      const auto [c, s] = turn(k * x, n);
      d.at(x, 2 * k) = weight * c;
      d.at(x, 2 * k + 1) = single ? 0.0 : -weight * s;
    }
  }
  return d;
}

// Complex line (re, im) of n -> wave numbers -kept/2 .. kept/2-1, and back (divided by n).
Dense complex_pass(std::size_t n, std::size_t kept, bool inverse) {
  Dense d(2 * kept, 2 * n);
  for (std::size_t k = 0; k < kept; ++k)
    for (std::size_t x = 0; x < n; ++x) {
      const auto [c, s] = turn((k + n - kept / 2) % n * x, n);
      d.at(2 * k, 2 * x) = c;
      d.at(2 * k, 2 * x + 1) = s;
      d.at(2 * k + 1, 2 * x) = -s;
      d.at(2 * k + 1, 2 * x + 1) = c;
    }
  if (!inverse) return d;
  Dense back = d.transposed();
  for (double& value : back.values) value /= static_cast<double>(n);
  return back;
}

// To the nearest tf32, ties away from zero.
float rounded_to_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x1000u) & ~0x1fffu);
}

// As mma.cuh wants a left side: rounded unless exact.
std::vector<float4> fragments(const Dense& d, bool exact) {
  const std::size_t blocks = (d.rows + 15) / 16, steps = (d.columns + 7) / 8;
  std::vector<float4> f(blocks * steps * 32);
  const auto value = [&](std::size_t r, std::size_t c) {
    const float x = r < d.rows && c < d.columns ? static_cast<float>(d.at(r, c)) : 0.0f;
    return exact ? x : rounded_to_tf32(x);
  };
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t s = 0; s < steps; ++s)
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::size_t r = 16 * b + lane / 4, c = 8 * s + lane % 4;
        f[(b * steps + s) * 32 + lane] = {value(r, c), value(r + 8, c), value(r, c + 4),
                                          value(r + 8, c + 4)};
      }
  return f;
}

FnoOptions options_of(const NetworkSpec& spec) {
  return spec.family.options.as(fno_fields());
}

template <class Function>
void for_each_value(const NetworkSpec& spec, const Function& f) {
  const FnoOptions o = options_of(spec);
  const std::size_t in = spec.in_channels(), out = spec.out_channels();
  const std::size_t modes = options_of(spec).kept_total(), w = o.width;
  const auto layers = static_cast<int>(o.layers);
  std::size_t t = 0;
  const auto size = [](int n) { return static_cast<std::size_t>(n); };
  const auto matrix = [&](std::size_t outs, std::size_t ins, std::size_t at, std::size_t in_stride,
                          std::size_t out_stride) {
    for (std::size_t b = 0; b < outs; ++b)
      for (std::size_t a = 0; a < ins; ++a) f(at + a * in_stride + b * out_stride, t, b * ins + a);
    ++t;
  };
  const auto vector = [&](std::size_t n, std::size_t at) {
    for (std::size_t i = 0; i < n; ++i) f(at + i, t, i);
    ++t;
  };
  const std::size_t layer_at = size(kLayers), layer_size = size(kLayerSize);
  matrix(o.lifting, in, kLift1, kHidden, 1);
  vector(o.lifting, kLift1Bias);
  matrix(w, o.lifting, kLift2, 64, 1);
  vector(w, kLift2Bias);
  for (std::size_t l = 0; l < o.layers; ++l, ++t) {
    const std::size_t base = size(dense_size(layers)) + l * modes * size(kModeSize);
    // In this order both sides are read and written by whole cache lines.
    for (std::size_t a = 0; a < w; ++a)
      for (std::size_t m = 0; m < modes; ++m)
        for (std::size_t part = 0; part < 2; ++part)
          for (std::size_t b = 0; b < w; ++b)
            f(base + m * size(kModeSize) + part * 64 * 64 + a * 64 + b, t,
              ((a * w + b) * modes + m) * 2 + part);
  }
  for (std::size_t l = 0; l < o.layers; ++l)
    for (std::size_t i = 0; i < w; ++i) f(layer_at + l * layer_size + 64 * 64 + i, t, l * w + i);
  ++t;
  for (std::size_t l = 0; l < o.layers; ++l) matrix(w, w, layer_at + l * layer_size, 64, 1);
  matrix(o.projection, w, kProject1, kHidden, 1);
  vector(o.projection, kProject1Bias);
  matrix(out, o.projection, kProject2, 1, kHidden);
  vector(out, kProject2Bias);
}

// More channels than kernels hold are refused (check_limits()).
unsigned bits_of(const std::vector<std::size_t>& channels) {
  unsigned bits = 0;
  for (const std::size_t c : channels)
    if (c < kChannels) bits |= 1u << c;
  return bits;
}

}  // namespace

Net make_net(const NetworkSpec& spec) {
  return {.points = static_cast<int>(spec.body_grid().points_total()),
          .state_points = static_cast<int>(spec.grid.points_total()),
          .counted = static_cast<int>(counted_points(spec.grid, spec.fixed.get())),
          .in = static_cast<int>(spec.in_channels()),
          .out = static_cast<int>(spec.out_channels()),
          .layers = static_cast<int>(options_of(spec).layers),
          .modes = static_cast<int>(options_of(spec).kept_total()),
          .told = static_cast<int>(spec.told_channels()),
          .placed = static_cast<int>(spec.in_channels() - spec.placed_channels()),
          .projection = static_cast<int>((options_of(spec).projection + 63) / 64 * 64),
          .delta = spec.target == NetworkOptions::Target::delta,
          .conserved = bits_of(spec.conserved),
          .weights = nullptr,
          .moment1 = nullptr,
          .moment2 = nullptr,
          .average = nullptr,
          .member_size = member_size(spec),
          .fragments = nullptr,
          .mean = nullptr,
          .deviation = nullptr,
          .loss_factors = nullptr,
          .positions = nullptr,
          .mask = nullptr,
          .table = nullptr};
}

std::size_t half_size(const NetworkSpec& spec) {
  if (spec.grid.axes() == 1) return 0;
  return kRows * spec.body_grid().points[0] * options_of(spec).kept()[1] * 128;
}

void check_limits(const NetworkSpec& spec) {
  if (spec.shifts() > 0)
    throw Error(ErrorKind::config,
                "network.parameter_input is shifts, but the GPU's kernels take parameters as input "
                "channels only: choose channels, or device: cpu");
  const FnoOptions o = options_of(spec);
  const auto need = [](const char* what, std::size_t value, std::size_t most) {
    if (value > most)
      throw Error(ErrorKind::config,
                  fmt::format("{} is {}, but the GPU kernels hold at most {}: choose less, or "
                              "device: cpu",
                              what, value, most));
  };
  need("network.width", o.width, 64);
  need("network.lifting", o.lifting, kHidden);
  need("network.projection", o.projection, kHidden);
  need("the number of parameters that vary", spec.parameters.size(), kTold - 1);
  need("the number of input channels", spec.in_channels(), kChannels - 1);
  need("the number of grid points", spec.body_grid().points_total(), 1 << 18);
}

std::size_t member_size(const NetworkSpec& spec) {
  return static_cast<std::size_t>(dense_size(static_cast<int>(options_of(spec).layers))) +
         options_of(spec).layers * options_of(spec).kept_total() *
             static_cast<std::size_t>(kModeSize);
}

void pack(const NetworkSpec& spec, const Parameters& parameters, std::span<float> packed) {
  std::fill(packed.begin(), packed.end(), 0.0f);
  for_each_value(spec, [&](std::size_t at, std::size_t t, std::size_t i) {
    packed[at] = parameters[t].values[i];
  });
}

void unpack(const NetworkSpec& spec, std::span<const float> packed, Parameters& parameters) {
  for_each_value(spec, [&](std::size_t at, std::size_t t, std::size_t i) {
    parameters[t].values[i] = packed[at];
  });
}

Transform::Transform(const NetworkSpec& spec, bool exact) {
  const auto add = [&](Kind kind, const Dense& d, const Side& in, const Side& out, int panels,
                       int inner) {
    Matrix m{.fragments = DeviceArray<float4>(fragments(d, exact)), .pass = {}};
    m.pass = {.matrix = m.fragments.data(),
              .lines_in = static_cast<int>(d.columns),
              .lines_out = static_cast<int>(d.rows),
              .panels = panels,
              .inner = inner,
              .in = in,
              .out = out};
    passes_[static_cast<std::size_t>(kind)].push_back(std::move(m));
  };
  const std::vector<std::size_t> kept = options_of(spec).kept();
  const std::vector<std::size_t> points = spec.body_grid().points;
  const auto to_int = [](std::size_t n) { return static_cast<int>(n); };
  const Net net = make_net(spec);

  constexpr std::size_t kMode = kRows * 128;  // floats between two modes of a spectrum
  if (points.size() == 1) {
    const Side field{64, false, to_int(points[0] * 64), 0, net.field_size()};
    const Side modes{to_int(kMode), true, 128, 0, net.spectrum_size()};
    const Dense there = real_forward(points[0], kept[0]), back = real_inverse(points[0], kept[0]);
    add(Kind::forward, there, field, modes, kRows, 1);
    add(Kind::inverse, back, modes, field, kRows, 1);
    add(Kind::inverse_adjoint, back.transposed(), field, modes, kRows, 1);
    add(Kind::forward_adjoint, there.transposed(), modes, field, kRows, 1);
    return;
  }
  const std::size_t nx = points[0], ny = points[1], kx = kept[0], ky = kept[1];
  const std::size_t half = half_size(spec);
  const int line_panels = to_int(kRows * nx), mode_panels = to_int(kRows * ky);
  const Side field{64, false, to_int(ny * 64), 0, net.field_size()};
  const Side half_y{128, true, to_int(ky * 128), 0, half};
  const Side half_x{to_int(ky * 128), true, to_int(nx * ky * 128), 128, half};
  const Side modes{to_int(ky * kMode), true, 128, to_int(kMode), net.spectrum_size()};
  const Dense y_there = real_forward(ny, ky), y_back = real_inverse(ny, ky);
  const Dense x_there = complex_pass(nx, kx, false), x_back = complex_pass(nx, kx, true);
  add(Kind::forward, y_there, field, half_y, line_panels, 1);
  add(Kind::forward, x_there, half_x, modes, mode_panels, to_int(ky));
  add(Kind::inverse, x_back, modes, half_x, mode_panels, to_int(ky));
  add(Kind::inverse, y_back, half_y, field, line_panels, 1);
  add(Kind::inverse_adjoint, y_back.transposed(), field, half_y, line_panels, 1);
  add(Kind::inverse_adjoint, x_back.transposed(), half_x, modes, mode_panels, to_int(ky));
  add(Kind::forward_adjoint, x_there.transposed(), modes, half_x, mode_panels, to_int(ky));
  add(Kind::forward_adjoint, y_there.transposed(), half_y, field, line_panels, 1);
}

void Transform::run(Kind kind, const Launch& launch, const float* in, bool gelu_first, float* half,
                    float* out) const {
  const std::vector<Matrix>& passes = passes_[static_cast<std::size_t>(kind)];
  if (passes.size() == 1) {
    transform(launch, passes[0].pass, in, gelu_first, out);
    return;
  }
  transform(launch, passes[0].pass, in, gelu_first, half);
  transform(launch, passes[1].pass, half, false, out);
}

const Pass* Transform::following() const {
  const auto& there = passes_[static_cast<std::size_t>(Kind::forward)];
  const auto& back = passes_[static_cast<std::size_t>(Kind::inverse)];
  const bool can = there.size() == 2 && can_follow(there[0].pass, back.back().pass);
  return can ? &there[0].pass : nullptr;
}

void Transform::finish_forward(const Launch& launch, const float* half, float* spectrum) const {
  transform(launch, passes_[static_cast<std::size_t>(Kind::forward)][1].pass, half, false,
            spectrum);
}

Transform::Field Transform::to_field(Kind kind, const Launch& launch, const float* spectrum,
                                     float* half, float* out) const {
  const std::vector<Matrix>& passes = passes_[static_cast<std::size_t>(kind)];
  const Pass& last = passes.back().pass;
  if (!can_fuse(last)) {
    run(kind, launch, spectrum, false, half, out);
    return {nullptr, out};
  }
  if (passes.size() == 1) return {&last, spectrum};
  transform(launch, passes[0].pass, spectrum, false, half);
  return {&last, half};
}

namespace {

struct WorkspaceSizes {
  std::size_t fields, field, spectra, spectrum, half, gradients, partial, layer_partial, losses,
      means;
};

WorkspaceSizes sizes(const NetworkSpec& spec, int bundles, bool training) {
  const Net net = make_net(spec);
  const auto n = static_cast<std::size_t>(bundles);
  const auto parts = static_cast<std::size_t>(parts_of(net.points));
  const auto layer_parts = static_cast<std::size_t>(layer_parts_of(net.points));
  const auto layers = static_cast<std::size_t>(net.layers);
  return {.fields = training ? layers + 1 : 2,
          .field = n * net.field_size(),
          .spectra = training ? layers : 1,
          .spectrum = n * net.spectrum_size(),
          .half = n * half_size(spec),
          .gradients = training ? n * net.field_size() : 0,
          .partial = training ? n * parts * kLayers : 0,
          .layer_partial = training ? n * layer_parts * layers * kLayerSize : 0,
          .losses = training ? n * parts : 0,
          .means = training || spec.conserved.empty() ? 0 : n * kRows * kChannels};
}

}  // namespace

std::size_t FnoWorkspace::bytes(const NetworkSpec& spec, int bundles, bool training) {
  const WorkspaceSizes s = sizes(spec, bundles, training);
  return sizeof(float) * ((s.fields + 1) * s.field + (s.spectra + 1) * s.spectrum + 2 * s.half +
                          s.gradients + s.partial + s.layer_partial) +
         sizeof(double) * (s.losses + s.means);
}

FnoWorkspace::FnoWorkspace(const NetworkSpec& spec, int bundle_count, bool training)
    : Workspace(bundle_count) {
  const WorkspaceSizes s = sizes(spec, bundles, training);
  for (std::size_t i = 0; i < s.fields; ++i) fields.emplace_back(s.field);
  for (std::size_t i = 0; i < s.spectra; ++i) spectra.emplace_back(s.spectrum);
  product = DeviceArray<float>(s.spectrum);
  half = DeviceArray<float>(s.half);
  next_half = DeviceArray<float>(s.half);
  add = DeviceArray<float>(s.field);
  d_field = DeviceArray<float>(s.gradients);
  partial = DeviceArray<float>(s.partial);
  layer_partial = DeviceArray<float>(s.layer_partial);
  losses = DeviceArray<double>(s.losses);
  means = DeviceArray<double>(s.means);
}

// Lifting and Fourier layers; returns the last field. The way back needs fields before their GELU;
// without it (training false) they are kept after it, so that it is made once.
static const float* forward_fields(const Launch& launch, const Transform& transform,
                                   FnoWorkspace& work, bool training) {
  using Kind = Transform::Kind;
  const std::size_t fields = work.fields.size(), spectra = work.spectra.size();
  const Pass* then = transform.following();
  lift(launch, work.fields[0].data(), then, work.next_half.data());
  for (int l = 0; l < launch.net.layers; ++l) {
    const auto i = static_cast<std::size_t>(l);
    const bool gelu_first = training && l > 0, last = l + 1 == launch.net.layers;
    const float* field = work.fields[i % fields].data();
    float* spectrum = work.spectra[i % spectra].data();
    if (then != nullptr)
      transform.finish_forward(launch, work.next_half.data(), spectrum);
    else
      transform.run(Kind::forward, launch, field, gelu_first, work.half.data(), spectrum);
    mode_product(launch, l, spectrum, work.product.data());
    const Transform::Field add = transform.to_field(Kind::inverse, launch, work.product.data(),
                                                    work.half.data(), work.add.data());
    layer(launch, l, field, gelu_first, add.pass, add.values, work.fields[(i + 1) % fields].data(),
          !training && !last, last ? nullptr : then, work.next_half.data());
  }
  return work.fields[static_cast<std::size_t>(launch.net.layers) % fields].data();
}

void forward(const Launch& launch, const Transform& transform, FnoWorkspace& work, float* hidden) {
  if (launch.net.conserved != 0) conserved_means(launch, work.means.data());
  project(launch, forward_fields(launch, transform, work, false), hidden);
  if (launch.net.conserved != 0) restore_means(launch, work.means.data());
}

void train_step(const Launch& launch, const Transform& transform, FnoWorkspace& work,
                double* squares, float* gradient) {
  using Kind = Transform::Kind;
  const float* last = forward_fields(launch, transform, work, true);
  float* d = work.d_field.data();
  project_back(launch, last, d, work.partial.data(), work.losses.data());
  for (int l = launch.net.layers - 1; l >= 0; --l) {
    const auto i = static_cast<std::size_t>(l);
    float* spectrum = work.spectra[i].data();
    transform.run(Kind::inverse_adjoint, launch, d, false, work.half.data(), work.product.data());
    mode_back(launch, l, spectrum, work.product.data(),
              gradient != nullptr ? gradient + dense_size(launch.net.layers) : nullptr);
    const Transform::Field add = transform.to_field(Kind::forward_adjoint, launch, spectrum,
                                                    work.half.data(), work.add.data());
    layer_back(launch, l, work.fields[i].data(), l > 0, add.pass, add.values, d,
               work.layer_partial.data());
  }
  lift_back(launch, d, work.partial.data());
  dense_step(launch, work.partial.data(), work.layer_partial.data(), work.losses.data(), squares,
             gradient);
  if (gradient == nullptr) order_weights(launch);
}

}  // namespace stap::cuda
