#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "stap/config/key_index.h"
#include "stap/config/value.h"
#include "stap/core/error.h"

namespace stap::config {
namespace {

nlohmann::ordered_json to_json(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return *value.boolean();
    case Kind::integer:
      if (const auto number = value.integer<std::int64_t>()) return *number;
      return *value.integer<std::uint64_t>();
    case Kind::real:
      return *value.real();
    case Kind::text:
      return *value.text();
    case Kind::list: {
      auto list = nlohmann::ordered_json::array();
      for (const Value& item : *value.list()) list.push_back(to_json(item));
      return list;
    }
    case Kind::map: {
      auto map = nlohmann::ordered_json::object();
      for (const Value::Member& member : *value.map()) map[member.key] = to_json(member.value);
      return map;
    }
  }
  return nullptr;
}

// Builds values from the events of the parser: nothing is held twice, and no depth of nesting can
// use up the stack.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(std::string_view source) : source_(source) {}

  Value take() { return std::move(root_); }

  bool null() override { return place({}); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t&) override { return place(value); }
  bool string(string_t& value) override { return place(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Open& top = open_.back();
    if (top.keys.find(top.map, name) < top.map.size())
      fail(fmt::format("the key '{}' is given twice", name));
    top.map.push_back({std::move(name), {}});
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    fail(e.what());
  }

 private:
  // A list or map that is still being filled.
  struct Open {
    Value::List list{};
    Value::Map map{};
    KeyIndex keys{};
    bool is_map = false;
  };

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorKind::data, fmt::format("{}: bad JSON: {}", source_, what));
  }
  bool open(bool is_map) {
    if (open_.size() == kMaxDepth)
      fail(fmt::format("lists and maps are nested deeper than {}", kMaxDepth));
    open_.push_back({.is_map = is_map});
    return true;
  }
  bool close() {
    Open top = std::move(open_.back());
    open_.pop_back();
    return place(top.is_map ? Value(std::move(top.map)) : Value(std::move(top.list)));
  }
  bool place(Value value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (Open& top = open_.back(); top.is_map)
      top.map.back().value = std::move(value);
    else
      top.list.push_back(std::move(value));
    return true;
  }

  std::string_view source_;
  std::vector<Open> open_;
  Value root_;
};

}  // namespace

std::string json_text(const Value& value, int indent) {
  // Text that is not UTF-8 gets replacement characters instead of an exception.
  return to_json(value).dump(indent > 0 ? indent : -1, ' ', false,
                             nlohmann::ordered_json::error_handler_t::replace);
}

Value parse_json(std::string_view text, std::string_view source_name) {
  JsonBuilder builder(source_name);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace stap::config
