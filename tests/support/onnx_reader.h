// ONNX files read and computed in double precision, by nobody's rules but those of onnx.proto and
// the operators' texts (opset 13): what a runtime would make of a graph, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace stap::test {

struct OnnxValue {
  std::vector<std::size_t> shape{};
  std::vector<double> values{};
};
using OnnxValues = std::map<std::string, OnnxValue>;

class OnnxModel {
 public:
  explicit OnnxModel(std::string_view file) {
    for (const Field& field : fields(file))
      if (field.number == 7) read_graph(field.bytes);
  }

  /// The graph's outputs for these inputs. Throws for what it does not know.
  OnnxValues run(OnnxValues values) const {
    values.insert(constants_.begin(), constants_.end());
    for (const Node& node : nodes_) {
      std::vector<const OnnxValue*> in;
      for (const std::string& name : node.inputs) in.push_back(&values.at(name));
      values[node.output] = compute(node, in);
    }
    return values;
  }
  const std::vector<std::string>& inputs() const { return inputs_; }

 private:
  struct Field {
    int number = 0;
    std::uint64_t value = 0;
    std::string_view bytes{};
  };
  struct Node {
    std::string type{}, output{};
    std::vector<std::string> inputs{};
    std::map<std::string, std::vector<std::int64_t>> attributes{};
  };

  static std::uint64_t variable(std::string_view& text) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(text.at(0));
      text.remove_prefix(1);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
  }
  static std::vector<Field> fields(std::string_view text) {
    std::vector<Field> all;
    while (!text.empty()) {
      const std::uint64_t key = variable(text);
      Field field{.number = static_cast<int>(key >> 3)};
      if (key % 8 != 0 && key % 8 != 2) throw std::runtime_error("a field of another kind");
      field.value = variable(text);
      if (key % 8 == 2) {
        field.bytes = text.substr(0, field.value);
        if (field.bytes.size() != field.value) throw std::runtime_error("cut off");
        text.remove_prefix(field.value);
      }
      all.push_back(field);
    }
    return all;
  }

  void read_graph(std::string_view text) {
    for (const Field& field : fields(text)) {
      if (field.number == 1) read_node(field.bytes);
      if (field.number == 5) read_constant(field.bytes);
      if (field.number == 11) inputs_.emplace_back(fields(field.bytes).at(0).bytes);
    }
  }
  void read_node(std::string_view text) {
    Node node;
    for (const Field& field : fields(text)) {
      if (field.number == 1) node.inputs.emplace_back(field.bytes);
      if (field.number == 2) node.output = field.bytes;
      if (field.number == 4) node.type = field.bytes;
      if (field.number != 5) continue;
      std::string name;
      std::vector<std::int64_t> numbers;
      for (const Field& part : fields(field.bytes)) {
        if (part.number == 1) name = part.bytes;
        if (part.number == 3 || part.number == 8)
          numbers.push_back(static_cast<std::int64_t>(part.value));
      }
      node.attributes[name] = numbers;
    }
    nodes_.push_back(node);
  }
  void read_constant(std::string_view text) {
    OnnxValue value;
    std::string name;
    bool integers = false;
    std::string_view raw;
    for (const Field& field : fields(text)) {
      if (field.number == 1) value.shape.push_back(field.value);
      if (field.number == 2) integers = field.value == 7;
      if (field.number == 8) name = field.bytes;
      if (field.number == 9) raw = field.bytes;
    }
    for (std::size_t at = 0; at < raw.size(); at += integers ? 8 : 4) {
      float real = 0.0f;
      std::int64_t whole = 0;
      if (integers)
        std::memcpy(&whole, raw.data() + at, 8);
      else
        std::memcpy(&real, raw.data() + at, 4);
      value.values.push_back(integers ? static_cast<double>(whole) : static_cast<double>(real));
    }
    if (value.values.size() != count(value.shape)) throw std::runtime_error("a wrong shape");
    constants_[name] = value;
  }

  static std::size_t count(const std::vector<std::size_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  }
  // The place of an element of `shape` in a value that is broadcast to it from the right.
  static std::size_t place(const OnnxValue& value, const std::vector<std::size_t>& shape,
                           std::size_t element) {
    std::size_t at = 0, stride = 1;
    for (std::size_t k = 0; k < value.shape.size(); ++k) {
      const std::size_t size = shape[shape.size() - 1 - k],
                        own = value.shape[value.shape.size() - 1 - k];
      if (own != 1) at += element % size * stride;
      element /= size;
      stride *= own;
    }
    return at;
  }
  static std::vector<std::size_t> broadcast(std::vector<std::size_t> a,
                                            std::vector<std::size_t> b) {
    if (a.size() < b.size()) std::swap(a, b);
    for (std::size_t k = 0; k < b.size(); ++k) {
      std::size_t& to = a[a.size() - 1 - k];
      const std::size_t other = b[b.size() - 1 - k];
      if (to != other && to != 1 && other != 1) throw std::runtime_error("shapes do not fit");
      if (to == 1) to = other;
    }
    return a;
  }
  template <class Apply>
  static OnnxValue elementwise(const OnnxValue& a, const OnnxValue& b, const Apply& apply) {
    OnnxValue made{broadcast(a.shape, b.shape), {}};
    for (std::size_t i = 0; i < count(made.shape); ++i)
      made.values.push_back(
          apply(a.values[place(a, made.shape, i)], b.values[place(b, made.shape, i)]));
    return made;
  }

  static OnnxValue product(const OnnxValue& a, const OnnxValue& b) {
    const std::size_t rows = a.shape[a.shape.size() - 2], n = a.shape.back(),
                      columns = b.shape.back();
    if (b.shape[b.shape.size() - 2] != n) throw std::runtime_error("matrices do not fit");
    OnnxValue stack_a{{a.shape.begin(), a.shape.end() - 2}, {}},
        stack_b{{b.shape.begin(), b.shape.end() - 2}, {}};
    OnnxValue made{broadcast(stack_a.shape, stack_b.shape), {}};
    const std::vector<std::size_t> stack = made.shape;
    made.shape.insert(made.shape.end(), {rows, columns});
    made.values.resize(count(made.shape));
    for (std::size_t s = 0; s < count(stack); ++s) {
      const double* x = &a.values[place(stack_a, stack, s) * rows * n];
      const double* y = &b.values[place(stack_b, stack, s) * n * columns];
      double* to = &made.values[s * rows * columns];
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t k = 0; k < n; ++k)
          for (std::size_t c = 0; c < columns; ++c)
            to[r * columns + c] += x[r * n + k] * y[k * columns + c];
    }
    return made;
  }

  // Element `make(index per axis)` for every element of a shape.
  template <class Make>
  static OnnxValue filled(const std::vector<std::size_t>& shape, const Make& make) {
    OnnxValue made{shape, {}};
    std::vector<std::size_t> index(shape.size(), 0);
    for (std::size_t i = 0; i < count(shape); ++i) {
      made.values.push_back(make(index));
      for (std::size_t k = shape.size(); k-- > 0;) {
        if (++index[k] < shape[k]) break;
        index[k] = 0;
      }
    }
    return made;
  }
  static double at(const OnnxValue& value, const std::vector<std::size_t>& index) {
    std::size_t place = 0;
    for (std::size_t k = 0; k < index.size(); ++k) place = place * value.shape[k] + index[k];
    return value.values[place];
  }

  // Without padding; [B, in, X...] and [out, in, taps...].
  static OnnxValue convolved(const std::vector<const OnnxValue*>& in,
                             const std::vector<std::int64_t>& dilations) {
    const OnnxValue &x = *in[0], &w = *in[1];
    std::vector<std::size_t> shape{x.shape[0], w.shape[0]};
    for (std::size_t k = 2; k < x.shape.size(); ++k)
      shape.push_back(x.shape[k] - (w.shape[k] - 1) * static_cast<std::size_t>(dilations[k - 2]));
    const std::vector<std::size_t> taps(w.shape.begin() + 2, w.shape.end());
    return filled(shape, [&](const std::vector<std::size_t>& index) {
      double sum = in.size() > 2 ? in[2]->values[index[1]] : 0.0;
      for (std::size_t c = 0; c < w.shape[1]; ++c)
        for (std::size_t t = 0; t < count(taps); ++t) {
          std::vector<std::size_t> from{index[0], c}, tap{index[1], c};
          for (std::size_t k = 0; k < taps.size(); ++k) {
            const std::size_t own = k + 1 == taps.size() ? t % taps[k] : t / taps[k + 1];
            tap.push_back(own);
            from.push_back(index[2 + k] + own * static_cast<std::size_t>(dilations[k]));
          }
          sum += at(x, from) * at(w, tap);
        }
      return sum;
    });
  }

  static OnnxValue compute(const Node& node, const std::vector<const OnnxValue*>& in) {
    const std::string& type = node.type;
    const OnnxValue& x = *in.at(0);
    const auto each = [&](auto&& apply) {
      OnnxValue made = x;
      for (double& value : made.values) value = apply(value);
      return made;
    };
    if (type == "Add" || type == "Sum") {
      OnnxValue sum = x;
      for (std::size_t i = 1; i < in.size(); ++i) sum = elementwise(sum, *in[i], std::plus<>());
      return sum;
    }
    if (type == "Sub") return elementwise(x, *in[1], std::minus<>());
    if (type == "Mul") return elementwise(x, *in[1], std::multiplies<>());
    if (type == "Div") return elementwise(x, *in[1], std::divides<>());
    if (type == "Erf") return each([](double value) { return std::erf(value); });
    if (type == "Log") return each([](double value) { return std::log(value); });
    if (type == "MatMul") return product(x, *in[1]);
    if (type == "Conv") return convolved(in, node.attributes.at("dilations"));
    if (type == "Reshape") {
      OnnxValue made{{}, x.values};
      std::size_t known = 1;
      for (const double size : in[1]->values)
        if (size >= 0) known *= static_cast<std::size_t>(size);
      for (const double size : in[1]->values)
        made.shape.push_back(size >= 0 ? static_cast<std::size_t>(size) : x.values.size() / known);
      if (count(made.shape) != x.values.size()) throw std::runtime_error("a wrong reshape");
      return made;
    }
    if (type == "Transpose") {
      const std::vector<std::int64_t>& perm = node.attributes.at("perm");
      std::vector<std::size_t> shape;
      for (const std::int64_t axis : perm) shape.push_back(x.shape.at(std::size_t(axis)));
      return filled(shape, [&](const std::vector<std::size_t>& index) {
        std::vector<std::size_t> from(index.size());
        for (std::size_t k = 0; k < index.size(); ++k) from[std::size_t(perm[k])] = index[k];
        return at(x, from);
      });
    }
    if (type == "ReduceMean") {
      const auto axis = static_cast<std::size_t>(node.attributes.at("axes").at(0));
      std::vector<std::size_t> shape = x.shape;
      shape.at(axis) = 1;
      return filled(shape, [&](std::vector<std::size_t> index) {
        double sum = 0.0;
        for (index[axis] = 0; index[axis] < x.shape[axis]; ++index[axis]) sum += at(x, index);
        return sum / double(x.shape[axis]);
      });
    }
    if (type == "Concat") {
      const auto axis = static_cast<std::size_t>(node.attributes.at("axis").at(0));
      std::vector<std::size_t> shape = x.shape;
      for (std::size_t i = 1; i < in.size(); ++i) shape.at(axis) += in[i]->shape.at(axis);
      return filled(shape, [&](std::vector<std::size_t> index) {
        std::size_t part = 0;
        for (; index[axis] >= in[part]->shape[axis]; ++part) index[axis] -= in[part]->shape[axis];
        return at(*in[part], index);
      });
    }
    if (type == "Gather") {  // by a list
      const auto axis = static_cast<std::size_t>(node.attributes.at("axis").at(0));
      std::vector<std::size_t> shape = x.shape;
      shape.at(axis) = in[1]->values.size();
      return filled(shape, [&](std::vector<std::size_t> index) {
        index[axis] = static_cast<std::size_t>(in[1]->values[index[axis]]);
        return at(x, index);
      });
    }
    if (type == "Slice") {
      std::vector<std::size_t> shape = x.shape, first(x.shape.size(), 0);
      for (std::size_t i = 0; i < in[1]->values.size(); ++i) {
        const auto axis = static_cast<std::size_t>(in.at(3)->values[i]);
        first.at(axis) = static_cast<std::size_t>(in[1]->values[i]);
        shape[axis] = static_cast<std::size_t>(in[2]->values[i]) - first[axis];
      }
      return filled(shape, [&](std::vector<std::size_t> index) {
        for (std::size_t k = 0; k < index.size(); ++k) index[k] += first[k];
        return at(x, index);
      });
    }
    throw std::runtime_error("the operator " + type + " is not known here");
  }

  OnnxValues constants_{};
  std::vector<Node> nodes_{};
  std::vector<std::string> inputs_{};
};

}  // namespace stap::test
