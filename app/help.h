#pragma once

// What the program says about its commands. The help, the man pages (man.cpp) and the completion
// (complete.cpp) are all made of what a command declares with CLI11: its text, its options, and its
// footer, which holds paragraphs, one a line, and after a line "Example:" commands to try.
//
// The name of an option's value says what may be given there:
//   CONFIG  file, preset or run folder     SETTING  key=value          AXIS  key=a,b,c
//   RUN     folder of a run or a sweep     MODEL    model file, or the folder of a run
//   FILE, FOLDER, OVERLAY, ENTRY, FAMILY, EQUATION                    a|b|c  one of these words

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class Option;
}  // namespace CLI

namespace stap::app {

struct HelpItem {
  std::string name;  ///< "--out FOLDER"
  std::string text;
};
struct HelpGroup {
  std::string title;
  std::vector<HelpItem> items;
};
struct CommandHelp {
  std::string name;  ///< "stap solver check"
  std::string text;
  std::string usage{};  ///< "stap solver check CONFIG [SETTING...] [options]"
  std::vector<HelpGroup> groups{};
  std::vector<std::string> notes{}, examples{};
};
CommandHelp help_of(const CLI::App& command);
std::string help_text(const CommandHelp& help, std::size_t columns);
/// "1 trajectory", "2 trajectories".
std::string counted(std::size_t count, const char* one, const char* many);
/// Names on the left, texts beside them, where they fit into `columns`.
std::string item_lines(std::span<const HelpItem> items, std::size_t columns);
/// COLUMNS, else those of the terminal that stdout is, else 80.
std::size_t help_columns();
/// For CLI11, which asks it for the help of every command.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Of an option's value; empty for flags.
std::string value_name(const CLI::Option& option);
/// The option takes one of these words; another one is refused, with the nearest.
CLI::Option* one_of(CLI::Option* option, const std::vector<std::string>& words);

/// The value names what is to be written: refused unless it can be shown, as it is, on one line.
CLI::Option* output_name(CLI::Option* option);

}  // namespace stap::app
