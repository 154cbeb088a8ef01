#include <optional>

#include "nn/bodies.h"
#include "nn/cuda/network.h"

namespace stap {
namespace cuda {
namespace {

class FnoBody final : public Body {
 public:
  FnoBody(const NetworkSpec& spec, bool exact) : spec_(spec), exact_(exact) {}

  void check_limits() const override { cuda::check_limits(spec_); }
  Net net() const override { return make_net(spec_); }
  std::size_t fragments_size() const override { return cuda::fragments_size(net().layers); }
  std::size_t hidden_channels() const override {
    return spec_.family.options.as(fno_fields()).projection;
  }
  std::size_t workspace_bytes(int bundles, bool training) const override {
    return FnoWorkspace::bytes(spec_, bundles, training);
  }
  void pack(const Parameters& parameters, std::span<float> packed) const override {
    cuda::pack(spec_, parameters, packed);
  }
  void unpack(std::span<const float> packed, Parameters& parameters) const override {
    cuda::unpack(spec_, packed, parameters);
  }

  void prepare() override { transform_.emplace(spec_, exact_); }
  std::unique_ptr<Workspace> workspace(int bundles, bool training) const override {
    return std::make_unique<FnoWorkspace>(spec_, bundles, training);
  }
  void order_weights(const Launch& launch) const override { cuda::order_weights(launch); }
  void forward(const Launch& launch, Workspace& work, float* hidden) const override {
    cuda::forward(launch, *transform_, static_cast<FnoWorkspace&>(work), hidden);
  }
  void train_step(const Launch& launch, Workspace& work, double* squares,
                  float* gradient) const override {
    cuda::train_step(launch, *transform_, static_cast<FnoWorkspace&>(work), squares, gradient);
  }

 private:
  NetworkSpec spec_;
  bool exact_;
  std::optional<Transform> transform_;
};

}  // namespace
}  // namespace cuda

std::function<std::unique_ptr<cuda::Body>(const NetworkSpec&, bool exact)> cuda_fno() {
  return [](const NetworkSpec& spec, bool exact) {
    return std::make_unique<cuda::FnoBody>(spec, exact);
  };
}

}  // namespace stap
