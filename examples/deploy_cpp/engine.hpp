#pragma once

// Runs an engine that `zerogames export --format tensorrt` (or tensorrt-rtx) wrote.

#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace deploy {

constexpr const char* kInput = "/input/planes";
constexpr const char* kPolicy = "/output/policy";
constexpr const char* kWdl = "/output/wdl";

/// What a net says about positions, in the side to move's view.
struct Answers {
  std::vector<float> policy;  ///< [batch, actions] logits, illegal actions too
  std::vector<float> wdl;     ///< [batch, 3] probabilities of win, draw, loss
};

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

inline void require(bool condition, const std::string& otherwise) {
  if (!condition) throw std::runtime_error(otherwise);
}

/// Memory on the device and its pinned mirror on the host.
class Buffer {
 public:
  explicit Buffer(std::size_t floats) : bytes_(floats * sizeof(float)) {
    check(cudaMalloc(&device_, bytes_));
    check(cudaMallocHost(&host_, bytes_));
  }
  ~Buffer() {
    cudaFree(device_);
    cudaFreeHost(host_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* device() const { return device_; }
  float* host() const { return static_cast<float*>(host_); }
  void upload(std::size_t floats, cudaStream_t stream) const {
    check(cudaMemcpyAsync(device_, host_, floats * sizeof(float), cudaMemcpyHostToDevice, stream));
  }
  void download(std::size_t floats, cudaStream_t stream) const {
    check(cudaMemcpyAsync(host_, device_, floats * sizeof(float), cudaMemcpyDeviceToHost, stream));
  }

 private:
  std::size_t bytes_;
  void* device_ = nullptr;
  void* host_ = nullptr;
};

class Engine {
 public:
  /// `plugin` is libzerogames_tensorrt.so for an engine built with --plugin-op, else empty.
  Engine(const std::string& path, const std::string& plugin) {
    std::ifstream file(path, std::ios::binary);
    require(file.good(), "there is no engine " + path);
    const std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
    runtime_.reset(nvinfer1::createInferRuntime(logger_));
    require(runtime_ != nullptr, "TensorRT does not start: is there a GPU?");
    if (!plugin.empty()) {
      require(runtime_->getPluginRegistry().loadLibrary(plugin.c_str()) != nullptr,
              plugin + " is not a plugin library");
    }
    engine_.reset(runtime_->deserializeCudaEngine(data.data(), data.size()));
    require(engine_ != nullptr, path + " is not an engine for this GPU and TensorRT");
    context_.reset(engine_->createExecutionContext());
    require(context_ != nullptr, "no memory for an execution context");

    using nvinfer1::OptProfileSelector;
    smallest_ = engine_->getProfileShape(kInput, 0, OptProfileSelector::kMIN).d[0];
    largest_ = engine_->getProfileShape(kInput, 0, OptProfileSelector::kMAX).d[0];
    input_ = engine_->getTensorShape(kInput);
    for (std::int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const std::string name = engine_->getIOTensorName(i);
      require(engine_->getTensorDataType(name.c_str()) == nvinfer1::DataType::kFLOAT,
              name + " is not float32");
      const auto shape = engine_->getTensorShape(name.c_str());
      std::size_t row = 1;
      for (std::int32_t d = 1; d < shape.nbDims; ++d) row *= static_cast<std::size_t>(shape.d[d]);
      tensors_.push_back({name, row, std::make_unique<Buffer>(row * largest())});
      require(context_->setTensorAddress(name.c_str(), tensors_.back().buffer->device()), name);
    }
    check(cudaStreamCreate(&stream_));
  }
  ~Engine() { cudaStreamDestroy(stream_); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::size_t largest() const { return static_cast<std::size_t>(largest_); }
  std::size_t num_actions() const { return find(kPolicy).row; }

  /// Evaluates planes [batch, P, H, W]; the batch may be at most `largest()`.
  Answers evaluate(std::span<const float> planes) {
    const Tensor& input = find(kInput);
    const std::size_t batch = planes.size() / input.row;
    require(batch * input.row == planes.size() && batch <= largest(), "planes of a wrong size");
    // Rows that fill up the smallest batch are computed and thrown away.
    const std::size_t padded = std::max(batch, static_cast<std::size_t>(smallest_));
    std::memset(input.buffer->host(), 0, padded * input.row * sizeof(float));
    std::memcpy(input.buffer->host(), planes.data(), planes.size_bytes());
    input.buffer->upload(padded * input.row, stream_);
    nvinfer1::Dims shape = input_;
    shape.d[0] = static_cast<std::int64_t>(padded);
    require(context_->setInputShape(kInput, shape) && context_->enqueueV3(stream_),
            "TensorRT could not run the engine");
    for (const char* name : {kPolicy, kWdl}) {
      const Tensor& output = find(name);
      output.buffer->download(batch * output.row, stream_);
    }
    check(cudaStreamSynchronize(stream_));
    return {rows(kPolicy, batch), rows(kWdl, batch)};
  }

 private:
  struct Tensor {
    std::string name;
    std::size_t row;  ///< numbers per position
    std::unique_ptr<Buffer> buffer;
  };

  class Logger : public nvinfer1::ILogger {
    void log(Severity severity, const char* message) noexcept override {
      if (severity <= Severity::kWARNING) std::cerr << message << '\n';
    }
  };

  const Tensor& find(const std::string& name) const {
    for (const Tensor& tensor : tensors_) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("the engine has no tensor " + name);
  }

  std::vector<float> rows(const char* name, std::size_t batch) const {
    const Tensor& tensor = find(name);
    return {tensor.buffer->host(), tensor.buffer->host() + batch * tensor.row};
  }

  // Destroyed in reverse order, as TensorRT wants it.
  Logger logger_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  std::vector<Tensor> tensors_;
  nvinfer1::Dims input_{};
  std::int64_t smallest_ = 1;
  std::int64_t largest_ = 1;
  cudaStream_t stream_ = nullptr;
};

}  // namespace deploy
