#pragma once

#include <bit>
#include <cstddef>
#include <span>
#include <utility>

#include "nn/cuda/check.h"

namespace stap::cuda {

/// Memory on the device, zero at first. Throws Error(unavailable) when there is not enough.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)), "memory on the GPU");
    // Not on the default stream: another thread may be recording a graph, which must not come to
    // depend on it.
    check(cudaMemsetAsync(data_, 0, size * sizeof(T), cudaStreamPerThread),
          "clearing memory on the GPU");
    check(cudaStreamSynchronize(cudaStreamPerThread), "clearing memory on the GPU");
  }
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) { put(values); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

  /// Copies that wait: for set-up and results.
  void put(std::span<const T> values, std::size_t at = 0) {
    if (values.empty()) return;
    check(cudaMemcpy(data_ + at, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
          "copying to the GPU");
  }
  void zero(std::size_t at, std::size_t count) {
    check(cudaMemset(data_ + at, 0, count * sizeof(T)), "clearing memory of the GPU");
    check(cudaStreamSynchronize(nullptr), "clearing memory of the GPU");  // it does not wait itself
  }
  void get(std::span<T> values, std::size_t at = 0) const {
    if (values.empty()) return;
    check(cudaMemcpy(values.data(), data_ + at, values.size_bytes(), cudaMemcpyDeviceToHost),
          "copying from the GPU");
  }
  /// Grows to at least `size`; what was in it is lost when it grows.
  void reserve(std::size_t size) {
    if (size > size_) *this = DeviceArray(size);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Page-locked memory of the host, which kernels can write to by themselves.
template <class T>
class HostArray {
 public:
  HostArray() = default;
  ~HostArray() { cudaFreeHost(data_); }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Grows to at least `size`, seldom; what was in it is lost when it grows. The device must not be
  /// using it.
  void reserve(std::size_t size) {
    if (size <= size_) return;
    cudaFreeHost(std::exchange(data_, nullptr));
    size_ = 0;
    const std::size_t more = std::bit_ceil(size);
    check(cudaMallocHost(reinterpret_cast<void**>(&data_), more * sizeof(T)), "page-locked memory");
    size_ = more;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Values that are sent to the device again and again, to the same place: through page-locked
/// memory, since a copy from other memory makes its caller wait.
template <class T>
class Sent {
 public:
  explicit Sent(std::size_t size = 0) {
    check(cudaEventCreateWithFlags(&left_, cudaEventDisableTiming), "making an event");
    reserve(size);
  }
  ~Sent() { cudaEventDestroy(left_); }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;

  T* data() const { return device_.data(); }               ///< on the device
  std::size_t capacity() const { return device_.size(); }  ///< beyond it, data() changes

  /// Room for the values to send next. Waits until those sent before have left.
  std::span<T> write(std::size_t size) {
    check(cudaEventSynchronize(left_), "copying to the GPU");
    reserve(size);
    count_ = size;
    return {host_.data(), size};
  }
  /// Copies them in the order of the stream.
  void send(cudaStream_t stream) {
    if (count_ == 0) return;
    check(cudaMemcpyAsync(device_.data(), host_.data(), count_ * sizeof(T), cudaMemcpyHostToDevice,
                          stream),
          "copying to the GPU");
    check(cudaEventRecord(left_, stream), "copying to the GPU");
  }

 private:
  void reserve(std::size_t size) {
    host_.reserve(size);
    device_.reserve(host_.size());
  }

  HostArray<T> host_;
  DeviceArray<T> device_;
  cudaEvent_t left_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace stap::cuda
