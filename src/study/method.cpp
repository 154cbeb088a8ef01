#include "stap/study/method.h"

#include <algorithm>

#include <fmt/format.h>

#include "stap/acquire/planner.h"
#include "stap/core/error.h"

namespace stap {
namespace {

using config::Value;

// Where this character first stands outside brackets; the end if it does not.
std::size_t find_outside(std::string_view text, char wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    if (text[i] == wanted && depth == 0) return i;
  }
  return text.size();
}

// Throws Error(config) saying what is wrong with the method.
void write_out(Value& document, const std::string& whole, const config::Origin& origin) {
  const std::string_view text = whole;
  const std::size_t plus = find_outside(text, '+');
  const std::string_view first = text.substr(0, plus);
  const std::string_view second = plus < text.size() ? text.substr(plus + 1) : "full";
  if (planner_table().find(first.substr(0, first.find('('))) != nullptr) {
    if (plus < text.size())
      throw Error(ErrorKind::config, fmt::format("{} chooses steps itself, leave out '+{}'",
                                                 first.substr(0, first.find('(')), second));
    document.set("planner", parse_choice(first, origin));
    return;
  }
  Value base = parse_choice(first, origin), steps = parse_choice(second, origin);
  document.set("base", std::move(base));
  document.set("steps", std::move(steps));
}

// As one types it: words without quotes.
std::string option_text(const Value& value) {
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  const std::string* text = value.text();
  const bool word = text != nullptr && !text->empty() && text->front() >= 'a' &&
                    text->front() <= 'z' && std::ranges::all_of(*text, in_word);
  return word ? *text : config::json_text(value, 0);
}

template <class Row>
std::string part_text(const config::Registry<Row>& table, const Value& section) {
  const Value* named = section.find("name");
  if (named == nullptr || named->text() == nullptr) return "";
  const std::string& name = *named->text();
  const Row* row = table.find(name);
  const Value usual =
      row != nullptr ? config::to_value(*row->fields, row->fields->make().get()) : Value();
  std::string options;
  for (const Value::Member& member : *section.map()) {
    const Value* same = usual.find(member.key);
    if (member.key == "name" || (same != nullptr && *same == member.value)) continue;
    options +=
        fmt::format("{}{}={}", options.empty() ? "" : ",", member.key, option_text(member.value));
  }
  return options.empty() ? name : fmt::format("{}({})", name, options);
}

}  // namespace

Value parse_choice(std::string_view text, const config::Origin& origin) {
  const std::size_t open = text.find('(');
  const std::string_view name = text.substr(0, open);
  if (name.empty()) throw Error(ErrorKind::config, "a name is missing");
  Value options{Value::Map{}};
  if (open != std::string_view::npos) {
    if (!text.ends_with(')')) throw Error(ErrorKind::config, "a bracket is not closed");
    std::string_view rest = text.substr(open + 1, text.size() - open - 2);
    while (!rest.empty()) {
      if (rest.front() == ' ') {
        rest.remove_prefix(1);
        continue;
      }
      const std::size_t comma = find_outside(rest, ',');
      const std::string_view option = rest.substr(0, comma);
      const std::string_view key = option.substr(0, option.find('='));
      if (options.find(key) != nullptr)
        throw Error(ErrorKind::config, fmt::format("{} is given twice", key));
      config::apply_override(options, option);
      rest = comma == rest.size() ? std::string_view{} : rest.substr(comma + 1);
    }
  }
  Value section{Value::Map{}};
  const auto set = [&](std::string_view key, Value value) {
    value.set_origin(origin);
    section.set(key, std::move(value));
  };
  set("name", name);
  for (const Value::Member& member : *options.map()) set(member.key, member.value);
  section.set_origin(origin);
  return section;
}

void expand_method(Value& document, config::Complaints& complaints) {
  const Value* method = document.find("method");
  if (method == nullptr) return;
  const config::Origin origin = method->origin();
  const std::string* text = method->text();
  const bool twice = document.find("base") != nullptr || document.find("steps") != nullptr ||
                     document.find("planner") != nullptr;
  if (twice) {
    complaints.add("method", "is short for base and steps: give either method, or base and steps",
                   origin);
  } else if (text == nullptr) {
    complaints.add("method", "is not a text, expected for example sbal+stap", origin);
  } else {
    try {
      write_out(document, *text, origin);
    } catch (const Error& error) {
      complaints.add(
          "method",
          fmt::format("'{}': {}; expected BASE or BASE+STEPS, each a name or name(key=value,...), "
                      "for example sbal+stap(proposals=10)",
                      *document.find("method")->text(), error.what()),
          origin);
    }
  }
  document.erase("method");
}

void expand_method(Value& document) {
  config::Complaints complaints;
  expand_method(document, complaints);
  complaints.throw_if_any();
}

std::string method_text(const Value& effective) {
  if (const Value* planner = effective.find("planner")) return part_text(planner_table(), *planner);
  const Value* base = effective.find("base");
  const Value* steps = effective.find("steps");
  if (base == nullptr || steps == nullptr) return "";
  const std::string first = part_text(selector_table(), *base);
  const std::string second = part_text(chooser_table(), *steps);
  return second == "full" ? first : first + "+" + second;
}

}  // namespace stap
