// The kernels of the CUDA engine, as the host sees them: what they compute and on which arrays.
//
// Work comes in bundles: up to 32 rows (states) of one member. Fields of a bundle are
// [row][point][64 channels], points numbered across rows (q = row * points + point) and padded to a
// multiple of kTilePoints; spectra are [mode][row][re, im][64]. Widths are padded to 64, hidden
// layers to 256, channels to 16: weights of padding are zero and stay zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "nn/body_points.h"

namespace stap::cuda {

inline constexpr int kRows = 32;
inline constexpr int kTilePoints = 128;  // that a block of threads works on at a time
inline constexpr int kHidden = 256;
inline constexpr int kChunks = kHidden / 64;  // in which hidden layers are made
inline constexpr int kChannels = 16;
inline constexpr int kTold = 1 + 8;  // of a row: the time, and every parameter that may vary
inline constexpr std::size_t kSharedNeeded = 132 * 1024;  // bytes that a block must be able to have

// Offsets of the dense weights of a member, in floats. Matrices are [in][out], but project2, which
// is [out][hidden].
inline constexpr int kLift1 = 0;
inline constexpr int kLift1Bias = kLift1 + kChannels * kHidden;
inline constexpr int kLift2 = kLift1Bias + kHidden;
inline constexpr int kLift2Bias = kLift2 + kHidden * 64;
inline constexpr int kProject1 = kLift2Bias + 64;
inline constexpr int kProject1Bias = kProject1 + 64 * kHidden;
inline constexpr int kProject2 = kProject1Bias + kHidden;
inline constexpr int kProject2Bias = kProject2 + kChannels * kHidden;
inline constexpr int kLayers = kProject2Bias + kChannels;
inline constexpr int kLayerSize = 64 * 64 + 64;  // skip [64][64], bias [64]
__host__ __device__ constexpr int dense_size(int layers) {
  return kLayers + layers * kLayerSize;
}
// One mode's weight: [re, im][in 64][out 64].
inline constexpr int kModeSize = 2 * 64 * 64;

// Blocks of 64 x 64 weights in the order the kernels read them (mma.cuh), forward and transposed.
inline constexpr int kLift2Blocks = 0, kLift2Back = 4, kProject1Blocks = 8, kProject1Back = 12;
inline constexpr int kSkipBlocks = 16;  // two per layer
__host__ __device__ constexpr std::size_t fragments_size(int layers) {
  return std::size_t(kSkipBlocks + 2 * layers) * 64 * 64;
}

/// The rows of one bundle at one step.
struct BundleRows {
  const float* in[kRows];      ///< states [C][points]; those from `rows` on are not read
  const float* target[kRows];  ///< training only
  float* out[kRows];           ///< inference only
  float told[kRows][kTold];    ///< Net::told of them are read
  int rows;
  int made;  ///< rows that the forward kernels make: `rows`; in training, whose sums over points
             ///< read them all, kRows (0 if there is none)
  int member;
  float rate, root_scale;  ///< Adam: of this step
  float beta1, beta2, epsilon;
  float average_part;  ///< nn/adam.h
};

/// Numbers of one step of a job.
struct StepFactors {
  float rate, root_scale, average_part;
};

/// A job as the device follows it through an epoch.
struct DeviceJob {
  const float* inputs;
  const float* targets;
  const float* told;           ///< TransitionsView::told, [row][Net::told]
  const std::uint32_t* order;  ///< rows of the epoch
  const StepFactors* factors;  ///< per step of the epoch
  std::uint32_t count;         ///< rows of the epoch
  std::uint32_t batch;
  int member;
  float beta1, beta2, epsilon;
  double noise;                ///< FitOptions::noise
  std::uint64_t noise_key;     ///< of noise_of_epoch() (nn/augment.h)
  const std::int32_t* maps;    ///< of each symmetry StateMap::from, then the same of what is told
  std::uint64_t reversed;      ///< bit g: map g turns time round
  const std::uint8_t* images;  ///< of the rows of the epoch (draw_images()); null: as they are
};

/// All networks of an engine.
struct Net {
  int points;        ///< of the body's grid
  int state_points;  ///< of a state
  int counted;       ///< of these, those that are not masked
  int in, out, layers, modes;
  int told;        ///< behind the state's channels come so many that rows are told,
  int placed;      ///< and from this channel on `positions`
  int projection;  ///< channels of the projection's hidden layer, rounded up to a multiple of 64
  bool delta;
  unsigned conserved;                  ///< bit c: a step keeps the mean of channel c
  float *weights, *moment1, *moment2;  ///< [member][member_size]: dense, then [layer][mode]
  float* average;                      ///< likewise, or null: running one of the weights
  std::size_t member_size;
  float* fragments;               ///< [member][fragments_size]
  const float *mean, *deviation;  ///< [member][16]
  const float* loss_factors;      ///< likewise (FitJob); training only
  const float* positions;         ///< position_inputs() [in - placed][points]
  const std::uint8_t* mask;       ///< FixedFields::mask [state_points], or null
  const BodyPoint* table;         ///< body_points() [points], or null: both grids are one

  __host__ __device__ int tiles() const { return (kRows * points + kTilePoints - 1) / kTilePoints; }
  __host__ __device__ int field_points() const { return tiles() * kTilePoints; }
  __host__ __device__ std::size_t field_size() const { return std::size_t(field_points()) * 64; }
  __host__ __device__ std::size_t spectrum_size() const { return std::size_t(modes) * kRows * 128; }
  __host__ __device__ std::size_t spectral(int layer) const {
    return dense_size(layers) + std::size_t(layer) * modes * kModeSize;
  }
};

/// Where the lines of a panel stand in a bundle's array of `size` floats. Line i is at i * stride,
/// or, in pairs (real and imaginary part), at (i / 2) * stride + (i % 2) * 64 from the panel's
/// beginning.
struct Side {
  int stride;
  bool pairs;
  int outer, inner;  ///< panel p begins at (p / Pass::inner) * outer + (p % Pass::inner) * inner
  std::size_t size;

  __host__ __device__ int offset(int line) const {
    return pairs ? (line >> 1) * stride + (line & 1) * 64 : line * stride;
  }
};

/// A real matrix applied along one axis: out[m] = sum over k of matrix[m][k] in[k], for the 64
/// channels of every panel.
struct Pass {
  const float4* matrix;     ///< fragments [m / 16][k / 8][lane], zero beyond the edges
  int lines_in, lines_out;  ///< k and m
  int panels, inner;
  Side in, out;
};

/// What a launch needs to know besides its arrays.
struct Launch {
  Net net;
  const BundleRows* rows;  ///< of the first bundle of the launch
  int bundles;
  bool exact;  ///< single precision instead of tf32
  cudaStream_t stream;
};

// Sketches: the hidden activations of a row, point * Net::projection + channel, are cut into parts
// that fit into shared memory, the coordinates into slices of a warp.
inline constexpr int kSketchCoordinates = 512;
inline constexpr int kSketchPart = 4096;
inline constexpr int kSketchSlice = 32;
inline constexpr int kSketchSlices = kSketchCoordinates / kSketchSlice;

/// What each coordinate of a sketch sums, for the rows of one bundle.
struct BundleSketch {
  const std::uint32_t* first;  ///< [part][slice] and the end: where the entries begin
  const ushort4* entries;      ///< [four terms][coordinate of the slice]: activation within the
                               ///< part, or kSketchPart for none; top bit: minus
  int feature_row[kRows];
};

/// Parts a bundle's points are cut into where gradients are summed, for lifting and projection and
/// for a layer: functions of the points alone, so that a member's sums do not depend on its mates.
int parts_of(int points);
int layer_parts_of(int points);

/// Raises the kernels' shared-memory limits; once per process and device.
void prepare_kernels();

/// Rows of `values` floats, told `told` more.
void gather_rows(const DeviceJob* jobs, int bundles, const int* step, BundleRows* rows, int values,
                 int told, cudaStream_t stream);
/// Behind gather_rows(): where a job has symmetries, rows become images of themselves, and where it
/// has noise, their inputs noisy copies, in `inputs` and `targets` ([bundle][kRows][C][points]).
/// `jobs` and `rows` are those of the launch's first bundle.
void augment(const Launch& launch, const DeviceJob* jobs, const int* step, BundleRows* rows,
             float* inputs, float* targets);
void next_step(int* step, cudaStream_t stream);
/// Puts the dense weights of the bundles' members in the order the other kernels read: needed
/// whenever they have changed.
void order_weights(const Launch& launch);
/// Moves the averages of the bundles' members towards their weights; those of members without an
/// average_part stay.
void average_weights(const Launch& launch);

/// Whether lift() and layer() can make `first`, the first pass of the transform of the field they
/// make, themselves; `last` is the pass layer() makes before.
bool can_follow(const Pass& first, const Pass& last);
/// With `then`: also that pass of the field, to `half`.
void lift(const Launch& launch, float* field, const Pass* then, float* half);
/// `gelu_first`: GELU of every value read.
void transform(const Launch& launch, const Pass& pass, const float* in, bool gelu_first,
               float* out);
void mode_product(const Launch& launch, int layer, const float* spectrum, float* product);
/// Whether layer() and layer_back() can make this pass (the last of a transform to a field)
/// themselves.
bool can_fuse(const Pass& pass);
/// next = skip(GELU(field)) + bias + add, add a field or, with a pass, what the pass makes of it;
/// GELU of that with `gelu_after`. With `then`: also that pass of GELU(next), to `half`.
void layer(const Launch& launch, int layer, const float* field, bool gelu_first, const Pass* pass,
           const float* add, float* next, bool gelu_after, const Pass* then, float* half);
/// Field after the last layer -> states. `hidden` may be null: else the hidden layer before its
/// GELU, [bundle][point q][Net::projection].
void project(const Launch& launch, const float* field, float* hidden);
/// The same, with loss and gradients: d_field, sums of the gradient of lifting and projection per
/// part (partial: [bundle][part][kLayers]) and squared errors (losses: [bundle][part]).
void project_back(const Launch& launch, const float* field, float* d_field, float* partial,
                  double* losses);
/// Gradient of a mode's weight, its Adam step (or, with `gradient`, only the gradient,
/// [layer][mode] of bundle 0), and the gradient of its input (over `spectrum`).
void mode_back(const Launch& launch, int layer, float* spectrum, const float* d_product,
               float* gradient);
/// d_field: of the layer's output before, of the input's (pre-GELU) value after. partial:
/// [bundle][layer part][layer][kLayerSize].
void layer_back(const Launch& launch, int layer, const float* field, bool gelu_first,
                const Pass* pass, const float* d_add, float* d_field, float* partial);
void lift_back(const Launch& launch, const float* d_field, float* partial);
/// Sums the parts (ends: of lifting and projection) and makes the Adam step of the dense weights;
/// adds the losses to `squares` [bundle]. With `gradient`: writes the sums there (bundle 0) and
/// leaves the weights.
void dense_step(const Launch& launch, const float* ends, const float* layers, const double* losses,
                double* squares, float* gradient);

/// Means over the grid of the conserved channels of the rows' inputs, [bundle][row][kChannels],
/// and, once the rows are advanced, what gives the outputs the same means: a row may be advanced in
/// its place.
void conserved_means(const Launch& launch, double* means);
void restore_means(const Launch& launch, const double* means);

// Rows of the committee: `values` each, addressed by pointers.
void average(const float* parts, std::size_t part_stride, int members, float* const* to, int rows,
             int values, cudaStream_t stream);
/// What channels of `points` values differ by is multiplied with a factor, or with 0 where `mask`
/// (or null) is.
struct ChannelFactors {
  const double* factors;
  int points;
  const std::uint8_t* mask;
};
/// `out` of these three may be page-locked memory of the host.
void distances(const float* const* x, const float* const* y, int rows, int values,
               ChannelFactors channels, double* out, cudaStream_t stream);
void spreads(const float* const* x, int groups, int members, int values, ChannelFactors channels,
             double* out, cudaStream_t stream);
/// out[feature row][coordinate] = the sketch of hidden, which project() has made.
void sketch(const Launch& launch, const BundleSketch* sketches, const float* hidden, double* out);

}  // namespace stap::cuda
