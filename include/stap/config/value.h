#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace stap::config {

/// What values are read from.
struct Source {
  std::string name;                ///< for messages: "run.yaml", "preset demo", "seed=3"
  std::filesystem::path folder{};  ///< of a file; empty: the working folder
};

/// Where a value was written. Line 0: no position (made by code or an override).
struct Origin {
  std::shared_ptr<const Source> source;  ///< null: made by code
  int line = 0;                          ///< 1-based
  int column = 0;                        ///< 1-based

  /// "run.yaml:3:7", "pde.points=4" or "".
  std::string text() const;
  /// What a relative path that is written here is relative to; empty: the working folder.
  std::filesystem::path folder() const;
};

enum class Kind { null, boolean, integer, real, text, list, map };

/// "an integer", "a map", ...
std::string_view to_string(Kind kind);

/// One YAML value: a tree that keeps the order of its keys. Plain scalars are resolved as in the
/// YAML 1.2 core schema (so `yes` is text and `1e-3` is a real number).
class Value {
 public:
  struct Member;
  using List = std::vector<Value>;
  using Map = std::vector<Member>;

  Value() = default;  // null
  Value(double number) : data_(number) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(std::string_view text) : data_(std::string(text)) {}
  Value(const char* text) : data_(std::string(text)) {}
  Value(List list) : data_(std::move(list)) {}
  Value(Map map);
  /// bool becomes a boolean, every other integral type an integer.
  template <std::integral T>
  Value(T number) {
    if constexpr (std::is_same_v<T, bool>)
      data_ = number;
    else if (std::in_range<std::int64_t>(number))
      data_ = static_cast<std::int64_t>(number);
    else
      data_ = static_cast<std::uint64_t>(number);
  }

  Kind kind() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_map() const { return kind() == Kind::map; }

  /// The value as that kind, or empty / null when it is of another kind.
  std::optional<bool> boolean() const;
  /// An integer, or a real number without fraction (2.0; up to 2^53), if T can hold it. T: int,
  /// std::int64_t or std::uint64_t.
  template <std::integral T>
  std::optional<T> integer() const;
  /// An integer or a real number.
  std::optional<double> real() const;
  const std::string* text() const { return std::get_if<std::string>(&data_); }
  const List* list() const { return std::get_if<List>(&data_); }
  const Map* map() const { return std::get_if<Map>(&data_); }

  /// The value of a map's key; null when there is no such key or this is no map.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Sets a key of a map, at the end if it is new. A null value becomes a map first; throws
  /// Error(internal) for other kinds.
  Value& set(std::string_view key, Value value);
  /// Removes a key of a map, if it is there.
  void erase(std::string_view key);

  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }

  /// Same kind and content, keys in the same order; origins do not count and NaN equals NaN.
  friend bool operator==(const Value& a, const Value& b);

 private:
  // An integer is unsigned only where it is too large for int64.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, List, Map>
      data_;
  Origin origin_;
};

struct Value::Member {
  std::string key;
  Value value;
  Origin origin{};  ///< of the key
};

// Limits of what is read, far beyond any sensible document.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxDepth = 64;  ///< of lists and maps in each other

template <class Values>
Value list_of(const Values& values) {
  return Value(Value::List(values.begin(), values.end()));
}

/// The value of "study.steps"; null where there is none.
const Value* find_path(const Value& document, std::string_view path);

/// The text, the number or the list there; without one empty, NaN, no elements.
std::string text_at(const Value& document, std::string_view path);
double number_at(const Value& document, std::string_view path);
const Value::List& list_at(const Value& document, std::string_view path);

/// The texts of a list, without what is none; none of what is no list, or null.
std::vector<std::string> texts_in(const Value* list);
/// Where it was written; where it is not, that of the nearest map around it.
Origin origin_of(const Value& document, std::string_view path);
/// The origin of the first of these that is there; of none, as for the first.
Origin origin_of(const Value& document, std::initializer_list<std::string_view> paths);

/// Parses one YAML document of at most kMaxYamlBytes. Throws Error(config), with the position, for
/// bad syntax, a key given twice, a second document, and what we leave out: anchors, tags, keys
/// that are no text. Empty text is null.
Value parse_yaml(std::string_view text, std::string source_name);
/// The same for a file, in whose folder paths begin. Throws Error(config) with the path if it
/// cannot be read.
Value read_yaml(const std::string& path);

/// Applies "key.path=value" (one YAML value), making maps on the way. `written`: what messages call
/// it, where that differs. Throws Error(config) if it is malformed or a key on the way holds
/// something else than a map.
void apply_override(Value& document, std::string_view assignment, std::string_view written = {});

/// YAML text that parse_yaml reads back as an equal value; ends with a line break.
std::string yaml_text(const Value& value);
/// JSON text of one line, or of many where `indent` is above 0. Numbers that are not finite become
/// null, as JSON has none.
std::string json_text(const Value& value, int indent = 2);
/// Reads what json_text() wrote, of any size: for files that programs write, many times faster than
/// parse_yaml(). The values have no positions. Throws Error(data), naming the source, also for a
/// key that is given twice and for lists and maps deeper in each other than kMaxDepth.
Value parse_json(std::string_view text, std::string_view source_name);

}  // namespace stap::config
