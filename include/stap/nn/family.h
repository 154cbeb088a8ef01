#pragma once

// The table of network families: what a network computes, apart from what surrounds it
// (stap/nn/network.h). A family is a row here and a body per device.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stap/config/registry.h"
#include "stap/core/isa.h"
#include "stap/nn/network.h"

namespace stap {

namespace cpu {
struct Body;
}
namespace cuda {
struct Body;
}

/// One of a network's tensors, and how its fresh values are drawn.
struct TensorPlan {
  enum class Draw { uniform, normal };

  std::string name;
  std::vector<std::size_t> shape;
  Draw draw = Draw::uniform;
  double size = 0.0;  ///< the largest of uniform values, the deviation of normal ones
};

/// A family. Its options are in the section `network`, beside those of every network
/// (network_fields()): no field may be called like one of them.
struct FamilyRow : config::Entry {
  /// The weights of a network, in a fixed order.
  std::function<std::vector<TensorPlan>(const NetworkSpec&)> tensors{};
  std::function<std::unique_ptr<cpu::Body>(const NetworkSpec&, Isa)> cpu{};
  /// Exact: all in fp32. Empty: a family for the CPU only.
  std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda{};
  /// The options with what follows from the grid. Throws Error(config), naming the key, for what
  /// does not fit it. Empty: all do.
  std::function<config::AnyOptions(const NetworkSpec&)> fitted{};
  bool shifts = false;  ///< its bodies take cpu::Rows::shifts
  bool pads = false;    ///< its bodies take axes with walls as they are: Padding::convolved()
  /// All fields of a section that names the family; made when the row is added.
  std::shared_ptr<const config::JoinedFields> section{};
};

/// fno, which sections that name none mean, dilated, and what was added.
const config::Registry<FamilyRow>& family_table();
/// As config::Registry::add says, and when.
void add_family(FamilyRow row);

/// The section `network`.
config::Family network_family();
/// What such a section says, read.
NetworkOptions network_options(const config::Section& section);

}  // namespace stap
