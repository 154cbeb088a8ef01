#include "stap/nn/onnx_file.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "nn/onnx_graph.h"
#include "stap/core/error.h"
#include "stap/nn/fno.h"

namespace stap {
namespace {

using onnx::Graph, onnx::Shape;

// The transforms as matrices: spectrum = field [P] times `re` and `im` [P, K]; field = the
// spectrum's parts times `from_re` and `from_im` [K, P].
struct TransformTables {
  std::string re, im, from_re, from_im;
};

TransformTables transforms(Graph& graph, const Grid& grid, const FnoOptions& options) {
  const std::size_t points = grid.points_total(), modes = options.kept_total();
  const std::size_t ny = grid.points.back(), nx = points / ny, ky = options.kept().back();
  const std::size_t half = grid.axes() == 2 ? options.modes[0] / 2 : 0;  // of the first axis' waves
  std::array<std::vector<float>, 4> tables;
  for (std::vector<float>& table : tables) table.resize(points * modes);
  for (std::size_t p = 0; p < points; ++p)
    for (std::size_t k = 0; k < modes; ++k) {
      const std::size_t wave = k / ky + nx - half, b = k % ky;  // modulo nx
      // Of each axis the angle is reduced exactly.
      const double turns = static_cast<double>(wave * (p / ny) % nx) / static_cast<double>(nx) +
                           static_cast<double>(b * (p % ny) % ny) / static_cast<double>(ny);
      const double angle = 2.0 * std::numbers::pi * turns;
      // Complex to real along the last axis: zero and middle mode count once, and there only the
      // real part of what came along the first axis.
      const bool once = b == 0 || 2 * b == ny;
      const double factor = (once ? 1.0 : 2.0) / static_cast<double>(points);
      tables[0][p * modes + k] = static_cast<float>(std::cos(angle));
      tables[1][p * modes + k] = static_cast<float>(-std::sin(angle));
      tables[2][k * points + p] = static_cast<float>(factor * std::cos(angle));
      tables[3][k * points + p] = static_cast<float>(-factor * std::sin(angle));
    }
  return {graph.constant({points, modes}, tables[0]), graph.constant({points, modes}, tables[1]),
          graph.constant({modes, points}, tables[2]), graph.constant({modes, points}, tables[3])};
}

class MemberGraph {
 public:
  MemberGraph(Graph& graph, const NetworkSpec& spec, const MemberState& member,
              const TransformTables& tables)
      : graph_(graph), spec_(spec), member_(member), tables_(tables) {}

  // State [B, C, P] -> the next one.
  std::string step(const std::string& state, const std::string& time) {
    const std::size_t channels = spec_.out_channels();
    const std::string mean = graph_.constant({channels, 1}, member_.scaling.mean);
    const std::string deviation = graph_.constant({channels, 1}, member_.scaling.deviation);
    std::string x = lifted(graph_.op("Div", {graph_.op("Sub", {state, mean}), deviation}), time);
    x = dense("lifting.fcs.1", gelu(x));
    for (std::size_t l = 0; l < options_.layers; ++l) {
      x = layer(x, l);
      if (l + 1 < options_.layers) x = gelu(x);
    }
    x = dense("projection.fcs.1", gelu(dense("projection.fcs.0", x)));
    const bool delta = spec_.target == NetworkOptions::Target::delta;
    x = graph_.op("Add", {graph_.op("Mul", {x, deviation}), delta ? state : mean});
    if (spec_.conserved.empty()) return x;
    std::vector<float> kept(channels, 0.0f);
    for (const std::size_t c : spec_.conserved) kept[c] = 1.0f;
    const auto mean_of = [&](const std::string& values) {
      return graph_.op("ReduceMean", {values}, {{"axes", {2}}}, {{"keepdims", 1}});
    };
    const std::string shift = graph_.op("Sub", {mean_of(state), mean_of(x)});
    return graph_.op("Add", {x, graph_.op("Mul", {shift, graph_.constant({channels, 1}, kept)})});
  }

 private:
  const Tensor& tensor(const std::string& name) const {
    for (const Tensor& t : member_.weights)
      if (t.name == name) return t;
    throw Error(ErrorKind::internal, fmt::format("a network without {}", name));
  }
  std::string matrix(const std::string& name) {
    const Tensor& t = tensor(name);
    return graph_.constant({t.shape[0], t.shape[1]}, t.values);
  }
  std::string column(const std::string& name) {
    const Tensor& t = tensor(name);
    return graph_.constant({t.values.size(), 1}, t.values);
  }
  std::string dense(const std::string& name, const std::string& x) {
    return graph_.op("Add",
                     {graph_.op("MatMul", {matrix(name + ".weight"), x}), column(name + ".bias")});
  }
  std::string gelu(const std::string& x) {
    const std::string erf =
        graph_.op("Erf", {graph_.op("Mul", {x, graph_.scalar(std::numbers::sqrt2 / 2.0)})});
    return graph_.op("Mul", {graph_.op("Mul", {x, graph_.scalar(0.5)}),
                             graph_.op("Add", {erf, graph_.scalar(1.0)})});
  }

  // The first layer: what it makes of the place does not depend on the state.
  std::string lifted(const std::string& x, const std::string& time) {
    const Tensor& weight = tensor("lifting.fcs.0.weight");
    const std::size_t out = weight.shape[0], in = weight.shape[1], channels = spec_.out_channels();
    const std::size_t points = spec_.grid.points_total(), placed = in - spec_.position_channels();
    std::vector<float> of_state, of_time, rest = tensor("lifting.fcs.0.bias").values;
    for (std::size_t o = 0; o < out; ++o) {
      for (std::size_t c = 0; c < channels; ++c) of_state.push_back(weight.values[o * in + c]);
      if (spec_.inputs.time) of_time.push_back(weight.values[o * in + channels]);
    }
    Shape shape{out, 1};
    if (spec_.inputs.position) {
      const std::vector<float> positions = position_inputs(spec_);
      std::vector<float> whole(out * points);
      for (std::size_t o = 0; o < out; ++o)
        for (std::size_t p = 0; p < points; ++p) {
          double sum = rest[o];
          for (std::size_t c = placed; c < in; ++c)
            sum += static_cast<double>(weight.values[o * in + c]) *
                   static_cast<double>(positions[(c - placed) * points + p]);
          whole[o * points + p] = static_cast<float>(sum);
        }
      rest = std::move(whole);
      shape = {out, points};
    }
    std::string made = graph_.op("MatMul", {graph_.constant({out, channels}, of_state), x});
    if (!of_time.empty())
      made = graph_.op("Add", {made, graph_.op("Mul", {graph_.constant({out, 1}, of_time), time})});
    return graph_.op("Add", {made, graph_.constant(shape, rest)});
  }

  std::string layer(const std::string& x, std::size_t l) {
    const std::size_t w = options_.width, modes = options_.kept_total();
    const Tensor& weight = tensor(fmt::format("fno_blocks.convs.weight.{}.tensor", l));
    // [in, out, K, 2] -> two of [K, in, out].
    std::array<std::vector<float>, 2> parts;
    for (std::vector<float>& part : parts) part.resize(w * w * modes);
    for (std::size_t i = 0; i < weight.values.size(); ++i)
      parts[i % 2][i / 2 % modes * w * w + i / 2 / modes] = weight.values[i];
    const std::string re = graph_.constant({modes, w, w}, parts[0]);
    const std::string im = graph_.constant({modes, w, w}, parts[1]);
    const auto spectrum = [&](const std::string& table) {  // [K, B, w]
      return graph_.op("Transpose", {graph_.op("MatMul", {x, table})}, {{"perm", {2, 0, 1}}});
    };
    const std::string a = spectrum(tables_.re), b = spectrum(tables_.im);
    const auto product = [&](const std::string& s, const std::string& matrices) {
      return graph_.op("MatMul", {s, matrices});
    };
    const auto back = [&](const std::string& s, const std::string& table) {
      return graph_.op("MatMul", {graph_.op("Transpose", {s}, {{"perm", {1, 2, 0}}}), table});
    };
    const std::string made = graph_.op(
        "Add", {back(graph_.op("Sub", {product(a, re), product(b, im)}), tables_.from_re),
                back(graph_.op("Add", {product(a, im), product(b, re)}), tables_.from_im)});
    const std::vector<float>& all = tensor("fno_blocks.convs.bias").values;
    const std::string bias = graph_.constant({w, 1}, std::span(all).subspan(l * w, w));
    const std::string skip =
        graph_.op("MatMul", {matrix(fmt::format("fno_blocks.fno_skips.{}.weight", l)), x});
    return graph_.op("Add", {graph_.op("Add", {made, skip}), bias});
  }

  Graph& graph_;
  const NetworkSpec& spec_;
  const MemberState& member_;
  const TransformTables& tables_;
  const FnoOptions options_ = *fno_options(spec_.family);
};

}  // namespace

void write_onnx(const std::filesystem::path& path, const Model& model) {
  const NetworkSpec& spec = model.spec;
  const std::optional<FnoOptions> options = fno_options(spec.family);
  if (!options)
    throw Error(ErrorKind::config,
                fmt::format("networks of the family {} cannot be written as ONNX, those of fno can",
                            spec.family.row->name));
  if (!spec.parameters.empty() || spec.grid.walled() || spec.fixed)
    throw Error(ErrorKind::config,
                fmt::format("networks with {} cannot be written as ONNX: use a model file",
                            !spec.parameters.empty() ? "parameters"
                            : spec.grid.walled()     ? "walls"
                                                     : "masks or fixed fields"));
  const double bytes = 4.0 * (static_cast<double>(parameter_count(spec) * model.members.size()) +
                              4.0 * static_cast<double>(spec.grid.points_total()) *
                                  static_cast<double>(options->kept_total()));
  if (bytes > 2e9)
    throw Error(ErrorKind::config,
                fmt::format("an ONNX file cannot hold these {:.3g} GB: 2 at most", bytes * 1e-9));
  Graph graph;
  const auto channels = static_cast<std::int64_t>(spec.grid.channels);
  const auto points = static_cast<std::int64_t>(spec.grid.points_total());
  Shape state{0, spec.grid.channels};
  state.insert(state.end(), spec.grid.points.begin(), spec.grid.points.end());
  std::vector<std::int64_t> whole(state.begin(), state.end());
  whole[0] = -1;
  graph.input("state", state);
  if (spec.inputs.time) graph.input("step", {0});
  const std::string x = graph.reshape("", "state", {-1, channels, points});
  const std::string time = spec.inputs.time
                               ? graph.op("Div", {graph.reshape("", "step", {-1, 1, 1}),
                                                  graph.scalar(static_cast<double>(spec.horizon))})
                               : std::string();
  const TransformTables tables = transforms(graph, spec.grid, *options);
  std::vector<std::string> made, apart;
  std::vector<std::int64_t> one = whole;
  one.insert(one.begin(), 1);
  for (const MemberState& member : model.members) {
    made.push_back(MemberGraph(graph, spec, member, tables).step(x, time));
    apart.push_back(graph.reshape("", made.back(), one));
  }
  const std::string mean = graph.op(
      "Div", {graph.op("Sum", made), graph.scalar(static_cast<double>(model.members.size()))});
  graph.reshape("next", mean, whole);
  graph.named_op("members", "Concat", apart, {}, {{"axis", 0}});
  graph.output("next", state);
  state.insert(state.begin(), model.members.size());
  graph.output("members", state);

  PendingFile pending(path);
  pending.write(graph.file({{"problem", model.problem.name},
                            {"dt", fmt::format("{}", model.problem.dt)},
                            {"run", model.origin.run},
                            {"round", fmt::format("{}", model.origin.round)}}));
  pending.commit();
}

}  // namespace stap
