#pragma once

#include <string_view>

// Files that become part of every page (cmake/StapReport.cmake).
namespace stap {

std::string_view uplot_script();
std::string_view uplot_style();
std::string_view uplot_licence();
std::string_view page_script();
std::string_view page_style();

}  // namespace stap
