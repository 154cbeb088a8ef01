#include "stap/nn/onnx_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/pending_file.h"
#include "nn/body_points.h"
#include "nn/neighbours.h"
#include "nn/onnx_graph.h"
#include "stap/core/error.h"
#include "stap/nn/dilated.h"
#include "stap/nn/fno.h"

namespace stap {
namespace {

using onnx::Graph, onnx::Shape;

// The transforms as matrices: spectrum = field [P] times `re` and `im` [P, K]; field = the
// spectrum's parts times `from_re` and `from_im` [K, P].
struct TransformTables {
  std::string re, im, from_re, from_im;
};

// `grid` is the body's.
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

std::vector<std::int64_t> sizes_of(std::int64_t batch, std::size_t channels,
                                   const std::vector<std::size_t>& points) {
  std::vector<std::int64_t> shape{batch, static_cast<std::int64_t>(channels)};
  shape.insert(shape.end(), points.begin(), points.end());
  return shape;
}

// What every member is given: states [B, C, P], before and behind their way to the body's grid, and
// each number that a row is told, [B, 1, 1].
class Surroundings {
 public:
  Surroundings(Graph& graph, const NetworkSpec& spec) : graph_(graph), spec_(spec) {
    const Grid body = spec.body_grid();
    const auto channels = static_cast<std::int64_t>(spec.grid.channels);
    const auto points = static_cast<std::int64_t>(spec.grid.points_total());
    Shape whole{0, spec.grid.channels};
    whole.insert(whole.end(), spec.grid.points.begin(), spec.grid.points.end());
    graph.input("state", whole);
    if (spec.inputs.time) graph.input("step", {0});
    if (!spec.parameters.empty()) graph.input("parameters", {0, spec.parameters.size()});
    state = graph.reshape("", "state", {-1, channels, points});
    if (spec.fixed && !spec.fixed->mask.empty()) {
      const std::vector<float> ones(spec.fixed->mask.begin(), spec.fixed->mask.end());
      mask = graph.constant({spec.grid.points_total()}, ones);
      state = graph.op("Mul", {state, mask});
    }
    on_body = state;
    if (body.points != spec.grid.points) {
      on_body = graph.reshape("", state, sizes_of(-1, spec.grid.channels, spec.grid.points));
      on_body = graph.op("MatMul", {on_body, continued(spec.grid.axes() - 1, true)});
      if (spec.grid.axes() == 2) on_body = graph.op("MatMul", {continued(0, false), on_body});
      on_body = graph.reshape("", on_body,
                              {-1, channels, static_cast<std::int64_t>(body.points_total())});
    }
    tell();
  }

  // Values on the body's grid -> those at the points of a state.
  std::string cropped(const std::string& values) const {
    const Grid body = spec_.body_grid();
    if (body.points == spec_.grid.points) return values;
    std::vector<std::int64_t> starts, ends, axes;
    for (std::size_t axis = 0; axis < body.axes(); ++axis) {
      starts.push_back(0);
      ends.push_back(static_cast<std::int64_t>(spec_.grid.points[axis]));
      axes.push_back(static_cast<std::int64_t>(2 + axis));
    }
    const std::string whole =
        graph_.reshape("", values, sizes_of(-1, spec_.grid.channels, body.points));
    return graph_.reshape("",
                          graph_.op("Slice", {whole, graph_.integers(starts), graph_.integers(ends),
                                              graph_.integers(axes)}),
                          {-1, static_cast<std::int64_t>(spec_.grid.channels),
                           static_cast<std::int64_t>(spec_.grid.points_total())});
  }

  std::string state, on_body, mask{};
  std::vector<std::string> told{};
  std::string shifts{};  // [B, S, 1]

 private:
  // The matrix that makes a line of the body of one of the state: [n, body], or its transpose.
  std::string continued(std::size_t axis, bool from_left) {
    const std::size_t n = spec_.grid.points[axis], all = n + spec_.padded(axis);
    NetworkSpec line = spec_;  // of this axis alone, which body_points() knows
    line.fixed = nullptr;
    line.grid.points = {n};
    line.grid.lengths = {spec_.grid.lengths[axis]};
    line.grid.ends = {spec_.grid.end(axis)};
    line.padding = {spec_.padding[axis]};
    std::vector<float> matrix(n * all);
    const auto at = [&](std::size_t from, std::size_t to) -> float& {
      return matrix[from_left ? from * all + to : to * n + from];
    };
    const std::vector<BodyPoint> table = body_points(line);
    for (std::size_t p = 0; p < all; ++p) {
      if (table.empty()) at(p, p) = 1.0f;
      for (std::int32_t s = 0; !table.empty() && s < table[p].sources; ++s)
        at(static_cast<std::size_t>(table[p].from[s]), p) += table[p].weight[s];
    }
    return graph_.constant(from_left ? Shape{n, all} : Shape{all, n}, matrix);
  }

  // As ConditionInputs::tell() does, in single precision.
  void tell() {
    if (spec_.inputs.time)
      told.push_back(graph_.op("Div", {graph_.reshape("", "step", {-1, 1, 1}),
                                       graph_.scalar(static_cast<double>(spec_.horizon))}));
    std::map<std::string, std::string> by_name;
    for (std::size_t p = 0; p < spec_.parameters.size(); ++p) {
      const ParameterDraw& draw = spec_.parameters[p];
      const auto at = static_cast<std::int64_t>(p);
      std::string value = graph_.op("Slice", {"parameters", graph_.integers({at}),
                                              graph_.integers({at + 1}), graph_.integers({1})});
      value = graph_.reshape("", value, {-1, 1, 1});
      double least = draw.least(), greatest = draw.greatest();
      if (draw.kind == ParameterDraw::Kind::log) {
        value = graph_.op("Log", {value});
        least = std::log(least);
        greatest = std::log(greatest);
      }
      const double factor = least == greatest ? 0.0 : 2.0 / (greatest - least);
      value = graph_.op("Mul",
                        {graph_.op("Sub", {value, graph_.scalar(least)}), graph_.scalar(factor)});
      by_name[draw.name] = graph_.op("Sub", {value, graph_.scalar(least == greatest ? 0.0 : 1.0)});
    }
    std::vector<std::string> parts;
    for (const auto& [name, value] : by_name) (spec_.shifts() > 0 ? parts : told).push_back(value);
    if (!parts.empty()) shifts = graph_.op("Concat", parts, {}, {{"axis", 1}});
  }

  Graph& graph_;
  const NetworkSpec& spec_;
};

class MemberGraph {
 public:
  MemberGraph(Graph& graph, const NetworkSpec& spec, const MemberState& member,
              const Surroundings& around, const TransformTables& tables)
      : graph_(graph),
        spec_(spec),
        member_(member),
        around_(around),
        tables_(tables),
        body_(spec.body_grid()),
        beyond_(beyond(spec)) {}

  // The next state [B, C, P].
  std::string step() {
    const std::size_t channels = spec_.out_channels();
    const std::string& state = around_.state;
    const std::string mean = graph_.constant({channels, 1}, member_.scaling.mean);
    const std::string deviation = graph_.constant({channels, 1}, member_.scaling.deviation);
    const std::string scaled =
        graph_.op("Div", {graph_.op("Sub", {around_.on_body, mean}), deviation});
    std::string x = around_.cropped(fno_options(spec_.family) ? fno(scaled) : dilated(scaled));
    const bool delta = spec_.target == NetworkOptions::Target::delta;
    x = masked(graph_.op("Add", {graph_.op("Mul", {x, deviation}), delta ? state : mean}));
    if (spec_.conserved.empty()) return x;
    std::vector<float> kept(channels, 0.0f);
    // Masked points are zeros, and do not count.
    for (const std::size_t c : spec_.conserved)
      kept[c] =
          static_cast<float>(static_cast<double>(spec_.grid.points_total()) /
                             static_cast<double>(counted_points(spec_.grid, spec_.fixed.get())));
    const auto mean_of = [&](const std::string& values) {
      return graph_.op("ReduceMean", {values}, {{"axes", {2}}}, {{"keepdims", 1}});
    };
    const std::string shift = graph_.op("Sub", {mean_of(state), mean_of(x)});
    return graph_.op("Add",
                     {x, masked(graph_.op("Mul", {shift, graph_.constant({channels, 1}, kept)}))});
  }

 private:
  std::string masked(const std::string& x) {
    return around_.mask.empty() ? x : graph_.op("Mul", {x, around_.mask});
  }

  std::string fno(const std::string& scaled) {
    const FnoOptions options = *fno_options(spec_.family);
    std::string x = dense("lifting.fcs.1", gelu(lifted(scaled)));
    for (std::size_t l = 0; l < options.layers; ++l) {
      x = layer(x, l, options);
      if (l + 1 < options.layers) x = gelu(x);
    }
    return dense("projection.fcs.1", gelu(dense("projection.fcs.0", x)));
  }

  std::string dilated(const std::string& scaled) {
    const DilatedOptions options = spec_.family.options.as(dilated_fields());
    std::string x = lifted_by_taps(scaled);
    for (std::size_t b = 0; b < options.blocks; ++b) {
      std::string inner = x;
      for (std::size_t d = 0; d < options.dilations.size(); ++d) {
        const std::string name = fmt::format("blocks.{}.{}", b, d);
        inner = gelu(convolution(inner, name, options.dilations[d]));
      }
      x = graph_.op("Add", {x, inner});
    }
    return convolution(x, "projection", 1);
  }

  std::string convolution(const std::string& x, const std::string& name, std::size_t dilation) {
    return shifted(convolved(x, tensor(name + ".weight"), dilation, tensor(name + ".bias").values),
                   name + ".shifts");
  }

  // x and what parameters shift it by, with a tensor [width, S], or the part of a layer of one
  // [layers, width, S].
  std::string shifted(const std::string& x, const std::string& name, std::size_t layer = 0,
                      std::size_t layers = 1) {
    const std::size_t n = spec_.shifts();
    if (n == 0) return x;
    const std::vector<float>& all = tensor(name).values;
    const std::size_t size = all.size() / layers;
    const std::string by =
        graph_.constant({size / n, n}, std::span(all).subspan(layer * size, size));
    return graph_.op("Add", {graph_.op("MatMul", {by, around_.shifts}), x});
  }

  // An axis of n points continued to both sides, where it is no ring.
  std::string continued_line(const std::string& x, std::size_t axis, std::int64_t reach) {
    const auto n = static_cast<std::int64_t>(body_.points[axis]);
    std::vector<std::int64_t> from;
    std::vector<float> there;  // 0 where there is nothing
    for (std::int64_t i = -reach; i < n + reach; ++i) {
      const auto source = static_cast<std::int64_t>(continued(i, n, beyond_[axis]));
      from.push_back(source < n ? source : 0);
      there.push_back(source < n ? 1.0f : 0.0f);
    }
    const std::string whole = graph_.op("Gather", {x, graph_.integers(from)}, {},
                                        {{"axis", static_cast<std::int64_t>(2 + axis)}});
    if (beyond_[axis] != Beyond::zero) return whole;
    Shape shape{there.size()};
    if (axis + 1 < body_.axes()) shape.push_back(1);
    return graph_.op("Mul", {whole, graph_.constant(shape, there)});
  }

  // A convolution, [B, in, P] -> [B, out, P]: ends of rings are put before their beginnings, and
  // the other way round.
  std::string convolved(const std::string& x, const Tensor& weight, std::size_t dilation,
                        std::span<const float> bias) {
    const std::size_t out = weight.shape[0], in = weight.shape[1];
    std::string whole = graph_.reshape("", x, sizes_of(-1, in, body_.points));
    for (std::size_t axis = 0; axis < body_.axes(); ++axis) {
      const auto n = static_cast<std::int64_t>(body_.points[axis]);
      const auto reach = static_cast<std::int64_t>(dilation * (weight.shape[2 + axis] / 2));
      const auto at = static_cast<std::int64_t>(2 + axis);
      const auto part = [&](std::int64_t first, std::int64_t end) {
        return graph_.op("Slice", {whole, graph_.integers({first}), graph_.integers({end}),
                                   graph_.integers({at})});
      };
      if (reach == 0) continue;
      if (beyond_[axis] != Beyond::periodic) {
        whole = continued_line(whole, axis, reach);
        continue;
      }
      whole = graph_.op("Concat", {part(n - reach, n), whole, part(0, reach)}, {}, {{"axis", at}});
    }
    std::vector<std::string> inputs{whole, graph_.constant(weight.shape, weight.values)};
    if (!bias.empty()) inputs.push_back(graph_.constant({out}, bias));
    const std::vector<std::int64_t> dilations(body_.axes(), static_cast<std::int64_t>(dilation));
    return graph_.reshape(
        "", graph_.op("Conv", inputs, {{"dilations", dilations}}),
        {-1, static_cast<std::int64_t>(out), static_cast<std::int64_t>(body_.points_total())});
  }

  // The first convolution: of a number that a row is told it makes another one, and what it makes
  // of what is at a point does not depend on the state.
  std::string lifted_by_taps(const std::string& x) {
    const Tensor& weight = tensor("lifting.weight");
    const std::size_t out = weight.shape[0], in = weight.shape[1], channels = spec_.out_channels();
    const std::size_t taps = weight.values.size() / (out * in), points = body_.points_total();
    const std::size_t placed = in - spec_.placed_channels();
    const Neighbours read = neighbours(body_.points, beyond_, weight.shape[2], 1);
    const bool open = std::ranges::find(beyond_, Beyond::zero) != beyond_.end();
    const auto of = [&](std::size_t o, std::size_t c, std::size_t t) {
      return weight.values[(o * in + c) * taps + t];
    };
    Tensor of_state{"", weight.shape, {}};
    of_state.shape[1] = channels;
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < channels * taps; ++i)
        of_state.values.push_back(weight.values[o * in * taps + i]);
    std::string made = convolved(x, of_state, 1, {});
    for (std::size_t c = channels; c < placed; ++c) {
      // Where there is nothing beyond a wall, points near it get less of the number.
      const std::size_t each = open ? points : 1;
      std::vector<float> sums(out * each, 0.0f);
      for (std::size_t o = 0; o < out; ++o)
        for (std::size_t t = 0; t < taps; ++t)
          for (std::size_t p = 0; p < each; ++p)
            if (read.source[t * points + p] < points || !open) sums[o * each + p] += of(o, c, t);
      made = graph_.op("Add", {made, graph_.op("Mul", {graph_.constant({out, each}, sums),
                                                       around_.told[c - channels]})});
    }
    const std::vector<float> positions = position_inputs(spec_);
    std::vector<float> rest(out * points);
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t p = 0; p < points; ++p) {
        double sum = static_cast<double>(tensor("lifting.bias").values[o]);
        for (std::size_t c = placed; c < in; ++c)
          for (std::size_t t = 0; t < taps; ++t)
            if (const std::size_t from = read.source[t * points + p]; from < points)
              sum += static_cast<double>(of(o, c, t)) *
                     static_cast<double>(positions[(c - placed) * points + from]);
        rest[o * points + p] = static_cast<float>(sum);
      }
    return shifted(graph_.op("Add", {made, graph_.constant({out, points}, rest)}),
                   "lifting.shifts");
  }

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

  // The first layer, likewise.
  std::string lifted(const std::string& x) {
    const Tensor& weight = tensor("lifting.fcs.0.weight");
    const std::size_t out = weight.shape[0], in = weight.shape[1], channels = spec_.out_channels();
    const std::size_t points = body_.points_total(), placed = in - spec_.placed_channels();
    const auto column_of = [&](std::size_t c) {
      std::vector<float> column;
      for (std::size_t o = 0; o < out; ++o) column.push_back(weight.values[o * in + c]);
      return graph_.constant({out, 1}, column);
    };
    std::vector<float> of_state, rest = tensor("lifting.fcs.0.bias").values;
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t c = 0; c < channels; ++c) of_state.push_back(weight.values[o * in + c]);
    Shape shape{out, 1};
    if (placed < in) {
      const std::vector<float> positions = position_inputs(spec_);
      std::vector<float> whole(out * points);
      for (std::size_t o = 0; o < out; ++o)
        for (std::size_t p = 0; p < points; ++p) {
          double sum = static_cast<double>(rest[o]);
          for (std::size_t c = placed; c < in; ++c)
            sum += static_cast<double>(weight.values[o * in + c]) *
                   static_cast<double>(positions[(c - placed) * points + p]);
          whole[o * points + p] = static_cast<float>(sum);
        }
      rest = std::move(whole);
      shape = {out, points};
    }
    std::string made = graph_.op("MatMul", {graph_.constant({out, channels}, of_state), x});
    for (std::size_t c = channels; c < placed; ++c)
      made = graph_.op("Add", {made, graph_.op("Mul", {column_of(c), around_.told[c - channels]})});
    return graph_.op("Add", {made, graph_.constant(shape, rest)});
  }

  std::string layer(const std::string& x, std::size_t l, const FnoOptions& options) {
    const std::size_t w = options.width, modes = options.kept_total();
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
    const std::string bias = shifted(graph_.constant({w, 1}, std::span(all).subspan(l * w, w)),
                                     "fno_blocks.shifts", l, options.layers);
    const std::string skip =
        graph_.op("MatMul", {matrix(fmt::format("fno_blocks.fno_skips.{}.weight", l)), x});
    return graph_.op("Add", {graph_.op("Add", {made, skip}), bias});
  }

  Graph& graph_;
  const NetworkSpec& spec_;
  const MemberState& member_;
  const Surroundings& around_;
  const TransformTables& tables_;
  const Grid body_;
  const std::vector<Beyond> beyond_;  // per axis
};

}  // namespace

void write_onnx(const std::filesystem::path& path, const Model& model) {
  const NetworkSpec& spec = model.spec;
  const std::string& family = spec.family.row->name;
  const std::optional<FnoOptions> options = fno_options(spec.family);
  if (!options && family != "dilated")
    throw Error(ErrorKind::config,
                fmt::format("networks of the family {} cannot be written as ONNX, those of fno and "
                            "dilated can",
                            family));
  const double bytes = 4.0 * (static_cast<double>(parameter_count(spec) * model.members.size()) +
                              4.0 * static_cast<double>(spec.body_grid().points_total()) *
                                  static_cast<double>(options ? options->kept_total() : 0));
  if (bytes > 2e9)
    throw Error(ErrorKind::config,
                fmt::format("an ONNX file cannot hold these {:.3g} GB: 2 at most", bytes * 1e-9));
  Graph graph;
  Shape state{0, spec.grid.channels};
  state.insert(state.end(), spec.grid.points.begin(), spec.grid.points.end());
  const std::vector<std::int64_t> whole = sizes_of(-1, spec.grid.channels, spec.grid.points);
  const Surroundings around(graph, spec);
  const TransformTables tables =
      options ? transforms(graph, spec.body_grid(), *options) : TransformTables{};
  std::vector<std::string> made, apart;
  std::vector<std::int64_t> one = whole;
  one.insert(one.begin(), 1);
  for (const MemberState& member : model.members) {
    made.push_back(MemberGraph(graph, spec, member, around, tables).step());
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
