#include "couple/state_hdf5.h"
#include "stap/core/error.h"

namespace stap {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::config,
              "solver.format is hdf5, which this program was built without: use 'stap serve', or "
              "format: npy");
}

}  // namespace

void check_hdf5() {
  refuse();
}

void write_state_hdf5(const std::filesystem::path&, const Outline&, const Query&) {
  refuse();
}

Array<double> read_states_hdf5(const std::filesystem::path&) {
  refuse();
}

}  // namespace stap
