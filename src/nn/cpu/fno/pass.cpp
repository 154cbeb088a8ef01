#include "nn/cpu/fno/pass.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace stap::cpu::fno {
namespace {

constexpr std::size_t kBlocks = kBatchRows / kBlockRows;
// Values of a dense gradient summed over blocks in one task.
constexpr std::size_t kReduceSlice = 4096;

}  // namespace

FnoPass::FnoPass(const FnoBody& body, std::size_t batches, int threads)
    : net_(body), threads_(threads) {
  const Layout& y = net_.layout;
  const std::size_t rows = kBatchRows;
  for (std::size_t b = 0; b < batches; ++b) {
    Held held;
    held.inputs = Buffer<float>(rows * y.points * y.in);
    held.slopes.emplace_back();  // the first layer's input has no GELU before it
    for (std::size_t l = 0; l < y.layers; ++l) {
      held.fields.emplace_back(rows * net_.field_size());
      held.slopes.emplace_back(rows * net_.field_size());
      held.spectra.emplace_back(y.modes * rows * net_.spectrum_row());
    }
    held.products = Buffer<float>(y.modes * rows * net_.spectrum_row());
    held.blocks = Buffer<float>(kBlocks * y.dense_size);
    held.gradient = Buffer<float>(y.size);
    held.transposed = Buffer<float>(y.transposed_size);
    held_.push_back(std::move(held));
  }
  for (int t = 0; t < threads_; ++t) {
    Scratch scratch;
    scratch.field = Buffer<float>(net_.field_size());
    scratch.d_field = Buffer<float>(net_.field_size());
    scratch.hidden = Buffer<float>(kChunk * net_.hidden_ld);
    scratch.slope = Buffer<float>(kChunk * net_.hidden_ld);
    scratch.output = Buffer<float>(kChunk * y.out);
    scratch.transform = Buffer<float>(net_.transform.scratch_size(y.width_padded));
    scratch.bias = Buffer<float>(y.width_padded);
    scratch.adjoint = Buffer<float>(2 * y.width * y.width_padded);
    scratch_.push_back(std::move(scratch));
  }
}

std::size_t FnoBody::batch_bytes() const {
  const Layout& y = layout;
  const std::size_t fields = 2 * y.layers * kBatchRows * field_size();
  const std::size_t spectra = (y.layers + 1) * y.modes * kBatchRows * spectrum_row();
  return sizeof(float) * (kBatchRows * y.points * y.in + fields + spectra + kBlocks * y.dense_size +
                          y.size + y.transposed_size);
}

std::unique_ptr<Pass> FnoBody::pass(std::size_t batches, int threads) const {
  return std::make_unique<FnoPass>(*this, batches, threads);
}

// work(task, row) for every row of every batch, blocks of rows in parallel, rows of one in order.
template <class Work>
void FnoPass::for_blocks(std::span<const Rows> batches, const Work& work) {
  parallel_for(threads_, batches.size() * kBlocks, [&](std::size_t index, int thread) {
    const std::size_t s = index / kBlocks, block = index % kBlocks;
    const Task task{batches[s], held_[s], scratch_[static_cast<std::size_t>(thread)],
                    held_[s].blocks.data() + block * net_.layout.dense_size};
    const std::size_t end = std::min(batches[s].count, (block + 1) * kBlockRows);
    for (std::size_t row = block * kBlockRows; row < end; ++row) work(task, row);
  });
}

template <class Work>
void FnoPass::for_modes(std::span<const Rows> batches, const Work& work) {
  const std::size_t modes = net_.layout.modes;
  parallel_for(threads_, batches.size() * modes, [&](std::size_t index, int thread) {
    work(batches[index / modes], held_[index / modes], scratch_[static_cast<std::size_t>(thread)],
         index % modes);
  });
}

void FnoPass::run(std::span<const Rows> batches) {
  const Layout& y = net_.layout;
  const Kernels& k = net_.kernels;
  for (std::size_t s = 0; s < batches.size(); ++s) held_[s].rows = batches[s].count;

  // Transposed weights for the way back, and clean sums.
  parallel_for(threads_, batches.size() * (y.layers + 2), [&](std::size_t index, int) {
    const std::size_t s = index / (y.layers + 2), l = index % (y.layers + 2);
    const float* w = batches[s].weights;
    float* t = held_[s].transposed.data();
    if (l < y.layers) k.transpose(y.width, y.width, w + y.skip[l], t + y.skip_t[l]);
    if (l == y.layers) k.transpose(y.lifting, y.width, w + y.lift2, t + y.lift2_t);
    if (l == y.layers + 1) k.transpose(y.width, y.projection, w + y.project1, t + y.project1_t);
  });
  parallel_for(threads_, batches.size() * kBlocks, [&](std::size_t index, int) {
    std::memset(held_[index / kBlocks].blocks.data() + index % kBlocks * y.dense_size, 0,
                y.dense_size * sizeof(float));
  });

  for_blocks(batches, [&](const Task& task, std::size_t row) { lift(task, row); });
  for (std::size_t l = 0; l < y.layers; ++l) {
    for_modes(batches, [&](const Rows& batch, Held& held, Scratch&, std::size_t mode) {
      const std::size_t at = mode * batch.count * net_.spectrum_row();
      k.mode_product(batch.count, y.width, y.width_padded, y.width_padded,
                     held.spectra[l].data() + at,
                     batch.weights + y.spectral[l] + mode * y.mode_size, net_.inverse_points(),
                     held.products.data() + at);
    });
    for_blocks(batches, [&](const Task& task, std::size_t row) {
      if (l + 1 < y.layers) {
        layer_forward(task, l, row);
      } else {
        last_layer_and_projection(task, row);
      }
    });
  }
  for (std::size_t l = y.layers; l-- > 0;) {
    for_modes(batches, [&](const Rows& batch, Held& held, Scratch& scratch, std::size_t mode) {
      mode_backward(held, batch, scratch, l, mode);
    });
    for_blocks(batches, [&](const Task& task, std::size_t row) { layer_backward(task, l, row); });
  }

  const std::size_t slices = (y.dense_size + kReduceSlice - 1) / kReduceSlice;
  parallel_for(threads_, batches.size() * slices, [&](std::size_t index, int) {
    Held& held = held_[index / slices];
    const std::size_t begin = index % slices * kReduceSlice;
    const std::size_t end = std::min(y.dense_size, begin + kReduceSlice);
    const std::size_t blocks = (held.rows + kBlockRows - 1) / kBlockRows;
    float* sum = held.gradient.data();
    for (std::size_t i = begin; i < end; ++i) sum[i] = held.blocks.data()[i];
    for (std::size_t b = 1; b < blocks; ++b) {
      const float* part = held.blocks.data() + b * y.dense_size;
      for (std::size_t i = begin; i < end; ++i) sum[i] += part[i];
    }
  });
}

void FnoPass::lift(const Task& task, std::size_t row) const {
  Held& held = task.held;
  float* input = held.inputs.data() + row * net_.layout.points * net_.layout.in;
  float* field = field_of(held.fields[0], row);
  task.batch.input(row, input);
  net_.lift(task.batch.weights, input, task.scratch.hidden.data(), field);
  net_.transform.forward(field, net_.field_ld, net_.layout.width_padded,
                         net_.spectrum(held.spectra[0].data(), task.batch.count, row),
                         task.scratch.transform.data());
}

void FnoPass::layer_forward(const Task& task, std::size_t l, std::size_t row) const {
  Held& held = task.held;
  const std::size_t cp = net_.layout.width_padded;
  float* next = field_of(held.fields[l + 1], row);
  net_.transform.inverse(net_.spectrum(held.products.data(), task.batch.count, row), cp, next,
                         net_.field_ld, task.scratch.transform.data());
  Dense d = net_.layer(task.batch, row, l, field_of(held.fields[l], row), next, next,
                       task.scratch.bias.data());
  d.slope = field_of(held.slopes[l + 1], row);
  net_.kernels.dense_bias_add_gelu_slope(d);
  net_.transform.forward(next, net_.field_ld, cp,
                         net_.spectrum(held.spectra[l + 1].data(), task.batch.count, row),
                         task.scratch.transform.data());
}

// The loss is a sum over points, so the projection goes forward and back chunk by chunk.
void FnoPass::last_layer_and_projection(const Task& task, std::size_t row) const {
  const Layout& y = net_.layout;
  const Kernels& k = net_.kernels;
  Held& held = task.held;
  Scratch& scratch = task.scratch;
  const float* weights = task.batch.weights;
  const std::size_t last = y.layers - 1;
  float* z = scratch.field.data();
  float* d_z = field_of(held.slopes[y.layers], row);
  net_.transform.inverse(net_.spectrum(held.products.data(), task.batch.count, row), y.width_padded,
                         z, net_.field_ld, scratch.transform.data());
  k.dense_bias_add(net_.layer(task.batch, row, last, field_of(held.fields[last], row), z, z,
                              scratch.bias.data()));

  for (std::size_t p = 0; p < y.points; p += kChunk) {
    const std::size_t n = std::min(kChunk, y.points - p);
    Dense up = net_.projection_hidden(weights, z + p * net_.field_ld, n, scratch.hidden.data());
    up.slope = scratch.slope.data();
    k.dense_bias_gelu_slope(up);
    float* output = scratch.output.data();
    k.project(n, y.projection_padded, y.out, up.y, net_.hidden_ld, weights + y.project2,
              weights + y.project2_bias, output);

    task.batch.output(row, p, n, output);  // from here on: its gradient
    for (std::size_t c = 0; c < y.out; ++c) {
      float d_bias = 0.0f;
      for (std::size_t q = 0; q < n; ++q) d_bias += output[q * y.out + c];
      task.dense[y.project2_bias + c] += d_bias;
    }
    k.project_back(n, y.projection_padded, y.out, output, weights + y.project2, up.y, up.slope,
                   net_.hidden_ld, task.dense + y.project2);
    k.outer(n, y.width, y.projection_padded, up.x, net_.field_ld, up.slope, net_.hidden_ld,
            task.dense + y.project1);
    k.column_sums(n, y.projection_padded, up.slope, net_.hidden_ld, task.dense + y.project1_bias);
    Dense down{};
    down.points = n;
    down.in = y.projection;
    down.out_padded = y.width_padded;
    down.x = up.slope;
    down.ldx = net_.hidden_ld;
    down.weight = held.transposed.data() + y.project1_t;
    down.y = d_z + p * net_.field_ld;
    down.ldy = net_.field_ld;
    k.dense(down);
  }
  layer_gradients(task, last, row, d_z);
}

// Given the gradient of layer l's output before its GELU: its bias, its dense weight, and the
// spectrum that mode_backward() goes on with.
void FnoPass::layer_gradients(const Task& task, std::size_t l, std::size_t row,
                              const float* d_out) const {
  const Layout& y = net_.layout;
  Held& held = task.held;
  net_.kernels.outer(y.points, y.width, y.width_padded, field_of(held.fields[l], row),
                     net_.field_ld, d_out, net_.field_ld, task.dense + y.skip[l]);
  if (y.shifts == 0) {
    net_.kernels.column_sums(y.points, y.width_padded, d_out, net_.field_ld,
                             task.dense + y.bias[l]);
  } else {
    shift_gradients(task, l, row, d_out);
  }
  net_.transform.forward(d_out, net_.field_ld, y.width_padded,
                         net_.spectrum(held.products.data(), task.batch.count, row),
                         task.scratch.transform.data());
}

// The bias of a row is b + sum_s p_s w_s: both have its sums over points, the second times p_s.
void FnoPass::shift_gradients(const Task& task, std::size_t l, std::size_t row,
                              const float* d_out) const {
  const Layout& y = net_.layout;
  float* sums = task.scratch.bias.data();
  std::fill_n(sums, y.width_padded, 0.0f);
  net_.kernels.column_sums(y.points, y.width_padded, d_out, net_.field_ld, sums);
  const float* by = task.batch.shifts(row);
  for (std::size_t c = 0; c < y.width_padded; ++c) task.dense[y.bias[l] + c] += sums[c];
  for (std::size_t s = 0; s < y.shifts; ++s)
    for (std::size_t c = 0; c < y.width_padded; ++c)
      task.dense[y.shift[l] + s * y.width_padded + c] += by[s] * sums[c];
}

// With the field u = sum_k c_k/N Re(O_k e^{ikx}) (c_k the multiplicity) and D the forward transform
// of the gradient of u, the gradient of O_k is c_k/N D_k. The input's spectrum I enters through
// I_k = sum_x u e^{-ikx}, whose gradient G_k gives the field Re sum_k G_k e^{ikx}: the inverse
// transform of G_k / c_k, so there the multiplicity cancels.
void FnoPass::mode_backward(Held& held, const Rows& batch, Scratch& scratch, std::size_t l,
                            std::size_t mode) const {
  const Layout& y = net_.layout;
  const std::size_t at = mode * batch.count * net_.spectrum_row();
  const std::size_t weight = y.spectral[l] + mode * y.mode_size;
  float* in = held.spectra[l].data() + at;
  const float* d = held.products.data() + at;
  net_.kernels.mode_gradient(batch.count, y.width, y.width_padded, y.width_padded, in, d,
                             net_.transform.multiplicity(mode) * net_.inverse_points(),
                             held.gradient.data() + weight);
  net_.kernels.mode_adjoint(y.width, y.width, batch.weights + weight, scratch.adjoint.data());
  net_.kernels.mode_product(batch.count, y.width, y.width_padded, y.width_padded, d,
                            scratch.adjoint.data(), net_.inverse_points(), in);
}

void FnoPass::layer_backward(const Task& task, std::size_t l, std::size_t row) const {
  const Layout& y = net_.layout;
  Held& held = task.held;
  float* d_in = task.scratch.d_field.data();
  net_.transform.inverse(net_.spectrum(held.spectra[l].data(), task.batch.count, row),
                         y.width_padded, d_in, net_.field_ld, task.scratch.transform.data());
  Dense d{};
  d.points = y.points;
  d.in = y.width;
  d.out_padded = y.width_padded;
  d.x = field_of(held.slopes[l + 1], row);
  d.ldx = net_.field_ld;
  d.weight = held.transposed.data() + y.skip_t[l];
  d.add = d_in;
  d.ldy = net_.field_ld;
  if (l == 0) {
    d.y = d_in;
    net_.kernels.dense_add(d);
    lift_backward(task, row, d_in);
    return;
  }
  float* slope = field_of(held.slopes[l], row);
  d.factor = slope;
  d.y = slope;
  net_.kernels.dense_add_mul(d);
  layer_gradients(task, l - 1, row, slope);
}

// The hidden layer is computed again: it is cheaper than keeping it in memory since the way up.
void FnoPass::lift_backward(const Task& task, std::size_t row, const float* d_field) const {
  const Layout& y = net_.layout;
  const Kernels& k = net_.kernels;
  const float* weights = task.batch.weights;
  const float* input = task.held.inputs.data() + row * y.points * y.in;
  for (std::size_t p = 0; p < y.points; p += kChunk) {
    const std::size_t n = std::min(kChunk, y.points - p);
    Dense up = net_.lifting_hidden(weights, input + p * y.in, n, task.scratch.hidden.data());
    up.slope = task.scratch.slope.data();
    k.dense_bias_gelu_slope(up);

    const float* d = d_field + p * net_.field_ld;
    k.outer(n, y.lifting, y.width_padded, up.y, net_.hidden_ld, d, net_.field_ld,
            task.dense + y.lift2);
    k.column_sums(n, y.width_padded, d, net_.field_ld, task.dense + y.lift2_bias);
    Dense down{};
    down.points = n;
    down.in = y.width;
    down.out_padded = y.lifting_padded;
    down.x = d;
    down.ldx = net_.field_ld;
    down.weight = task.held.transposed.data() + y.lift2_t;
    down.factor = up.slope;
    down.y = up.slope;
    down.ldy = net_.hidden_ld;
    k.dense_mul(down);
    k.outer(n, y.in, y.lifting_padded, up.x, y.in, up.slope, net_.hidden_ld, task.dense + y.lift1);
    k.column_sums(n, y.lifting_padded, up.slope, net_.hidden_ld, task.dense + y.lift1_bias);
  }
}

}  // namespace stap::cpu::fno
