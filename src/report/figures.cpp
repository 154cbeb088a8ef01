#include "stap/report/figures.h"
#include "stap/report/field.h"

namespace stap {
std::vector<ProblemMethods> methods_of(const std::vector<RunResult>&) {
  return {};
}
Chart errors_chart(const ProblemMethods&, Metric, ErrorsOf) {
  return {};
}
Chart quantiles_chart(const ProblemMethods&, ErrorsOf) {
  return {};
}
Chart by_step_chart(const ProblemMethods&, ErrorsOf) {
  return {};
}
Chart steps_chart(const ProblemMethods&) {
  return {};
}
PictureChart steps_raster(const RunResult&) {
  return {};
}
Chart losses_chart(const ProblemMethods&) {
  return {};
}
Chart times_chart(const ProblemMethods&) {
  return {};
}
Chart ledger_chart(const ProblemMethods&) {
  return {};
}
Chart calibration_chart(const ProblemMethods&) {
  return {};
}
Chart activations_chart(const RunResult&) {
  return {};
}
std::vector<MethodCost> read_costs(const std::filesystem::path&, const ProblemMethods&) {
  return {};
}
Chart cost_chart(std::span<const MethodCost>) {
  return {};
}
Field make_field(const RunExtracts&, ExtractKind, const std::vector<std::string>&, std::size_t) {
  return {};
}
std::vector<std::string> channel_names(const RunResult&, std::size_t) {
  return {};
}
std::string svg_text(const Field&, std::size_t, double, const FigureStyle&) {
  return {};
}
std::string svg_text(const Chart&, const FigureStyle&) {
  return {};
}
std::string svg_text(const PictureChart&, const FigureStyle&) {
  return {};
}
}  // namespace stap
