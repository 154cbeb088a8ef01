// Small networks of every family of the table, and of one for tests: what they must all keep is
// tested on each.
#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "support/engine_under_test.h"
#include "support/networks.h"
#include "support/toy_family.h"

namespace stap::test {

struct NetworkCase {
  std::string name;
  NetworkSpec network;

  friend void PrintTo(const NetworkCase& c, std::ostream* out) { *out << c.name; }
};

/// For every family a network on a line of so many points, and one on a plane: those that are
/// computed where tests are.
inline std::vector<NetworkCase> networks_of_families(std::size_t line, std::size_t channels,
                                                     std::vector<std::size_t> plane,
                                                     bool time_input = false) {
  // A new family says here what is small and odd, on one axis and on two.
  static const std::map<std::string, std::pair<const char*, const char*>> small{
      {"fno",
       {"{name: fno, modes: [6], width: 5, lifting: 7, projection: 8}",
        "{name: fno, modes: [4, 6], width: 5, lifting: 7, projection: 8}"}},
      {"dilated",
       {"{name: dilated, width: 5, blocks: 2, dilations: [1, 2]}",
        "{name: dilated, width: 5, blocks: 2, dilations: [2, 1]}"}},
      {"toy", {"{name: toy}", "{name: toy, width: 5}"}}};
  add_toy_family();
  std::vector<NetworkCase> cases;
  for (const FamilyRow& row : family_table()) {
    if (testing_cuda() && !row.cuda) continue;
    const auto& [on_line, on_plane] = small.at(row.name);
    const auto add = [&](const char* shape, Grid grid, const char* options,
                         const NetworkOptions::PaddingOptions& padding = {}) {
      cases.push_back(
          {row.name + "_" + shape,
           make_network(std::move(grid),
                        {.time_input = time_input,
                         .padding = padding,
                         .family = family_table().choose(config::parse_yaml(options, "small"))},
                        {}, kHorizon)});
    };
    add("line", make_grid(channels, {line}, {1.0}), on_line);
    add("plane", make_grid(1, plane, {1.0, 1.0}), on_plane);
    const Grid walled = with_walls(make_grid(1, plane, {1.0, 1.0}), {"centres", "points"});
    add("walls", walled, on_plane);
    if (row.pads && !testing_cuda())
      add("own_padding", walled, on_plane, {{}, {"conv-zero", "conv-mirror"}});
  }
  return cases;
}

}  // namespace stap::test
