#include "couple/state_hdf5.h"

#include "stap/data/array_file.h"

namespace stap {
namespace {

constexpr const char* kDataset = "state";

}  // namespace

void check_hdf5() {}

void write_state_hdf5(const std::filesystem::path& file, const Outline& outline,
                      const Query& query) {
  std::vector<std::size_t> shape{outline.grid.channels};
  shape.insert(shape.end(), outline.grid.points.begin(), outline.grid.points.end());
  ArrayWriter writer(file);
  writer.describe({outline.name, outline.grid, outline.dt});
  writer.add(kDataset, shape, query.state);
  writer.add_attribute("time", query.time);
  writer.add_attribute("steps", static_cast<double>(query.steps));
  for (const Parameter& p : parameters_of(outline, query)) writer.add_attribute(p.name, p.value);
  writer.commit(false);
}

Array<double> read_states_hdf5(const std::filesystem::path& file) {
  return read_foreign_array(file, kDataset);
}

}  // namespace stap
