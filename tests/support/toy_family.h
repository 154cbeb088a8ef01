// A family of networks for tests: two pointwise layers with a tanh between them, on the CPU. What
// holds for every family must hold for it, too, and it is all that a family needs to be.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "core/parallel.h"
#include "stap/nn/cpu_body.h"
#include "stap/nn/family.h"

namespace stap::test {

struct ToyOptions {
  std::size_t width = 6;
};
inline const config::Fields<ToyOptions>& toy_fields() {
  static const config::Fields<ToyOptions> fields{
      {"width", &ToyOptions::width, "hidden channels", config::between(1, 64)}};
  return fields;
}

inline std::vector<TensorPlan> toy_tensors(const NetworkSpec& spec) {
  using Draw = TensorPlan::Draw;
  const std::size_t width = spec.family.options.as(toy_fields()).width;
  return {{"first", {width, spec.in_channels()}, Draw::normal, 0.5},
          {"first.bias", {width}, Draw::normal, 0.5},
          {"second", {spec.out_channels(), width}, Draw::normal, 0.5},
          {"second.bias", {spec.out_channels()}, Draw::normal, 0.5}};
}

struct ToyBody final : cpu::Body {
  explicit ToyBody(const NetworkSpec& spec)
      : in(spec.in_channels()),
        out(spec.out_channels()),
        width(spec.family.options.as(toy_fields()).width),
        points(spec.body_grid().points_total()) {}

  std::size_t size() const override { return (bias2() + out + 15) / 16 * 16; }
  std::size_t hidden_channels() const override { return width; }
  std::size_t batch_bytes() const override { return 32 * row_floats() * sizeof(float); }
  void pack(const Parameters& parameters, float* packed) const override {
    std::fill_n(packed, size(), 0.0f);
    for (const Tensor& t : parameters) packed = std::ranges::copy(t.values, packed).out;
  }
  void unpack(const float* packed, Parameters& parameters) const override {
    for (Tensor& t : parameters) {
      std::copy_n(packed, t.values.size(), t.values.begin());
      packed += t.values.size();
    }
  }
  std::unique_ptr<cpu::Forward> forward() const override;
  std::unique_ptr<cpu::Pass> pass(std::size_t batches, int threads) const override;

  std::size_t bias1() const { return width * in; }
  std::size_t weight2() const { return bias1() + width; }
  std::size_t bias2() const { return weight2() + out * width; }
  // Of a row: its input, hidden layer, output and gradient.
  std::size_t row_floats() const { return points * (in + width + out) + size(); }

  void hidden(const float* w, const float* x, float* h) const {
    for (std::size_t p = 0; p < points; ++p)
      for (std::size_t k = 0; k < width; ++k) {
        float sum = w[bias1() + k];
        for (std::size_t i = 0; i < in; ++i) sum += w[k * in + i] * x[p * in + i];
        h[p * width + k] = sum;
      }
  }
  void output(const float* w, float* h, float* y) const {
    for (std::size_t v = 0; v < points * width; ++v) h[v] = std::tanh(h[v]);
    for (std::size_t p = 0; p < points; ++p)
      for (std::size_t c = 0; c < out; ++c) {
        float sum = w[bias2() + c];
        for (std::size_t k = 0; k < width; ++k)
          sum += w[weight2() + c * width + k] * h[p * width + k];
        y[p * out + c] = sum;
      }
  }
  // Gradients of one row: d is that of its output.
  void backward(const float* w, const float* x, const float* h, const float* d, float* g) const {
    std::fill_n(g, size(), 0.0f);
    for (std::size_t p = 0; p < points; ++p) {
      for (std::size_t c = 0; c < out; ++c) g[bias2() + c] += d[p * out + c];
      for (std::size_t k = 0; k < width; ++k) {
        const float value = h[p * width + k];
        float d_hidden = 0.0f;
        for (std::size_t c = 0; c < out; ++c) {
          g[weight2() + c * width + k] += d[p * out + c] * value;
          d_hidden += d[p * out + c] * w[weight2() + c * width + k];
        }
        d_hidden *= 1.0f - value * value;
        g[bias1() + k] += d_hidden;
        for (std::size_t i = 0; i < in; ++i) g[k * in + i] += d_hidden * x[p * in + i];
      }
    }
  }

  std::size_t in, out, width, points;
};

struct ToyForward final : cpu::Forward {
  explicit ToyForward(const ToyBody& of) : body(of), memory(of.row_floats()) {}
  void run(const cpu::Rows& rows, const cpu::HiddenSink* sink) override {
    float *x = memory.data(), *h = x + body.points * body.in, *y = h + body.points * body.width;
    for (std::size_t r = 0; r < rows.count; ++r) {
      rows.input(r, x);
      body.hidden(rows.weights, x, h);
      if (sink != nullptr) (*sink)(r, 0, body.points, h, body.width);
      body.output(rows.weights, h, y);
      rows.output(r, 0, body.points, y);
    }
  }
  const ToyBody& body;
  std::vector<float> memory;
};

struct ToyPass final : cpu::Pass {
  ToyPass(const ToyBody& of, std::size_t batches, int on_threads)
      : body(of), threads(on_threads), memory(batches, std::vector<float>(32 * of.row_floats())) {}
  void run(std::span<const cpu::Rows> batches) override {
    parallel_for(threads, batches.size() * 32, [&](std::size_t index, int) {
      const cpu::Rows& rows = batches[index / 32];
      const std::size_t r = index % 32;
      if (r >= rows.count) return;
      float* g = row(index / 32, r);
      float *x = g + body.size(), *h = x + body.points * body.in, *y = h + body.points * body.width;
      rows.input(r, x);
      body.hidden(rows.weights, x, h);
      body.output(rows.weights, h, y);
      rows.output(r, 0, body.points, y);
      body.backward(rows.weights, x, h, y, g);
    });
    for (std::size_t b = 0; b < batches.size(); ++b)  // row after row, whoever made them
      for (std::size_t r = 1; r < batches[b].count; ++r)
        for (std::size_t i = 0; i < body.size(); ++i) row(b, 0)[i] += row(b, r)[i];
  }
  const float* gradient(std::size_t batch) const override { return memory[batch].data(); }
  float* row(std::size_t b, std::size_t r) { return memory[b].data() + r * body.row_floats(); }

  const ToyBody& body;
  int threads;
  std::vector<std::vector<float>> memory;
};

inline std::unique_ptr<cpu::Forward> ToyBody::forward() const {
  return std::make_unique<ToyForward>(*this);
}
inline std::unique_ptr<cpu::Pass> ToyBody::pass(std::size_t batches, int threads) const {
  return std::make_unique<ToyPass>(*this, batches, threads);
}

/// Puts it into the table, once.
inline void add_toy_family() {
  if (family_table().find("toy") != nullptr) return;
  add_family({{"toy", "two pointwise layers, for tests", &toy_fields()},
              &toy_tensors,
              [](const NetworkSpec& spec, Isa) { return std::make_unique<ToyBody>(spec); }});
}

}  // namespace stap::test
