#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

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
    check(cudaMemset(data_, 0, size * sizeof(T)), "clearing memory on the GPU");
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

/// Copies `values` to the device in the order of the stream; `values` may change on return.
template <class T>
void put_async(DeviceArray<T>& to, const std::vector<T>& values, cudaStream_t stream) {
  to.reserve(values.size());
  check(cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                        stream),
        "copying to the GPU");
}

}  // namespace stap::cuda
