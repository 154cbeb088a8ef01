#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.h"
#include "stap/core/error.h"
#include "stap/nn/compute.h"

namespace stap::app {
namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 6 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// Makes GPU `number` of those that can be seen the only one.
void see_only(const std::string& number) {
  const char* seen = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string name = number;
  if (seen != nullptr && *seen != '\0') {
    const std::vector<std::string> all = split_at_commas(seen);
    const auto index = static_cast<std::size_t>(std::stoul(number));
    if (index >= all.size())
      throw Error(ErrorKind::unavailable,
                  fmt::format("--device cuda:{}, but CUDA_VISIBLE_DEVICES has {} GPUs: {}", number,
                              all.size(), seen));
    name = all[index];
  }
  setenv("CUDA_VISIBLE_DEVICES", name.c_str(), 1);
}

}  // namespace

void choose_devices(const std::string& text, Globals& globals) {
  constexpr std::string_view kNumbered = "cuda:";
  std::vector<std::string> all;
  std::string kind;
  for (const std::string& part : split_at_commas(text)) {
    const bool numbered = part.starts_with(kNumbered);
    const std::string number = numbered ? part.substr(kNumbered.size()) : part;
    if (numbered || (kind == "cuda" && is_number(part)))
      all.push_back(std::string(kNumbered) + number);
    else
      all.push_back(part);
    const std::string own = all.back().substr(0, all.back().find(':'));
    const bool known = own == "cpu" || own == "cuda" || own == "auto";
    const bool alone = own == "auto" || all.back() == "cuda";
    if (!known || (own != all.back() && !is_number(number)) || (!kind.empty() && own != kind) ||
        (alone && text != part) || (own == "cuda" && std::ranges::count(all, all.back()) > 1))
      throw Error(ErrorKind::config,
                  fmt::format("--device '{}', expected cpu, cuda, auto, cuda:1, or several of one "
                              "kind such as cuda:0,1",
                              text));
    kind = own;
  }
  globals.device = kind;
  globals.devices.clear();
  if (all.size() > 1)
    globals.devices = std::move(all);
  else if (all.front() != kind)
    see_only(all.front().substr(kNumbered.size()));
}

void apply_compute(const Globals& globals, config::Value& document) {
  if (!globals.devices.empty())
    throw Error(ErrorKind::config,
                fmt::format("--device {}: only 'stap sweep' spreads its runs over several",
                            fmt::join(globals.devices, ",")));
  if (!globals.device.empty()) config::apply_override(document, "compute.device=" + globals.device);
  if (!globals.precision.empty())
    config::apply_override(document, "compute.precision=" + globals.precision);
}

ComputeOptions compute_options(const Globals& globals) {
  config::Value document;
  apply_compute(globals, document);
  const config::Value* section = document.find("compute");
  return section != nullptr ? config::read(compute_fields(), *section, "compute")
                            : ComputeOptions{};
}

}  // namespace stap::app
