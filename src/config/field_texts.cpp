// What a table of fields says about itself: rows for people, a JSON schema for editors.
#include <limits>

#include <fmt/format.h>

#include "stap/config/fields.h"

namespace stap::config {
namespace {

// Documents leave out what came later than they and is at its default.
Value preset_of(const Table& table, const FieldInfo& field, const Value& presets) {
  const Value* stated = presets.find(field.name);
  return stated ? *stated : field.get(table.make().get());
}

void describe_into(std::vector<Row>& rows, const Table& table, const std::string& prefix,
                   const Value& presets, Affects around) {
  for (const FieldInfo& field : table.fields()) {
    const Value preset = preset_of(table, field, presets);
    const Affects affects = field.affects.value_or(around);
    if (field.section) {
      describe_into(rows, *field.section, prefix + field.name + ".", preset, affects);
      continue;
    }
    std::string text = yaml_text(preset);
    text.pop_back();  // the line break
    rows.push_back({prefix + field.name, std::string(to_string(field.type)), std::move(text),
                    field.unit, field.allowed.text(), field.text, std::string(to_string(affects))});
  }
}

void add_range(Value& schema, const Constraint& allowed, bool integers) {
  if (allowed.low) schema.set(allowed.low_open ? "exclusiveMinimum" : "minimum", *allowed.low);
  if (allowed.high) schema.set(allowed.high_open ? "exclusiveMaximum" : "maximum", *allowed.high);
  if (integers && allowed.multiple > 1) schema.set("multipleOf", allowed.multiple);
}

Value schema_of(const Table& table, const Value& presets);

Value field_schema(const FieldInfo& field, const Value& preset) {
  Value schema;
  const auto type = [&](const char* name) -> Value& { return schema.set("type", name), schema; };
  switch (field.type) {
    case Type::boolean:
      type("boolean");
      break;
    case Type::integer:
    case Type::real:
      type(field.type == Type::integer ? "integer" : "number");
      add_range(schema, field.allowed, field.type == Type::integer);
      break;
    case Type::text:
    case Type::path:
    case Type::choice:
      type("string");
      if (!field.allowed.choices.empty()) {
        Value::List words;
        for (const auto& choice : field.allowed.choices) words.emplace_back(choice.first);
        schema.set("enum", Value(std::move(words)));
      }
      break;
    case Type::texts:
    case Type::reals:
    case Type::integers: {
      Value item;
      item.set("type", field.type == Type::texts      ? "string"
                       : field.type == Type::integers ? "integer"
                                                      : "number");
      add_range(item, field.allowed, field.type == Type::integers);
      type("array").set("items", std::move(item));
      if (field.allowed.min_length > 0) schema.set("minItems", field.allowed.min_length);
      if (field.allowed.max_length < std::numeric_limits<std::size_t>::max())
        schema.set("maxItems", field.allowed.max_length);
      break;
    }
    case Type::quantity:
      type("number");
      add_range(schema, field.allowed, false);
      schema = quantity_schema(std::move(schema));
      break;
    case Type::quantities:
      schema = quantities_schema();
      break;
    case Type::section:
      schema = schema_of(*field.section, preset);
      break;
  }
  const bool listed = field.type == Type::integer || field.type == Type::texts;
  if (listed && !field.allowed.choices.empty()) {
    // A number or a list, or one of these words.
    Value::List words;
    for (const auto& choice : field.allowed.choices) words.emplace_back(choice.first);
    Value word, either;
    word.set("enum", Value(std::move(words)));
    either.set("anyOf", Value(Value::List{std::move(schema), std::move(word)}));
    schema = std::move(either);
  }
  schema.set("description",
             field.unit.empty() ? field.text : fmt::format("{} [{}]", field.text, field.unit));
  if (!field.section) schema.set("default", preset);
  return schema;
}

Value schema_of(const Table& table, const Value& presets) {
  Value properties{Value::Map{}};
  for (const FieldInfo& field : table.fields())
    properties.set(field.name, field_schema(field, preset_of(table, field, presets)));
  Value schema;
  schema.set("type", Value(Value::List{"object", "null"}));
  schema.set("properties", std::move(properties));
  schema.set("additionalProperties", false);
  return schema;
}

}  // namespace

std::string_view to_string(Type type) {
  switch (type) {
    case Type::boolean:
      return "boolean";
    case Type::integer:
      return "integer";
    case Type::real:
      return "real number";
    case Type::text:
      return "text";
    case Type::path:
      return "path";
    case Type::choice:
      return "choice";
    case Type::reals:
      return "list of real numbers";
    case Type::integers:
      return "list of integers";
    case Type::texts:
      return "list of texts";
    case Type::quantity:
      return "fixed or drawn number";
    case Type::quantities:
      return "fixed or drawn numbers by name";
    case Type::section:
      return "section";
  }
  return "";
}

std::vector<Row> describe(const Table& table, Affects section) {
  std::vector<Row> rows;
  describe_into(rows, table, "", to_value(table, table.make().get()), section);
  return rows;
}

Value schema(const Table& table) {
  return schema_of(table, to_value(table, table.make().get()));
}

}  // namespace stap::config
