// ONNX files as they lie on disk: messages of protocol buffers, and a graph made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stap::onnx {

/// Fields, each a number with the kind of what follows: 0 a number of variable length, 2 so many
/// bytes. The numbers are those of onnx.proto.
class Message {
 public:
  void number(int field, std::uint64_t value);
  void text(int field, std::string_view value);
  void message(int field, const Message& value) { text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void variable(std::uint64_t value);
  std::string bytes_;
};

using Shape = std::vector<std::size_t>;
using List = std::pair<const char*, std::vector<std::int64_t>>;  ///< an attribute
using Number = std::pair<const char*, std::int64_t>;             ///< likewise

/// Values are named; every operation gives its result a name, and returns it.
class Graph {
 public:
  std::string constant(const Shape& shape, std::span<const float> values);
  std::string scalar(double value);
  std::string integers(const std::vector<std::int64_t>& values);
  std::string op(const char* type, const std::vector<std::string>& inputs,
                 const std::vector<List>& lists = {}, const std::vector<Number>& numbers = {}) {
    return named_op(next_name(), type, inputs, lists, numbers);
  }
  std::string named_op(const std::string& name, const char* type,
                       const std::vector<std::string>& inputs, const std::vector<List>& lists = {},
                       const std::vector<Number>& numbers = {});
  /// An empty name: any.
  std::string reshape(const std::string& name, const std::string& value,
                      const std::vector<std::int64_t>& shape);
  /// Of the whole graph; a size of 0 is that of the batch.
  void input(const char* name, const Shape& shape) { port(11, name, shape); }
  void output(const char* name, const Shape& shape) { port(12, name, shape); }
  /// Of opset 13, with texts that say what it is.
  std::string file(const std::vector<std::pair<const char*, std::string>>& about) const;

 private:
  std::string next_name();
  std::string tensor(int type, const Shape& shape, const void* values, std::size_t bytes);
  void port(int field, const char* name, const Shape& shape);

  Message graph_;
  std::size_t count_ = 0;
};

}  // namespace stap::onnx
