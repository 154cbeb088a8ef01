#include "stap/config/fields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "config/scalar.h"
#include "stap/core/error.h"

namespace stap::config {
namespace {

/// "is 4, expected an integer >= 8"
std::string expected(const Value& given, std::string_view what, const Constraint& allowed) {
  const std::string limits = allowed.text();
  return fmt::format("is {}, expected {}{}{}", shown(given), what, limits.empty() ? "" : " ",
                     limits);
}

bool in_range(double number, const Constraint& allowed) {
  if (allowed.low && !(allowed.low_open ? number > *allowed.low : number >= *allowed.low))
    return false;
  return !allowed.high || (allowed.high_open ? number < *allowed.high : number <= *allowed.high);
}

// What a word stands for; empty if it is none of the choices.
std::optional<std::int64_t> code_of(const Constraint& allowed, const Value& value) {
  for (const auto& [name, code] : allowed.choices)
    if (value.text() != nullptr && *value.text() == name) return code;
  return std::nullopt;
}

template <class Integer>
std::optional<Integer> read_integer(const Constraint& allowed, const Value& value) {
  const std::optional<Integer> number = value.integer<Integer>();
  if (!number || !in_range(static_cast<double>(*number), allowed)) return std::nullopt;
  // The sign does not matter for divisibility; negation in unsigned arithmetic cannot overflow.
  const auto bits = static_cast<std::uint64_t>(*number);
  if ((*number < 0 ? ~bits + 1 : bits) % allowed.multiple != 0) return std::nullopt;
  return number;
}

std::optional<double> read_real(const Constraint& allowed, const Value& value) {
  const std::optional<double> number = value.real();
  if (!number || !std::isfinite(*number) || !in_range(*number, allowed)) return std::nullopt;
  return number;
}

template <class Integer>
void read_integer_member(Integer& member, const Constraint& allowed, const Value& value,
                         const std::string& path, Complaints& complaints) {
  if (const auto code = code_of(allowed, value))
    member = static_cast<Integer>(*code);
  else if (const auto number = read_integer<Integer>(allowed, value))
    member = *number;
  else
    complaints.add(path, expected(value, "an integer", allowed), value.origin());
}

template <class T, class Read>
void read_list(std::vector<T>& member, const Constraint& allowed, const Value& value,
               const std::string& path, Complaints& complaints, std::string_view what,
               Read read_one) {
  const Value::List* list = value.list();
  if (!list || list->size() < allowed.min_length || list->size() > allowed.max_length) {
    complaints.add(path, expected(value, what, allowed), value.origin());
    return;
  }
  std::vector<T> result;
  for (const Value& item : *list) {
    if (const std::optional<T> one = read_one(allowed, item)) {
      result.push_back(*one);
      continue;
    }
    const std::string limits = allowed.text();
    complaints.add(path,
                   fmt::format("has {} in it, expected {}{}{}", shown(item), what,
                               limits.empty() ? "" : " ", limits),
                   item.origin());
    return;
  }
  member = std::move(result);
}

// Numbers are refused: how they were written is not known any more.
std::optional<std::string> read_word(const Constraint&, const Value& value) {
  return value.text() ? std::optional(*value.text()) : std::nullopt;
}

// Where a value was written.
std::filesystem::path folder_of(const Value& value) {
  return absolute(value.origin().folder() / ".").lexically_normal();
}

// {here} in words becomes that folder.
void say_where(std::vector<std::string>& words, const Value& value) {
  constexpr std::string_view kHere = "{here}";
  const std::string here = (folder_of(value) / "").parent_path().string();
  for (std::string& word : words)
    for (std::size_t at = 0; (at = word.find(kHere, at)) != std::string::npos; at += here.size())
      word.replace(at, kHere.size(), here);
}

std::vector<std::string> names(const std::vector<FieldInfo>& fields) {
  std::vector<std::string> result;
  for (const FieldInfo& field : fields) result.push_back(field.name);
  return result;
}

}  // namespace

Table::Table(std::vector<FieldInfo> fields,
             std::function<std::shared_ptr<void>(const void* copied)> make_options)
    : fields_(std::move(fields)), make_(std::move(make_options)) {
  std::vector<std::string> sorted = names(fields_);
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end())
    throw Error(ErrorKind::internal, fmt::format("a field table has two fields '{}'", *twice));
}

void parse(const Table& table, const Value& value, const std::string& path, void* options,
           Complaints& complaints) {
  if (value.is_null()) return;
  if (!value.is_map()) {
    complaints.add(path, fmt::format("is {}, expected a map of options", shown(value)),
                   value.origin());
    return;
  }
  for (const Value::Member& member : *value.map()) {
    const auto field = std::ranges::find(table.fields(), member.key, &FieldInfo::name);
    const std::string member_path = path.empty() ? member.key : path + "." + member.key;
    if (field == table.fields().end())
      complaints.add(
          member_path,
          complaints.full() ? "" : "is not known" + hint(member.key, names(table.fields()), "keys"),
          member.origin);
    else
      field->read(options, member.value, member_path, complaints);
  }
}

Value to_value(const Table& table, const void* options) {
  Value result{Value::Map{}};
  const std::shared_ptr<void> defaults = table.make();
  for (const FieldInfo& field : table.fields()) {
    Value value = field.get(options);
    if (field.later && value == field.get(defaults.get())) continue;
    if (field.section != nullptr && value.map()->empty()) continue;
    result.set(field.name, std::move(value));
  }
  return result;
}

namespace detail {

void read_member(bool& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  if (const auto given = value.boolean())
    member = *given;
  else
    complaints.add(path, expected(value, "true or false", allowed), value.origin());
}

void read_member(int& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  read_integer_member(member, allowed, value, path, complaints);
}

void read_member(std::int64_t& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  read_integer_member(member, allowed, value, path, complaints);
}

void read_member(std::uint64_t& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  read_integer_member(member, allowed, value, path, complaints);
}

void read_member(double& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  if (const auto number = read_real(allowed, value))
    member = *number;
  else
    complaints.add(path, expected(value, "a finite number", allowed), value.origin());
}

void read_member(std::string& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  if (!allowed.choices.empty()) {
    if (const auto code = read_choice(allowed, value, path, complaints))
      member = allowed.choices[static_cast<std::size_t>(*code)].first;
  } else if (const std::string* text = value.text()) {
    member = *text;
  } else {
    complaints.add(path, expected(value, "a text (quote what looks like a number)", allowed),
                   value.origin());
  }
}

void read_member(std::filesystem::path& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  const std::string* text = value.text();
  if (text == nullptr) {
    complaints.add(path, expected(value, "a path", allowed), value.origin());
    return;
  }
  // Absolute, or the same words in a document elsewhere would mean another file. Empty: none.
  member = text->empty() ? std::filesystem::path()
                         : absolute(value.origin().folder() / *text).lexically_normal();
}

void read_member(std::vector<double>& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  read_list(member, allowed, value, path, complaints, "a list of finite numbers", read_real);
}

void read_member(std::vector<std::size_t>& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  read_list(member, allowed, value, path, complaints, "a list of integers",
            read_integer<std::size_t>);
}

void read_member(std::vector<std::string>& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  read_list(member, allowed, value, path, complaints,
            "a list of texts (quote what looks like a number)", read_word);
  say_where(member, value);
}

void read_member(Arguments& member, const Constraint& allowed, const Value& value,
                 const std::string& path, Complaints& complaints) {
  std::vector<std::string>& words = member.words;
  if (code_of(allowed, value)) {
    words = {*value.text()};
    return;
  }
  read_list(
      words, allowed, value, path, complaints,
      allowed.choices.empty()
          ? "a list of a program and its arguments (quote what looks like a number)"
          : "a list of a program and its arguments (quote what looks like a number), or one of",
      read_word);
  say_where(words, value);
  if (!words.empty() && words[0].find('/') != std::string::npos)
    words[0] = (folder_of(value) / words[0]).lexically_normal().string();
}

std::optional<std::int64_t> read_choice(const Constraint& allowed, const Value& value,
                                        const std::string& path, Complaints& complaints) {
  if (const auto code = code_of(allowed, value)) return code;
  std::vector<std::string> words;
  for (const auto& choice : allowed.choices) words.push_back(choice.first);
  const std::string nearest = value.text() ? suggest(*value.text(), words) : "";
  complaints.add(path,
                 nearest.empty() ? fmt::format("is {}, expected one of {}", shown(value),
                                               fmt::join(words, ", "))
                                 : fmt::format("is {}; did you mean '{}'?", shown(value), nearest),
                 value.origin());
  return std::nullopt;
}

Value choice_value(const Constraint& allowed, std::int64_t code) {
  for (const auto& choice : allowed.choices)
    if (choice.second == code) return Value(choice.first);
  throw Error(ErrorKind::internal, fmt::format("an option holds {}, which has no name", code));
}

Value number_or_word(const Constraint& allowed, std::uint64_t number) {
  for (const auto& [name, code] : allowed.choices)
    if (static_cast<std::uint64_t>(code) == number) return Value(name);
  return Value(number);
}

}  // namespace detail
}  // namespace stap::config
