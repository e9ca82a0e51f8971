#pragma once

// NOT TensorRT's header: hand-written declarations of the few interfaces that the plugin implements
// and the deployment example uses, with the signatures that TensorRT 10 and 11 document. TensorRT's
// own headers are in no package that continuous integration can install. Compiling against this
// file shows that the adapter is well-formed C++ and overrides what it means to; running it through
// driver.cpp shows that its methods do what TensorRT asks of them. It shows nothing about binary
// compatibility: nothing built with it may be loaded into TensorRT.

#include <cstddef>
#include <cstdint>

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace nvinfer1 {

using AsciiChar = char;

enum class DataType : int32_t { kFLOAT = 0, kHALF = 1, kINT8 = 2, kINT32 = 3, kBF16 = 7 };
enum class TensorFormat : int32_t { kLINEAR = 0, kCHW2 = 1, kHWC8 = 2 };
enum class TensorRTPhase : int32_t { kBUILD = 0, kRUNTIME = 1 };
enum class PluginCapabilityType : int32_t { kCORE = 0, kBUILD = 1, kRUNTIME = 2 };
enum class PluginFieldType : int32_t {
  kFLOAT16 = 0,
  kFLOAT32 = 1,
  kINT32 = 5,
  kCHAR = 6,
  kUNKNOWN = 8,
  kINT64 = 10,
};

struct Dims {
  static constexpr int32_t MAX_DIMS = 8;
  int32_t nbDims;
  int64_t d[MAX_DIMS];
};

struct PluginTensorDesc {
  Dims dims;
  DataType type;
  TensorFormat format;
  float scale;
};

struct DynamicPluginTensorDesc {
  PluginTensorDesc desc;
  Dims min, max, opt;
};

class PluginField {
 public:
  const AsciiChar* name;
  const void* data;
  PluginFieldType type;
  int32_t length;

  PluginField(const AsciiChar* name_ = nullptr, const void* data_ = nullptr,
              PluginFieldType type_ = PluginFieldType::kUNKNOWN, int32_t length_ = 0) noexcept
      : name(name_), data(data_), type(type_), length(length_) {}
};

struct PluginFieldCollection {
  int32_t nbFields;
  const PluginField* fields;
};

class IDimensionExpr;
class IExprBuilder {};
class IPluginResourceContext;

struct DimsExprs {
  int32_t nbDims;
  const IDimensionExpr* d[Dims::MAX_DIMS];
};

class ILogger {
 public:
  enum class Severity : int32_t { kINTERNAL_ERROR = 0, kERROR = 1, kWARNING = 2, kINFO = 3 };
  virtual void log(Severity severity, const AsciiChar* message) noexcept = 0;
  virtual ~ILogger() = default;
};

class ILoggerFinder {
 public:
  virtual ILogger* findLogger() = 0;

 protected:
  virtual ~ILoggerFinder() = default;
};

class IVersionedInterface {
 public:
  virtual ~IVersionedInterface() noexcept = default;
};

class IPluginCapability : public IVersionedInterface {};
class IPluginCreatorInterface : public IVersionedInterface {};

class IPluginV3 : public IVersionedInterface {
 public:
  virtual IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept = 0;
  virtual IPluginV3* clone() noexcept = 0;
};

class IPluginV3OneCore : public IPluginCapability {
 public:
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

class IPluginV3OneBuild : public IPluginCapability {
 public:
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* out,
                                  int32_t nbOutputs) noexcept = 0;
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t pos, const DynamicPluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual std::size_t getWorkspaceSize(const DynamicPluginTensorDesc*, int32_t,
                                       const DynamicPluginTensorDesc*, int32_t) const noexcept {
    return 0;
  }
  virtual const char* getTimingCacheID() noexcept { return nullptr; }
  virtual const char* getMetadataString() noexcept { return nullptr; }
};

class IPluginV3OneRuntime : public IPluginCapability {
 public:
  virtual int32_t setTactic(int32_t) noexcept { return 0; }
  virtual int32_t onShapeChange(const PluginTensorDesc* in, int32_t nbInputs,
                                const PluginTensorDesc* out, int32_t nbOutputs) noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  virtual IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fc,
                                  TensorRTPhase phase) noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

enum class OptProfileSelector : int32_t { kMIN = 0, kOPT = 1, kMAX = 2 };

class IPluginRegistry {
 public:
  virtual void* loadLibrary(const AsciiChar* pluginPath) noexcept = 0;
};

// What follows is for compiling only: TensorRT's library holds it.

class IExecutionContext {
 public:
  bool setInputShape(const char* tensorName, const Dims& dims) noexcept;
  bool setTensorAddress(const char* tensorName, void* data) noexcept;
  bool enqueueV3(cudaStream_t stream) noexcept;
};

class ICudaEngine {
 public:
  IExecutionContext* createExecutionContext() noexcept;
  Dims getTensorShape(const char* tensorName) const noexcept;
  DataType getTensorDataType(const char* tensorName) const noexcept;
  Dims getProfileShape(const char* tensorName, int32_t profileIndex,
                       OptProfileSelector select) const noexcept;
  int32_t getNbIOTensors() const noexcept;
  const char* getIOTensorName(int32_t index) const noexcept;
};

class IRuntime {
 public:
  ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept;
  IPluginRegistry& getPluginRegistry() noexcept;
};

IRuntime* createInferRuntime(ILogger& logger) noexcept;

}  // namespace nvinfer1
