#pragma once

#include <string_view>

#include "stap/results/text_style.h"

namespace stap::app {

/// Call first: occupies standard streams that are closed, or the next file that is opened would
/// take their place and messages would be written into it. What is written there still fails.
void occupy_standard_streams();

/// From now on all that std::cout is given comes out printable (stap/core/shown_text.h): names and
/// texts of files must not steer a terminal. JSON stays what it is.
void show_printable();

/// The way to stderr, printable as well: what cannot be written (disk full, closed, its reader
/// gone) is lost, and the program goes on.
void write_stderr(std::string_view text) noexcept;
/// The same as it is, for what is meant for the terminal: colours, bars.
void write_to_terminal(std::string_view text) noexcept;

/// Text for people on stdout: the window's width, and colour unless NO_COLOR is set, on a terminal
/// that has both; else the default, so that a pipe gets the same bytes everywhere.
TextStyle stdout_style();

}  // namespace stap::app
