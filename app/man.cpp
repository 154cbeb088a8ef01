// The manual pages, in roff: `stap man`, which the build runs.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "commands.h"
#include "help.h"
#include "stap/config/files.h"
#include "stap/core/version.h"

namespace stap::app {
namespace {

const HelpItem kExitCodes[] = {
    {"0", "done"},
    {"1", "an error in stap itself"},
    {"2", "wrong usage, or a configuration that cannot be used"},
    {"3", "a file that is missing, damaged or of the wrong format"},
    {"4", "a computation left the range of numbers"},
    {"5", "a device, feature, memory or threads that this machine does not have"},
    {"6", "a file or folder that cannot be written, or that another process is using"},
    {"7", "the solver failed"},
    {"8", "stopped by a time limit; run the same command again to continue"},
    {"9", "the phase that --until names is done; the other one is next"},
    {"130, 143", "interrupted by Ctrl-C or SIGTERM; run the same command again to continue"},
};
const HelpItem kVariables[] = {
    {"STAP_CACHE", "folder of pools and test sets (default: ~/.cache/stap), or off"},
    {"STAP_ISA", "instruction set to use: portable, avx2 or avx512 (default: the best there is)"},
    {"STAP_TRUST", "none: read stap's own HDF5 files in a sandboxed process, too (default: own)"},
    {"COLUMNS", "width of help texts"},
    {"NO_COLOR", "if set, nothing is coloured"},
};

// Text as roff takes it: nothing in it is a command.
std::string plain(const std::string& text) {
  std::string shown;
  for (const char c : text) shown += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  return shown.starts_with('.') || shown.starts_with('\'') ? "\\&" + shown : shown;
}

std::string items_text(std::span<const HelpItem> items) {
  std::string text;
  for (const HelpItem& item : items)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(item.name), plain(item.text));
  return text;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string section(const std::string& title) {
  return fmt::format(".SH \"{}\"\n", in_capitals(title));
}

// "stap-solver-check" of "stap solver check".
std::string page_name(std::string command) {
  std::ranges::replace(command, ' ', '-');
  return command;
}

std::string man_page(const CommandHelp& help, bool program) {
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"stap {}\" \"stap manual\"\n",
                                 page_name(help.name), version());
  text +=
      section("Name") + fmt::format("{} \\- {}\n", plain(page_name(help.name)), plain(help.text));
  text += section("Synopsis") + plain(help.usage) + "\n";
  if (!help.notes.empty()) text += section("Description");
  for (std::size_t i = 0; i < help.notes.size(); ++i)
    text += (i > 0 ? ".PP\n" : "") + plain(help.notes[i]) + "\n";
  for (const HelpGroup& group : help.groups) text += section(group.title) + items_text(group.items);
  if (program)
    text += section("Exit status") + items_text(kExitCodes) + section("Environment") +
            items_text(kVariables);
  if (!help.examples.empty()) text += section("Examples");
  for (const std::string& example : help.examples)
    text += fmt::format(".nf\n{}\n.fi\n", plain(example));
  return text + section("See also") +
         (program ? "\\fBstap\\-run\\fR(1) and a page for every other command\n"
                  : "\\fBstap\\fR(1)\n");
}

void write_pages(const CLI::App& command, const std::filesystem::path& folder) {
  const CommandHelp help = help_of(command);
  write_text(folder / (page_name(help.name) + ".1"),
             man_page(help, command.get_parent() == nullptr), false);
  for (const CLI::App* sub : command.get_subcommands({}))
    if (!sub->get_group().empty()) write_pages(*sub, folder);
}

}  // namespace

void add_man(CLI::App& program, const Globals&) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("man", "Write the manual pages into a folder");
  command->add_option("folder", *folder, "Where to")->required()->type_name("FOLDER");
  command->footer("Example:\n  stap man man1");
  command->callback([folder, &program] {
    make_folder(*folder);
    write_pages(program, *folder);
  });
}

}  // namespace stap::app
