// The host's side of all launches: grids, limits, errors.
#include "nn/cuda/launch.h"

#include <algorithm>

namespace stap::cuda {

void launched(const char* name) {
  check(cudaGetLastError(), name);
}

dim3 tiles_grid(const Launch& launch) {
  constexpr int kBlocksWanted = 2048;
  const int tiles = launch.net.tiles();
  const int tiles_per_block = std::clamp(tiles * launch.bundles / kBlocksWanted, 2, 16);
  return dim3(as_grid((tiles + tiles_per_block - 1) / tiles_per_block), as_grid(launch.bundles));
}
dim3 chunks_grid(const Launch& launch) {
  return dim3(as_grid(kChunks * parts_of(launch.net.points)), as_grid(launch.bundles));
}

int layer_parts_of(int points) {
  const int tiles = (kRows * points + kTilePoints - 1) / kTilePoints;
  return std::clamp((tiles + 1) / 2, 1, 64);
}

int parts_of(int points) {
  // Few parts make few sums to add up, many leave less of the device idle when the last of them
  // end: some tiles for each.
  const int tiles = (kRows * points + kTilePoints - 1) / kTilePoints;
  return tiles > 128 ? std::min(tiles / 4, 64) : std::max((tiles + 4) / 5, 1);
}

void prepare_kernels() {
  prepare_lift();
  prepare_layer();
  prepare_project();
  prepare_transform();
  prepare_modes();
  prepare_rows();
}

}  // namespace stap::cuda
