// Blocks of a cluster: they run at the same time and read each other's shared memory.
#pragma once

#include <cstdint>

namespace stap::cuda {

// All threads of all blocks have come here, and what they wrote before can be read.
__device__ inline void wait_for_cluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// Where `place`, in this block's shared memory, is in that of block `rank` of the cluster.
__device__ inline std::uint32_t place_in_block(const float* place, int rank) {
  std::uint32_t address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"(std::uint32_t(__cvta_generic_to_shared(place))), "r"(rank));
  return address;
}
__device__ inline float read_in_block(const float* place, int rank) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];"
               : "=f"(x)
               : "r"(place_in_block(place, rank))
               : "memory");
  return x;
}
// Four values; place: a multiple of 16 bytes.
__device__ inline float4 read_four_in_block(const float* place, int rank) {
  float4 x;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(place_in_block(place, rank))
               : "memory");
  return x;
}

}  // namespace stap::cuda
