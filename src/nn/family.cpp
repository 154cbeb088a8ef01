#include "stap/nn/family.h"

#include <utility>

#include "nn/families.h"

namespace stap {
namespace {

FamilyRow with_section(FamilyRow row) {
  if (row.fields != nullptr)
    row.section = std::make_shared<config::JoinedFields>(*row.fields, network_fields());
  return row;
}

config::Registry<FamilyRow>& families() {
  static config::Registry<FamilyRow> rows(
      "network", "what learns the steps, and what it is told", config::Affects::training,
      {with_section(fno_row()), with_section(dilated_row())}, {}, "fno");
  return rows;
}

}  // namespace

const config::Registry<FamilyRow>& family_table() {
  return families();
}

void add_family(FamilyRow row) {
  families().add(with_section(std::move(row)));
}

config::Family network_family() {
  config::Family family = families().family();
  family.shared = &network_fields();
  for (std::size_t i = 0; i < family.entries.size(); ++i)
    family.entries[i].fields = families()[i].section.get();
  return family;
}

NetworkOptions network_options(const config::Section& section) {
  const FamilyRow& row = families()[section.entry];
  NetworkOptions options = row.section->second(section.options).as(network_fields());
  options.family = {&row, row.section->first(section.options)};
  return options;
}

}  // namespace stap
