package modelimport

import (
	"fmt"
	"strings"
)

// Devices of an entry. On a CPU the entry names none: Triton picks one.
const (
	deviceGPU      = "gpu"      // CUDA
	deviceTensorRT = "tensorrt" // TensorRT, and CUDA for what it does not support
)

// checkDevice refuses options that a device cannot follow.
func (o Options) checkDevice() error {
	if o.Device != "" && o.Precision == precisionInt8 {
		return fmt.Errorf("precision int8 is for CPUs: ONNX Runtime computes most of its operators on the CPU also if "+
			"the entry is for a GPU; --device %s needs fp16 or fp32", o.Device)
	}
	return nil
}

// deviceConfig returns the part of config.pbtxt about the device. The keys of accelerators are those of Triton's
// onnxruntime backend (https://github.com/triton-inference-server/onnxruntime_backend#readme) and of ONNX Runtime
// (https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html). No preferred batch size: Triton
// documents it for TensorRT engines with fixed profiles only.
func deviceConfig(device, precision string) string {
	if device == "" {
		return configBatching
	}
	accelerator := "cuda"
	var parameters [][2]string
	switch {
	case device == deviceTensorRT:
		accelerator = "tensorrt"
		mode := "FP16"
		if precision == precisionFP32 {
			mode = "FP32"
		}
		// Engines are built for each new shape, and are the same for equal graphs, shapes and GPUs.
		parameters = [][2]string{
			{"precision_mode", mode}, {"trt_layer_norm_fp32_fallback", "1"},
			{"trt_engine_cache_enable", "1"}, {"trt_engine_cache_path", "/tmp"},
			{"trt_timing_cache_enable", "1"}, {"trt_timing_cache_path", "/tmp"},
		}
	case precision == precisionFP32:
		parameters = [][2]string{{"use_tf32", "0"}}
	default: // TensorFloat-32 has the 10 bits of fp16's mantissa, as the weights have.
		parameters = [][2]string{{"use_tf32", "1"}}
	}
	var b strings.Builder
	b.WriteString("\ndynamic_batching { max_queue_delay_microseconds: 500 }\n\n")
	b.WriteString("# One copy of the weights on each GPU.\ninstance_group [ { kind: KIND_GPU  count: 1 } ]\n\n")
	fmt.Fprintf(&b, "optimization { execution_accelerators { gpu_execution_accelerator [ {\n  name: %q\n", accelerator)
	for _, p := range parameters {
		fmt.Fprintf(&b, "  parameters { key: %q value: %q }\n", p[0], p[1])
	}
	b.WriteString("} ] } }\n\n")
	return b.String()
}

// deviceNotes are what an operator should know about an entry for a GPU.
func deviceNotes(device string) []string {
	if device == "" {
		return nil
	}
	notes := []string{"it needs a Triton with a GPU, and was not run on one: set the gateway's --batch-tokens to some " +
		"thousands, so that its calls fill the GPU"}
	if device == deviceTensorRT {
		notes = append(notes, "TensorRT builds an engine for each new shape while requests wait, and stores it in /tmp")
	}
	return notes
}
