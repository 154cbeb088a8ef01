#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/pending_file.h"
#include "stap/config/files.h"
#include "stap/core/error.h"
#include "stap/data/array_file.h"
#include "stap/results/export.h"

namespace stap {
namespace {

namespace fs = std::filesystem;

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  return result;
}

// XDMF lists axes from the slowest to the fastest, and a viewer's x is the fastest: axes are the
// other way round than in our arrays.
struct Picture {
  std::vector<std::size_t> sizes;  // always three: z, y, x
  std::vector<double> spacings;

  explicit Picture(const Grid& grid) : sizes(3, 1), spacings(3, 1.0) {
    for (std::size_t axis = 0; axis < grid.axes(); ++axis) {
      sizes[2 - axis] = grid.points[axis];
      spacings[2 - axis] = grid.spacing(axis);
    }
  }
  /// Of the axes there are.
  std::vector<std::size_t> shape(const Grid& grid) const {
    return {sizes.end() - static_cast<std::ptrdiff_t>(grid.axes()), sizes.end()};
  }
};

// A channel with x contiguous.
std::vector<double> turned(const Grid& grid, std::span<const double> field) {
  const std::size_t nx = grid.points[0], ny = field.size() / nx;
  std::vector<double> to;
  to.reserve(field.size());
  for (std::size_t y = 0; y < ny; ++y)
    for (std::size_t x = 0; x < nx; ++x) to.push_back(field[x * ny + y]);
  return to;
}

// One dataset a state and channel: not every viewer can read parts of larger ones.
std::string dataset_name(std::size_t trajectory, std::size_t t, const std::string& channel) {
  return fmt::format("{}_{}_{}", trajectory, t, channel);
}

// A state as a grid of a time series.
std::string grid_text(const TrainingData& data, const Picture& picture, const std::string& file,
                      std::size_t trajectory, std::size_t t) {
  std::string text = fmt::format(
      "      <Grid Name=\"state {}\" GridType=\"Uniform\">\n"
      "        <Time Value=\"{}\"/>\n"
      "        <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{}\"/>\n"
      "        <Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
      "          <DataItem Dimensions=\"3\" NumberType=\"Float\" Format=\"XML\">0 0 0</DataItem>\n"
      "          <DataItem Dimensions=\"3\" NumberType=\"Float\" Format=\"XML\">{}</DataItem>\n"
      "        </Geometry>\n",
      t, data.time(t), fmt::join(picture.sizes, " "), fmt::join(picture.spacings, " "));
  for (const std::string& channel : data.channels)
    text += fmt::format(
        "        <Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Node\">\n"
        "          <DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" "
        "Format=\"HDF\">{}:/{}</DataItem>\n"
        "        </Attribute>\n",
        escaped(channel), fmt::join(picture.sizes, " "), escaped(file),
        escaped(dataset_name(trajectory, t, channel)));
  text += fmt::format(
      "        <Attribute Name=\"state_source\" AttributeType=\"Scalar\" Center=\"Grid\">\n"
      "          <DataItem Dimensions=\"1\" NumberType=\"Int\" Format=\"XML\">{}</DataItem>\n"
      "        </Attribute>\n"
      "      </Grid>\n",
      static_cast<unsigned>(data.trajectories[trajectory].sources[t]));
  return text;
}

std::string document(const TrainingData& data, const std::string& file) {
  const Picture picture(data.grid);
  std::string text = std::string(kXdmfBegin) +
                     " 1 initial condition, 2 made by the solver, 3 made by the surrogate; "
                     "states that are not in the training set are left out -->\n"
                     "<Xdmf Version=\"2.0\">\n"
                     "  <Domain>\n";
  for (std::size_t b = 0; b < data.trajectories.size(); ++b) {
    const WalkedTrajectory& trajectory = data.trajectories[b];
    std::string own;
    for (std::size_t p = 0; p < data.set.parameters.names.size(); ++p)
      own += fmt::format(", {} {:.6g}", data.set.parameters.names[p],
                         data.parameters_of(trajectory)[p]);
    text += fmt::format(
        "    <Grid Name=\"candidate {}, round {}{}\" GridType=\"Collection\" "
        "CollectionType=\"Temporal\">\n",
        trajectory.candidate, trajectory.acquisition, escaped(own));
    for (std::size_t t = 0; t < data.times(); ++t)
      if (trajectory.sources[t] != StateSource::unknown)
        text += grid_text(data, picture, file, b, t);
    text += "    </Grid>\n";
  }
  return text + "  </Domain>\n</Xdmf>\n";
}

}  // namespace

fs::path xdmf_values(const fs::path& file) {
  return fs::path(file).replace_extension(".h5");
}

void export_xdmf(const TrainingData& data, const fs::path& file) {
  if (file.extension() != ".xdmf" && file.extension() != ".xmf")
    throw Error(ErrorKind::config,
                fmt::format("--out is {}, expected a name that ends with .xdmf: viewers go by it",
                            file.string()));
  const fs::path values = xdmf_values(file);
  const std::vector<std::size_t> shape = Picture(data.grid).shape(data.grid);
  const std::size_t points = data.grid.points_total();
  ArrayWriter writer(values);
  std::vector<double> piece;  // the one that is written now
  for (std::size_t b = 0; b < data.trajectories.size(); ++b)
    for (std::size_t t = 0; t < data.times(); ++t) {
      const std::span<const double> state = data.state_of(data.trajectories[b], t);
      for (std::size_t c = 0; c < data.channels.size() && !state.empty(); ++c)
        writer.add_pieces(dataset_name(b, t, data.channels[c]), shape, [&, state, c] {
          piece = turned(data.grid, state.subspan(c * points, points));
          return std::span<const double>(piece);
        });
    }
  std::vector<std::int64_t> source, candidate, round;
  for (const WalkedTrajectory& trajectory : data.trajectories) {
    for (StateSource one : trajectory.sources) source.push_back(static_cast<std::int64_t>(one));
    candidate.push_back(static_cast<std::int64_t>(trajectory.candidate));
    round.push_back(static_cast<std::int64_t>(trajectory.acquisition));
  }
  const std::size_t n = data.trajectories.size();
  writer.add_integers("state_source", {n, data.times()}, source);
  writer.add_integers("candidate", {n}, candidate);
  writer.add_integers("round", {n}, round);
  writer.describe({data.problem, data.grid, data.set.dt});
  writer.commit();
  remove_leftovers_of(file);
  write_text(file, document(data, values.filename().string()));
}

}  // namespace stap
