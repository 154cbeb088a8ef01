#include "stap/config/value.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "stap/core/error.h"

namespace stap::config {
namespace {

struct Same {
  template <class T, class U>
  bool operator()(const T& a, const U& b) const {
    if constexpr (!std::is_same_v<T, U>)
      return false;
    else if constexpr (std::is_same_v<T, double>)
      return a == b || (std::isnan(a) && std::isnan(b));
    else if constexpr (std::is_same_v<T, Value::Map>)
      return std::ranges::equal(a, b, [](const Value::Member& x, const Value::Member& y) {
        return x.key == y.key && x.value == y.value;
      });
    else
      return a == b;
  }
};

}  // namespace

std::string Origin::text() const {
  if (!source) return "";
  return line > 0 ? fmt::format("{}:{}:{}", source->name, line, column) : source->name;
}

std::filesystem::path Origin::folder() const {
  return source ? source->folder : std::filesystem::path();
}

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "empty";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a real number";
    case Kind::text:
      return "a text";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  return "";
}

Value::Value(Map map) : data_(std::move(map)) {}

Kind Value::kind() const {
  static constexpr Kind kinds[] = {Kind::null, Kind::boolean, Kind::integer, Kind::integer,
                                   Kind::real, Kind::text,    Kind::list,    Kind::map};
  return kinds[data_.index()];
}

std::optional<bool> Value::boolean() const {
  if (const auto* value = std::get_if<bool>(&data_)) return *value;
  return std::nullopt;
}

template <std::integral T>
std::optional<T> Value::integer() const {
  if (const auto* value = std::get_if<std::int64_t>(&data_))
    return std::in_range<T>(*value) ? std::optional(static_cast<T>(*value)) : std::nullopt;
  if (const auto* value = std::get_if<std::uint64_t>(&data_))
    return std::in_range<T>(*value) ? std::optional(static_cast<T>(*value)) : std::nullopt;
  const auto* value = std::get_if<double>(&data_);
  if (!value || !(std::trunc(*value) == *value)) return std::nullopt;
  // Beyond 2^53 a real number no longer says which integer was meant.
  constexpr double most = 9007199254740992.0;
  if (!(std::abs(*value) <= most)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*value);
  return std::in_range<T>(whole) ? std::optional(static_cast<T>(whole)) : std::nullopt;
}
template std::optional<int> Value::integer<int>() const;
template std::optional<std::int64_t> Value::integer<std::int64_t>() const;
template std::optional<std::uint64_t> Value::integer<std::uint64_t>() const;

std::optional<double> Value::real() const {
  if (const auto* value = std::get_if<double>(&data_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&data_)) return static_cast<double>(*value);
  return std::nullopt;
}

const Value* Value::find(std::string_view key) const {
  const Map* members = map();
  if (!members) return nullptr;
  const auto found = std::ranges::find(*members, key, &Member::key);
  return found == members->end() ? nullptr : &found->value;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) data_ = Map{};
  Map* members = std::get_if<Map>(&data_);
  if (!members)
    throw Error(ErrorKind::internal, fmt::format("key '{}' was set on {}", key, to_string(kind())));
  auto found = std::ranges::find(*members, key, &Member::key);
  if (found == members->end()) found = members->insert(found, Member{std::string(key), {}, {}});
  found->origin = value.origin();
  found->value = std::move(value);
  return found->value;
}

void Value::erase(std::string_view key) {
  if (Map* members = std::get_if<Map>(&data_))
    std::erase_if(*members, [&](const Member& member) { return member.key == key; });
}

std::vector<std::string> texts_in(const Value* list) {
  std::vector<std::string> texts;
  if (list != nullptr && list->is_list())
    for (const Value& value : *list->list())
      if (value.text() != nullptr) texts.push_back(*value.text());
  return texts;
}

const Value* find_path(const Value& document, std::string_view path) {
  const Value* at = &document;
  while (at != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  return at;
}

std::string text_at(const Value& document, std::string_view path) {
  const Value* there = find_path(document, path);
  return there != nullptr && there->text() != nullptr ? *there->text() : std::string();
}

double number_at(const Value& document, std::string_view path) {
  const Value* there = find_path(document, path);
  return there != nullptr ? there->real().value_or(std::nan("")) : std::nan("");
}

const Value::List& list_at(const Value& document, std::string_view path) {
  static const Value::List none;
  const Value* there = find_path(document, path);
  return there != nullptr && there->is_list() ? *there->list() : none;
}

Origin origin_of(const Value& document, std::string_view path) {
  for (;;) {
    if (const Value* there = find_path(document, path)) return there->origin();
    const std::size_t dot = path.rfind('.');
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
  }
}

Origin origin_of(const Value& document, std::initializer_list<std::string_view> paths) {
  for (const std::string_view path : paths)
    if (const Value* there = find_path(document, path)) return there->origin();
  return origin_of(document, *paths.begin());
}

bool operator==(const Value& a, const Value& b) {
  return std::visit(Same{}, a.data_, b.data_);
}

}  // namespace stap::config
