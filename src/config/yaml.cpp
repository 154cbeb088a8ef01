// The only file that sees yaml-cpp. Its events are used, not its nodes: they keep positions of
// keys, show keys given twice, and cannot be blown up by aliases.

#include <algorithm>
#include <istream>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "config/scalar.h"
#include "core/whole_file.h"
#include "stap/config/key_index.h"
#include "stap/config/value.h"
#include "stap/core/error.h"

namespace stap::config {
namespace {

[[noreturn]] void fail(const Origin& origin, std::string_view what) {
  throw Error(ErrorKind::config, fmt::format("{}: {}", origin.text(), what));
}

class Builder : public YAML::EventHandler {
 public:
  Builder(std::shared_ptr<const Source> source, bool positions)
      : source_(std::move(source)), positions_(positions) {}

  Value take() { return std::move(root_); }
  const Origin& begins() const { return begins_; }

  void OnDocumentStart(const YAML::Mark& mark) override { begins_ = at(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(Value(), mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& text) override {
    // "?" marks a plain scalar, "!" a quoted one.
    if (tag != "?") refuse_tag(tag, mark);
    if (expects_key()) {
      begin_member(text, mark);
      return;
    }
    add(tag == "?" ? resolve_plain(text) : Value(text), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(Value(Value::List{}), tag, mark);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(Value(Value::Map{}), tag, mark);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that is still being filled.
  struct Open {
    Value::List list{};
    Value::Map map{};
    KeyIndex keys{};
    bool is_map = false;
    bool has_key = false;  ///< the last member of the map waits for its value
    Origin origin;
  };

  Origin at(const YAML::Mark& mark) const {
    return positions_ ? Origin{source_, mark.line + 1, mark.column + 1} : Origin{source_, 0, 0};
  }
  [[noreturn]] void refuse_anchor(const YAML::Mark& mark) const {
    fail(at(mark), "anchors and aliases (&, *) are not supported; write the value out");
  }
  void refuse_tag(const std::string& tag, const YAML::Mark& mark) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      fail(at(mark), fmt::format("the tag '{}' is not supported; leave it out", tag));
  }
  bool expects_key() const {
    return !open_.empty() && open_.back().is_map && !open_.back().has_key;
  }

  void begin_member(const std::string& key, const YAML::Mark& mark) {
    Open& top = open_.back();
    const std::size_t given = top.keys.find(top.map, key);
    if (given < top.map.size())
      fail(at(mark), positions_ ? fmt::format("key '{}' is given twice, first in line {}", key,
                                              top.map[given].origin.line)
                                : fmt::format("key '{}' is given twice", key));
    top.map.push_back({key, {}, at(mark)});
    top.has_key = true;
  }

  void open(Value empty, const std::string& tag, const YAML::Mark& mark) {
    refuse_tag(tag, mark);
    if (expects_key()) fail(at(mark), "a key must be a text, not a list or map");
    if (open_.size() == kMaxDepth)
      fail(at(mark), fmt::format("lists and maps are nested deeper than {}", kMaxDepth));
    open_.push_back({.is_map = empty.is_map(), .origin = at(mark)});
  }

  void close() {
    Open top = std::move(open_.back());
    open_.pop_back();
    place(top.is_map ? Value(std::move(top.map)) : Value(std::move(top.list)), top.origin);
  }

  void add(Value value, const YAML::Mark& mark) {
    if (expects_key()) fail(at(mark), "a key must be a text, not empty");
    place(std::move(value), at(mark));
  }

  void place(Value value, Origin origin) {
    value.set_origin(std::move(origin));
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Open& top = open_.back(); top.is_map) {
      top.map.back().value = std::move(value);
      top.has_key = false;
    } else {
      top.list.push_back(std::move(value));
    }
  }

  std::shared_ptr<const Source> source_;
  bool positions_;
  std::vector<Open> open_;
  Value root_;
  Origin begins_;
};

Value parse(std::string_view text, Source whence, bool positions) {
  const auto source = std::make_shared<const Source>(std::move(whence));
  const auto origin = [&](int line, int column) {
    return positions ? Origin{source, line, column} : Origin{source, 0, 0};
  };
  if (text.size() > kMaxYamlBytes)
    fail({source, 0, 0},
         fmt::format("has {} bytes, expected at most {}", text.size(), kMaxYamlBytes));
  if (const std::size_t bad = first_bad_byte(text); bad != std::string_view::npos) {
    const std::string_view before = text.substr(0, bad);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
    fail(origin(static_cast<int>(line), static_cast<int>(bad - start) + 1),
         fmt::format("byte 0x{:02x} is no text; write the file in UTF-8 without control characters",
                     static_cast<unsigned char>(text[bad])));
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(source, positions);
    if (!parser.HandleNextDocument(builder)) {
      Value empty;
      empty.set_origin(origin(1, 1));
      return empty;
    }
    Builder second(source, positions);
    if (parser.HandleNextDocument(second)) {
      // A line that is indented less than the first one ends the document as well.
      const bool marked = text.starts_with("---") || text.find("\n---") != text.npos ||
                          text.find("\n...") != text.npos;
      fail(second.begins(), marked ? "holds more than one document; keep one and remove the "
                                     "line '---'"
                                   : "this line does not belong to those above: check the "
                                     "indentation, which must be the same in all lines of a map");
    }
    return builder.take();
  } catch (const YAML::ParserException& error) {
    fail(origin(error.mark.line + 1, error.mark.column + 1), "bad YAML: " + error.msg);
  } catch (const YAML::Exception& error) {
    fail({source, 0, 0}, fmt::format("bad YAML: {}", error.what()));
  }
}

void assign(Value& document, std::string_view path, Value value, std::string_view assignment) {
  Value* at = &document;
  for (std::size_t start = 0;;) {
    if (!at->is_null() && !at->is_map())
      throw Error(
          ErrorKind::config,
          fmt::format("override '{}' cannot be applied: {} is {}, expected a map", assignment,
                      start == 0 ? "the document" : path.substr(0, start - 1), shown(*at)));
    const std::size_t dot = path.find('.', start);
    const std::string_view key = path.substr(start, dot - start);
    if (dot == std::string_view::npos) {
      at->set(key, std::move(value));
      return;
    }
    Value* next = at->find(key);
    at = next ? next : &at->set(key, Value(Value::Map{}));
    start = dot + 1;
  }
}

void write(std::string& out, const Value& value, std::size_t indent);

/// A value after "key:" or "-": on the same line where it is short, below it otherwise.
void write_item(std::string& out, const Value& value, std::size_t indent) {
  const auto is_scalar = [](const Value& item) { return !item.is_list() && !item.is_map(); };
  if (value.is_map() && !value.map()->empty()) {
    out += '\n';
    write(out, value, indent);
  } else if (value.is_map()) {
    out += " {}\n";
  } else if (value.is_list() && std::ranges::all_of(*value.list(), is_scalar)) {
    out += " [";
    for (std::size_t i = 0; i < value.list()->size(); ++i)
      out += (i ? ", " : "") + scalar_text((*value.list())[i]);
    out += "]\n";
  } else if (value.is_list()) {
    out += '\n';
    write(out, value, indent);
  } else {
    out += ' ' + scalar_text(value) + '\n';
  }
}

void write(std::string& out, const Value& value, std::size_t indent) {
  const std::string blanks(indent, ' ');
  if (value.is_map())
    for (const Value::Member& member : *value.map()) {
      out += blanks + scalar_text(Value(member.key)) + ':';
      write_item(out, member.value, indent + 2);
    }
  else
    for (const Value& item : *value.list()) {
      out += blanks + '-';
      write_item(out, item, indent + 2);
    }
}

}  // namespace

Value parse_yaml(std::string_view text, std::string source_name) {
  return parse(text, {std::move(source_name)}, true);
}

Value read_yaml(const std::string& path) {
  return parse(read_whole_file(path, kMaxYamlBytes, ErrorKind::config),
               {path, std::filesystem::path(path).parent_path()}, true);
}

void apply_override(Value& document, std::string_view assignment, std::string_view written) {
  if (written.empty()) written = assignment;
  const std::size_t equals = assignment.find('=');
  const std::string_view path = assignment.substr(0, equals);
  const bool empty_key = path.empty() || path.front() == '.' || path.back() == '.' ||
                         path.find("..") != std::string_view::npos;
  if (equals == std::string_view::npos || empty_key)
    throw Error(ErrorKind::config,
                fmt::format("override '{}' {}; write key.path=value, for example train.epochs=10",
                            written, empty_key ? "has an empty key" : "has no '='"));
  if (static_cast<std::size_t>(std::ranges::count(path, '.')) >= kMaxDepth)
    throw Error(ErrorKind::config,
                fmt::format("an override names a key of {} parts, expected at most {}",
                            std::ranges::count(path, '.') + 1, kMaxDepth));
  assign(document, path, parse(assignment.substr(equals + 1), {std::string(written)}, false),
         written);
}

std::string yaml_text(const Value& value) {
  std::string out;
  write_item(out, value, 0);
  // write_item starts with the blank or line break that follows a key.
  return out.substr(1);
}

}  // namespace stap::config
