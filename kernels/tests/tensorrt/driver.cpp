// Uses the plugin as TensorRT does: builds it from an ONNX node's attributes, asks for shapes and
// formats, stores it, makes it anew from what was stored, and runs it on a stream. Memory is the
// host's: the kernels are compiled with cpu_shim.hpp. Called from test_tensorrt.py.

#include <NvInferRuntime.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

extern "C" nvinfer1::IPluginCreatorInterface* const* getCreators(std::int32_t& number);
extern "C" void setLoggerFinder(nvinfer1::ILoggerFinder* finder);

namespace {

using namespace nvinfer1;

std::string messages;

class Logger : public ILogger, public ILoggerFinder {
 public:
  void log(Severity, const AsciiChar* message) noexcept override {
    messages += std::string(message) + "\n";
  }
  ILogger* findLogger() override { return this; }
};

Logger logger;

IPluginCreatorV3One* creator() {
  setLoggerFinder(&logger);
  std::int32_t number = 0;
  auto* const* creators = getCreators(number);
  return number == 1 ? dynamic_cast<IPluginCreatorV3One*>(creators[0]) : nullptr;
}

template <typename Capability>
Capability* ask(IPluginV3* plugin, PluginCapabilityType type) {
  return static_cast<Capability*>(plugin->getCapabilityInterface(type));
}

DynamicPluginTensorDesc tensor(std::vector<std::int64_t> shape, DataType type,
                               TensorFormat format = TensorFormat::kLINEAR) {
  DynamicPluginTensorDesc tensor{};
  tensor.desc.dims.nbDims = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.desc.dims.d);
  tensor.desc.type = type;
  tensor.desc.format = format;
  return tensor;
}

std::unique_ptr<IPluginV3> build(const std::int32_t* offsets, int length, int groups, int channels,
                                 int relu) {
  const std::vector<PluginField> fields = {
      {"offsets", offsets, PluginFieldType::kINT32, length},
      {"groups", &groups, PluginFieldType::kINT32, 1},
      {"channels", &channels, PluginFieldType::kINT32, 1},
      {"relu", &relu, PluginFieldType::kINT32, 1},
  };
  const PluginFieldCollection collection{static_cast<std::int32_t>(fields.size()), fields.data()};
  return std::unique_ptr<IPluginV3>(
      creator()->createPlugin("layer", &collection, TensorRTPhase::kBUILD));
}

}  // namespace

/// What was logged since the last call.
extern "C" const char* take_messages() {
  static std::string taken;
  taken = std::exchange(messages, "");
  return taken.c_str();
}

/// Attributes only: 0 if a plugin can be made.
extern "C" int make(const std::int32_t* offsets, int length, int groups, int channels) {
  return build(offsets, length, groups, channels, 0) == nullptr ? 1 : 0;
}

/// A field of a wrong type or a missing one must give no plugin.
extern "C" int make_from_wrong_fields(int wrong_type) {
  const std::int64_t wide[] = {0, 0};
  const std::vector<PluginField> fields = {{"offsets", wide, PluginFieldType::kINT64, 2}};
  const PluginFieldCollection collection{wrong_type, fields.data()};
  return std::unique_ptr<IPluginV3>(
             creator()->createPlugin("layer", &collection, TensorRTPhase::kBUILD)) == nullptr;
}

/// Which of (float, half, int8) x (linear, blocks of channels) the plugin takes at `position` when
/// the tensors before it are linear halves: a bit each.
extern "C" int formats(int position) {
  const std::int32_t offsets[] = {0, 0};
  const auto plugin = build(offsets, 2, 1, 4, 0);
  auto* const ours = ask<IPluginV3OneBuild>(plugin.get(), PluginCapabilityType::kBUILD);
  int taken = 0, bit = 0;
  for (const auto type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8}) {
    for (const auto format : {TensorFormat::kLINEAR, TensorFormat::kHWC8}) {
      std::vector<DynamicPluginTensorDesc> all(4, tensor({1}, DataType::kHALF));
      all[static_cast<std::size_t>(position)] = tensor({1}, type, format);
      taken |= ours->supportsFormatCombination(position, all.data(), 3, 1) << bit++;
    }
  }
  return taken;
}

/// A layer from attributes to results; 0 for success, else the step that failed.
extern "C" int run(const std::int32_t* offsets, int length, int groups, int channels, int taps,
                   int relu, int half, int batch, int height, int width, const void* x,
                   const void* weight, const void* bias, void* y) {
  const auto type = half != 0 ? DataType::kHALF : DataType::kFLOAT;
  auto built = build(offsets, length, groups, channels, relu);
  if (built == nullptr) return 1;

  auto* const core = ask<IPluginV3OneCore>(built.get(), PluginCapabilityType::kCORE);
  auto* const makes = creator();
  if (std::strcmp(core->getPluginName(), makes->getPluginName()) != 0 ||
      std::strcmp(core->getPluginVersion(), makes->getPluginVersion()) != 0 ||
      std::strcmp(core->getPluginNamespace(), makes->getPluginNamespace()) != 0) {
    return 2;
  }

  auto* const ours = ask<IPluginV3OneBuild>(built.get(), PluginCapabilityType::kBUILD);
  const DataType input_types[] = {type, type, type};
  DataType output_type = DataType::kINT32;
  if (ours->getNbOutputs() != 1 || ours->getOutputDataTypes(&output_type, 1, input_types, 3) != 0 ||
      output_type != type) {
    return 3;
  }
  const int marks[4] = {};  // expressions have no public constructor: any four addresses
  DimsExprs expressions[3] = {}, result{};
  expressions[0].nbDims = 4;
  for (int i = 0; i < 4; ++i) {
    expressions[0].d[i] = reinterpret_cast<const IDimensionExpr*>(marks + i);
  }
  IExprBuilder expression_builder;
  if (ours->getOutputShapes(expressions, 3, nullptr, 0, &result, 1, expression_builder) != 0 ||
      result.nbDims != 4 || !std::equal(result.d, result.d + 4, expressions[0].d)) {
    return 4;
  }
  std::vector<DynamicPluginTensorDesc> tensors = {
      tensor({-1, channels, height, width}, type), tensor({channels, taps}, type),
      tensor({channels}, type), tensor({-1, channels, height, width}, type)};
  for (std::int32_t i = 0; i < 4; ++i) {
    if (!ours->supportsFormatCombination(i, tensors.data(), 3, 1)) return 5;
  }
  if (ours->configurePlugin(tensors.data(), 3, tensors.data() + 3, 1) != 0) return 6;
  if (ours->getTimingCacheID() == nullptr) return 7;

  // Into an engine file and out of it: only bytes survive.
  const auto* kept =
      ask<IPluginV3OneRuntime>(built.get(), PluginCapabilityType::kRUNTIME)->getFieldsToSerialize();
  if (kept->nbFields != 1 || kept->fields[0].type != PluginFieldType::kINT32) return 8;
  const std::string name = kept->fields[0].name;
  std::vector<std::int32_t> bytes(static_cast<std::size_t>(kept->fields[0].length));
  std::memcpy(bytes.data(), kept->fields[0].data, bytes.size() * sizeof bytes[0]);
  built.reset();
  const PluginField field(name.c_str(), bytes.data(), PluginFieldType::kINT32,
                          static_cast<std::int32_t>(bytes.size()));
  const PluginFieldCollection stored{1, &field};
  std::unique_ptr<IPluginV3> loaded(makes->createPlugin("layer", &stored, TensorRTPhase::kRUNTIME));
  if (loaded == nullptr) return 9;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const PluginField part(name.c_str(), bytes.data(), PluginFieldType::kINT32,
                           static_cast<std::int32_t>(cut));
    const PluginFieldCollection damaged{1, &part};
    const std::unique_ptr<IPluginV3> none(
        makes->createPlugin("layer", &damaged, TensorRTPhase::kRUNTIME));
    if (none != nullptr) return 10;
  }
  messages.clear();

  auto* const origin = ask<IPluginV3OneRuntime>(loaded.get(), PluginCapabilityType::kRUNTIME);
  const std::unique_ptr<IPluginV3> attached(origin->attachToContext(nullptr));
  loaded.reset();  // the clone stands alone
  if (attached == nullptr) return 11;
  auto* const runtime = ask<IPluginV3OneRuntime>(attached.get(), PluginCapabilityType::kRUNTIME);
  tensors[0].desc.dims.d[0] = tensors[3].desc.dims.d[0] = batch;
  const PluginTensorDesc in[] = {tensors[0].desc, tensors[1].desc, tensors[2].desc};
  if (runtime->onShapeChange(in, 3, &tensors[3].desc, 1) != 0) return 12;
  const void* const inputs[] = {x, weight, bias};
  void* const outputs[] = {y};
  return runtime->enqueue(in, &tensors[3].desc, inputs, outputs, nullptr, nullptr) == 0 ? 0 : 13;
}
