#include "help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "stap/config/complaints.h"
#include "stap/config/value.h"
#include "stap/core/shown_text.h"
#include "stap/results/text_style.h"

namespace stap::app {
namespace {

constexpr std::size_t kIndent = 2, kWidestName = 22;
constexpr std::size_t kLongestValue = 32;  // a longer list of words is in the text
constexpr std::size_t kNarrowestHelp = 40, kBesideFrom = 60;

bool is_flag(const CLI::Option& option) {
  return option.get_expected_max() == 0;
}

bool is_repeated(const CLI::Option& option) {
  return option.get_expected_max() >= CLI::detail::expected_max_vector_size;
}

// The value's name, short enough for a line.
std::string shown_value(const CLI::Option& option) {
  const std::string value = value_name(option);
  return value.size() > kLongestValue ? "NAME" : value;
}

std::string item_name(const CLI::Option& option) {
  const std::string value = shown_value(option);
  if (option.get_positional()) return value + (is_repeated(option) ? "..." : "");
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (!is_flag(option)) return all + " " + value;
  return value.empty() ? all : fmt::format("{}[={}]", all, value);
}

std::string item_text(const CLI::Option& option) {
  std::string text = option.get_description();
  if (const std::string words = value_name(option); words.size() > kLongestValue) {
    text += ": ";
    for (const char c : words) text += c == '|' ? std::string(", ") : std::string(1, c);
  }
  if (!is_flag(option) && !option.get_default_str().empty())
    text += fmt::format(" (default: {})", option.get_default_str());
  return text;
}

HelpGroup options_of(const CLI::App& command, std::string title, bool positional) {
  HelpGroup group{std::move(title), {}};
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() == positional && !option->get_group().empty())
      group.items.push_back({item_name(*option), item_text(*option)});
  return group;
}

std::string usage_of(const CLI::App& command, const std::string& name) {
  std::string usage = name;
  if (!command.get_subcommands({}).empty()) usage += " COMMAND";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional())
      usage += (option->get_required() ? " " : " [") + item_name(*option) +
               (option->get_required() ? "" : "]");
    else if (option->get_required())
      usage += " " + item_name(*option);
  }
  return usage + " [options]";
}

void add_commands(const CLI::App& command, std::vector<HelpGroup>& groups) {
  for (const CLI::App* sub : command.get_subcommands({})) {
    if (sub->get_group().empty()) continue;  // hidden
    const bool grouped = command.get_parent() == nullptr;
    const std::string title = grouped ? sub->get_group() : "Commands";
    if (groups.empty() || groups.back().title != title) groups.push_back({title, {}});
    groups.back().items.push_back({sub->get_name(), sub->get_description()});
  }
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* command, std::string, CLI::AppFormatMode) const override {
    return help_text(help_of(*command), help_columns());
  }
};

}  // namespace

CommandHelp help_of(const CLI::App& command) {
  const CLI::App* program = &command;
  CommandHelp help{.name = command.get_name(), .text = command.get_description()};
  while (program->get_parent() != nullptr) {
    program = program->get_parent();
    help.name = program->get_name() + " " + help.name;
  }
  help.usage = usage_of(command, help.name);
  add_commands(command, help.groups);
  help.groups.push_back(options_of(command, "Arguments", true));
  help.groups.push_back(options_of(command, "Options", false));
  if (program != &command) {
    help.groups.push_back(options_of(*program, "Options of every command", false));
    std::erase_if(help.groups.back().items, [](const HelpItem& item) {
      return item.name.find("--help") != std::string::npos || item.name == "--version";
    });
  }
  std::erase_if(help.groups, [](const HelpGroup& group) { return group.items.empty(); });
  std::istringstream footer(command.get_footer());
  bool examples = false;
  for (std::string line; std::getline(footer, line);) {
    if (line == "Example:")
      examples = true;
    else
      (examples ? help.examples : help.notes).push_back(line.substr(examples ? kIndent : 0));
  }
  return help;
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string item_lines(std::span<const HelpItem> items, std::size_t columns) {
  std::size_t width = 0;
  for (const HelpItem& item : items)
    if (const std::size_t own = width_of(item.name); own <= kWidestName)
      width = std::max(width, own);
  const std::size_t beside = columns < kBesideFrom ? 3 * kIndent : width + 2 * kIndent;
  std::string lines;
  for (const HelpItem& item : items) {
    std::string line = std::string(kIndent, ' ') + item.name;
    if (width_of(line) + kIndent > beside) {
      lines += line + '\n';
      line.clear();
    }
    line.append(beside - width_of(line), ' ');
    lines += wrapped(line + item.text, columns, beside);
  }
  return lines;
}

std::string help_text(const CommandHelp& help, std::size_t columns) {
  std::string text = wrapped(help.text, columns) + '\n';
  text += wrapped("Usage: " + help.usage, columns, 2 * kIndent);
  for (const HelpGroup& group : help.groups)
    text += fmt::format("\n{}:\n{}", group.title, item_lines(group.items, columns));
  if (!help.notes.empty()) text += '\n';
  for (const std::string& note : help.notes) text += wrapped(note, columns);
  if (!help.examples.empty()) text += "\nExample:\n";
  for (const std::string& example : help.examples) text += "  " + example + '\n';  // to be copied
  return text;
}

std::size_t help_columns() {
  std::size_t columns = 0;
  const std::string_view said = std::getenv("COLUMNS") ? std::getenv("COLUMNS") : "";
  std::from_chars(said.data(), said.data() + said.size(), columns);
  winsize size{};
  if (columns == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns == 0 ? TextStyle{}.columns : std::max(columns, kNarrowestHelp);
}

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

std::string value_name(const CLI::Option& option) {
  const std::string name = option.get_type_name();  // and what its checks say, after a colon
  return is_flag(option) && name.find('|') == std::string::npos ? ""
                                                                : name.substr(0, name.find(':'));
}

CLI::Option* one_of(CLI::Option* option, const std::vector<std::string>& words) {
  return option->type_name(fmt::format("{}", fmt::join(words, "|")))
      ->check([words](const std::string& text) {
        return std::ranges::find(words, text) != words.end()
                   ? std::string()
                   : fmt::format("'{}' is not known{}", text, config::hint(text, words, "values"));
      });
}

CLI::Option* output_name(CLI::Option* option) {
  return option->check(
      [](const std::string& name) {
        const bool shown = printable(name) == name && name.find_first_of("\n\t") == name.npos;
        return shown ? std::string()
                     : config::json_text(config::Value(name), 0) +
                           " cannot be shown on one line: give another name";
      },
      "");
}

}  // namespace stap::app
