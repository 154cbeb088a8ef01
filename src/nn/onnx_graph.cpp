#include "nn/onnx_graph.h"

#include <fmt/format.h>

#include "stap/core/version.h"

namespace stap::onnx {
namespace {

constexpr int kFloat = 1, kInt64 = 7;         // of TensorProto
constexpr std::uint64_t kInt = 2, kInts = 7;  // of AttributeProto
constexpr std::uint64_t kIrVersion = 8, kOpset = 13;

}  // namespace

void Message::number(int field, std::uint64_t value) {
  variable(static_cast<std::uint64_t>(field) << 3);
  variable(value);
}

void Message::text(int field, std::string_view value) {
  variable(static_cast<std::uint64_t>(field) << 3 | 2);
  variable(value.size());
  bytes_.append(value);
}

void Message::variable(std::uint64_t value) {
  for (; value >= 128; value >>= 7) bytes_.push_back(static_cast<char>(value % 128 + 128));
  bytes_.push_back(static_cast<char>(value));
}

std::string Graph::next_name() {
  return fmt::format("v{}", count_++);
}

std::string Graph::tensor(int type, const Shape& shape, const void* values, std::size_t bytes) {
  const std::string name = next_name();
  Message tensor;
  for (const std::size_t n : shape) tensor.number(1, n);
  tensor.number(2, static_cast<std::uint64_t>(type));
  tensor.text(8, name);
  tensor.text(9, {static_cast<const char*>(values), bytes});
  graph_.message(5, tensor);
  return name;
}

std::string Graph::constant(const Shape& shape, std::span<const float> values) {
  return tensor(kFloat, shape, values.data(), values.size_bytes());
}

std::string Graph::scalar(double value) {
  const auto single = static_cast<float>(value);
  return constant({}, {&single, 1});
}

std::string Graph::integers(const std::vector<std::int64_t>& values) {
  return tensor(kInt64, {values.size()}, values.data(), values.size() * sizeof(std::int64_t));
}

std::string Graph::named_op(const std::string& name, const char* type,
                            const std::vector<std::string>& inputs, const std::vector<List>& lists,
                            const std::vector<Number>& numbers) {
  Message node;
  for (const std::string& input : inputs) node.text(1, input);
  node.text(2, name);
  node.text(4, type);
  for (const auto& [key, values] : lists) {
    Message attribute;
    attribute.text(1, key);
    for (const std::int64_t value : values) attribute.number(8, static_cast<std::uint64_t>(value));
    attribute.number(20, kInts);
    node.message(5, attribute);
  }
  for (const auto& [key, value] : numbers) {
    Message attribute;
    attribute.text(1, key);
    attribute.number(3, static_cast<std::uint64_t>(value));
    attribute.number(20, kInt);
    node.message(5, attribute);
  }
  graph_.message(1, node);
  return name;
}

std::string Graph::reshape(const std::string& name, const std::string& value,
                           const std::vector<std::int64_t>& shape) {
  const std::string sizes = integers(shape);
  return named_op(name.empty() ? next_name() : name, "Reshape", {value, sizes});
}

void Graph::port(int field, const char* name, const Shape& shape) {
  Message sizes, tensor, type, value;
  for (const std::size_t n : shape) {
    Message size;
    if (n == 0)
      size.text(2, "batch");
    else
      size.number(1, n);
    sizes.message(1, size);
  }
  tensor.number(1, kFloat);
  tensor.message(2, sizes);
  type.message(1, tensor);
  value.text(1, name);
  value.message(2, type);
  graph_.message(field, value);
}

std::string Graph::file(const std::vector<std::pair<const char*, std::string>>& about) const {
  Message graph = graph_, opset, file;
  graph.text(2, "step");
  opset.text(1, "");
  opset.number(2, kOpset);
  file.number(1, kIrVersion);
  file.text(2, "stap");
  file.text(3, version());
  file.message(7, graph);
  file.message(8, opset);
  for (const auto& [key, value] : about) {
    Message entry;
    entry.text(1, key);
    entry.text(2, value);
    file.message(14, entry);
  }
  return file.bytes();
}

}  // namespace stap::onnx
