// The operator zerogames.BoardDepthwise as a TensorRT plugin (IPluginV3, TensorRT 10 and 11): a
// thin adapter over BoardDepthwiseLayer. Load the library through the plugin registry
// (loadLibrary), `trtexec --dynamicPlugins`, or tensorrt.get_plugin_registry().load_library.
//
// TensorRT calls these methods through its virtual interfaces alone: nothing here links to it, and
// no exception leaves.

#include <NvInferRuntime.h>

#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "board_depthwise_layer.hpp"

namespace zerogames::tensorrt {
namespace {

constexpr const char* kName = "BoardDepthwise";
constexpr const char* kVersion = "1";
constexpr const char* kNamespace = "";
constexpr const char* kStored = "layer";  // the field that an engine file keeps
constexpr std::int32_t kSuccess = 0;
constexpr std::int32_t kFailure = 1;

nvinfer1::ILoggerFinder* logger_finder = nullptr;

void report(const std::exception& error) {
  nvinfer1::ILogger* const logger =
      logger_finder == nullptr ? nullptr : logger_finder->findLogger();
  if (logger != nullptr) {
    logger->log(nvinfer1::ILogger::Severity::kERROR, error.what());
  } else {
    std::cerr << error.what() << '\n';
  }
}

/// Runs `work`; reports what it throws and returns `otherwise` then.
template <typename Result, typename Work>
Result guarded(Result otherwise, Work work) noexcept {
  try {
    return work();
  } catch (const std::exception& error) {
    report(error);
    return otherwise;
  }
}

ElementType element_type(nvinfer1::DataType type) {
  if (type == nvinfer1::DataType::kFLOAT) return ElementType::kFloat;
  return type == nvinfer1::DataType::kHALF ? ElementType::kHalf : ElementType::kOther;
}

std::vector<std::int64_t> to_vector(const nvinfer1::Dims& dims) {
  return {dims.d, dims.d + (dims.nbDims < 0 ? 0 : dims.nbDims)};
}

InputShapes input_shapes(const nvinfer1::PluginTensorDesc* inputs) {
  return {to_vector(inputs[0].dims), to_vector(inputs[1].dims), to_vector(inputs[2].dims)};
}

void require_counts(std::int32_t inputs, std::int32_t outputs) {
  if (inputs != BoardDepthwiseLayer::kInputs || outputs != BoardDepthwiseLayer::kOutputs) {
    throw std::invalid_argument("BoardDepthwise: takes x, weight and bias and gives y, not " +
                                std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
                                " outputs");
  }
}

class BoardDepthwisePlugin : public nvinfer1::IPluginV3,
                             public nvinfer1::IPluginV3OneCore,
                             public nvinfer1::IPluginV3OneBuild,
                             public nvinfer1::IPluginV3OneRuntime {
 public:
  explicit BoardDepthwisePlugin(BoardDepthwiseLayer layer)
      : layer_(std::move(layer)),
        stored_(layer_.serialize()),
        description_(layer_.describe()),
        field_(kStored, stored_.data(), nvinfer1::PluginFieldType::kINT32,
               static_cast<std::int32_t>(stored_.size())),
        fields_{1, &field_} {}

  // The field points into this object: copies are made by clone() only.
  BoardDepthwisePlugin(const BoardDepthwisePlugin&) = delete;
  BoardDepthwisePlugin& operator=(const BoardDepthwisePlugin&) = delete;

  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    switch (type) {
      case nvinfer1::PluginCapabilityType::kCORE:
        return static_cast<nvinfer1::IPluginV3OneCore*>(this);
      case nvinfer1::PluginCapabilityType::kBUILD:
        return static_cast<nvinfer1::IPluginV3OneBuild*>(this);
      case nvinfer1::PluginCapabilityType::kRUNTIME:
        return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);
    }
    return nullptr;
  }

  nvinfer1::IPluginV3* clone() noexcept override {
    return guarded<nvinfer1::IPluginV3*>(nullptr,
                                         [this] { return new BoardDepthwisePlugin(layer_); });
  }

  const char* getPluginName() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return kVersion; }
  const char* getPluginNamespace() const noexcept override { return kNamespace; }

  std::int32_t getNbOutputs() const noexcept override { return BoardDepthwiseLayer::kOutputs; }

  std::int32_t getOutputDataTypes(nvinfer1::DataType* output_types, std::int32_t num_outputs,
                                  const nvinfer1::DataType* input_types,
                                  std::int32_t num_inputs) const noexcept override {
    return guarded(kFailure, [&] {
      require_counts(num_inputs, num_outputs);
      output_types[0] = input_types[0];
      return kSuccess;
    });
  }

  std::int32_t getOutputShapes(const nvinfer1::DimsExprs* inputs, std::int32_t num_inputs,
                               const nvinfer1::DimsExprs*, std::int32_t,
                               nvinfer1::DimsExprs* outputs, std::int32_t num_outputs,
                               nvinfer1::IExprBuilder&) noexcept override {
    return guarded(kFailure, [&] {
      require_counts(num_inputs, num_outputs);
      outputs[0] = inputs[0];
      return kSuccess;
    });
  }

  bool supportsFormatCombination(std::int32_t position,
                                 const nvinfer1::DynamicPluginTensorDesc* tensors,
                                 std::int32_t num_inputs,
                                 std::int32_t num_outputs) noexcept override {
    return guarded(false, [&] {
      require_counts(num_inputs, num_outputs);
      std::vector<TensorLayout> layouts;  // those after `position` are not valid
      for (std::int32_t i = 0; i <= position; ++i) {
        const auto& desc = tensors[i].desc;
        layouts.push_back(
            {element_type(desc.type), desc.format == nvinfer1::TensorFormat::kLINEAR});
      }
      return BoardDepthwiseLayer::supports(static_cast<std::size_t>(position), layouts);
    });
  }

  std::int32_t configurePlugin(const nvinfer1::DynamicPluginTensorDesc* inputs,
                               std::int32_t num_inputs, const nvinfer1::DynamicPluginTensorDesc*,
                               std::int32_t num_outputs) noexcept override {
    return guarded(kFailure, [&] {
      require_counts(num_inputs, num_outputs);
      const nvinfer1::PluginTensorDesc known[] = {inputs[0].desc, inputs[1].desc, inputs[2].desc};
      layer_.check(input_shapes(known));
      return kSuccess;
    });
  }

  const char* getTimingCacheID() noexcept override { return description_.c_str(); }
  const char* getMetadataString() noexcept override { return description_.c_str(); }

  std::int32_t onShapeChange(const nvinfer1::PluginTensorDesc* inputs, std::int32_t num_inputs,
                             const nvinfer1::PluginTensorDesc*,
                             std::int32_t num_outputs) noexcept override {
    return guarded(kFailure, [&] {
      require_counts(num_inputs, num_outputs);
      layer_.check(input_shapes(inputs));
      return kSuccess;
    });
  }

  std::int32_t enqueue(const nvinfer1::PluginTensorDesc* input_desc,
                       const nvinfer1::PluginTensorDesc*, const void* const* inputs,
                       void* const* outputs, void*, cudaStream_t stream) noexcept override {
    return guarded(kFailure, [&] {
      return static_cast<std::int32_t>(layer_.enqueue(element_type(input_desc[0].type),
                                                      input_shapes(input_desc), inputs[0],
                                                      inputs[1], inputs[2], outputs[0], stream));
    });
  }

  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext*) noexcept override {
    return clone();
  }

  const nvinfer1::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return &fields_;
  }

 private:
  BoardDepthwiseLayer layer_;
  std::vector<std::int32_t> stored_;
  std::string description_;
  nvinfer1::PluginField field_;
  nvinfer1::PluginFieldCollection fields_;
};

class BoardDepthwiseCreator : public nvinfer1::IPluginCreatorV3One {
 public:
  BoardDepthwiseCreator()
      : fields_{{"offsets", nullptr, nvinfer1::PluginFieldType::kINT32, 0},
                {"groups", nullptr, nvinfer1::PluginFieldType::kINT32, 1},
                {"channels", nullptr, nvinfer1::PluginFieldType::kINT32, 1},
                {"relu", nullptr, nvinfer1::PluginFieldType::kINT32, 1}},
        collection_{static_cast<std::int32_t>(fields_.size()), fields_.data()} {}

  const char* getPluginName() const noexcept override { return kName; }
  const char* getPluginVersion() const noexcept override { return kVersion; }
  const char* getPluginNamespace() const noexcept override { return kNamespace; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &collection_; }

  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase phase) noexcept override {
    return guarded<nvinfer1::IPluginV3*>(nullptr, [&] {
      if (phase == nvinfer1::TensorRTPhase::kRUNTIME) {
        return new BoardDepthwisePlugin(
            BoardDepthwiseLayer::deserialize(integers(*fields, kStored)));
      }
      const auto offsets = integers(*fields, "offsets");
      return new BoardDepthwisePlugin(
          BoardDepthwiseLayer({offsets.begin(), offsets.end()}, integer(*fields, "groups"),
                              integer(*fields, "channels"), integer(*fields, "relu") != 0));
    });
  }

 private:
  static std::span<const std::int32_t> integers(const nvinfer1::PluginFieldCollection& fields,
                                                const std::string& name) {
    for (std::int32_t i = 0; i < fields.nbFields; ++i) {
      const auto& field = fields.fields[i];
      if (field.name == nullptr || name != field.name) continue;
      if (field.type != nvinfer1::PluginFieldType::kINT32 || field.length < 0) {
        throw std::invalid_argument("BoardDepthwise: '" + name + "' must be 32-bit integers");
      }
      return {static_cast<const std::int32_t*>(field.data), static_cast<std::size_t>(field.length)};
    }
    throw std::invalid_argument("BoardDepthwise: '" + name + "' is missing");
  }

  static std::int32_t integer(const nvinfer1::PluginFieldCollection& fields,
                              const std::string& name) {
    const auto values = integers(fields, name);
    if (values.size() != 1) {
      throw std::invalid_argument("BoardDepthwise: '" + name + "' must be one integer");
    }
    return values[0];
  }

  std::vector<nvinfer1::PluginField> fields_;
  nvinfer1::PluginFieldCollection collection_;
};

}  // namespace
}  // namespace zerogames::tensorrt

// What the plugin registry looks for in a library it loads.

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const*
getCreators(std::int32_t& number) {
  static zerogames::tensorrt::BoardDepthwiseCreator creator;
  static nvinfer1::IPluginCreatorInterface* const creators[] = {&creator};
  number = 1;
  return creators;
}

extern "C" __attribute__((visibility("default"))) void setLoggerFinder(
    nvinfer1::ILoggerFinder* finder) {
  zerogames::tensorrt::logger_finder = finder;
}
