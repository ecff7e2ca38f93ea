package modelimport

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"

	"retort/orchestrator/triton/inferencepb"
)

// acceleratorKeys are the documented keys of the accelerators: those of TensorRT in the README of Triton's onnxruntime
// backend (commit 00fd3e87a091), those of CUDA in the documentation of ONNX Runtime's CUDA execution provider, to which
// the README refers.
var acceleratorKeys = map[string][]string{
	"tensorrt": {
		"precision_mode", "max_workspace_size_bytes", "int8_calibration_table_name",
		"int8_use_native_calibration_table", "trt_max_partition_iterations", "trt_min_subgraph_size", "trt_dla_enable",
		"trt_dla_core", "trt_engine_cache_enable", "trt_engine_cache_path", "trt_engine_cache_prefix",
		"trt_dump_subgraphs", "trt_force_sequential_engine_build", "trt_context_memory_sharing_enable",
		"trt_layer_norm_fp32_fallback", "trt_timing_cache_enable", "trt_timing_cache_path", "trt_force_timing_cache",
		"trt_detailed_build_log", "trt_build_heuristics_enable", "trt_sparsity_enable",
		"trt_builder_optimization_level", "trt_auxiliary_streams", "trt_tactic_sources", "trt_extra_plugin_lib_paths",
		"trt_profile_min_shapes", "trt_profile_max_shapes", "trt_profile_opt_shapes", "trt_cuda_graph_enable",
		"trt_dump_ep_context_model", "trt_ep_context_file_path", "trt_ep_context_embed_mode",
	},
	"cuda": {
		"gpu_mem_limit", "arena_extend_strategy", "cudnn_conv_algo_search", "do_copy_in_default_stream",
		"cudnn_conv_use_max_workspace", "cudnn_conv1d_pad_to_nc1d", "enable_cuda_graph",
		"enable_skip_layer_norm_strict_mode", "use_tf32", "prefer_nhwc", "use_ep_level_unified_stream", "tunable_op_enable", "tunable_op_tuning_enable",
	},
}

func TestDeviceConfig(t *testing.T) {
	for name, c := range map[string]struct {
		device, precision string
		accelerator       string
		want              map[string]string
	}{
		"gpu":            {deviceGPU, "", "cuda", map[string]string{"use_tf32": "1"}},
		"gpu, fp32":      {deviceGPU, precisionFP32, "cuda", map[string]string{"use_tf32": "0"}},
		"tensorrt":       {deviceTensorRT, precisionFP16, "tensorrt", map[string]string{"precision_mode": "FP16"}},
		"tensorrt, fp32": {deviceTensorRT, precisionFP32, "tensorrt", map[string]string{"precision_mode": "FP32"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Device: c.device, Precision: c.precision}
			result, err := importTiny(t, newTiny(apiEmbedding).write(t), o)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(result.Dir, "config.pbtxt"))
			if err != nil {
				t.Fatal(err)
			}
			config := &inferencepb.ModelConfig{}
			if err := prototext.Unmarshal(text, config); err != nil {
				t.Fatal(err)
			}
			groups := config.GetInstanceGroup()
			if len(groups) != 1 || groups[0].Kind != inferencepb.ModelInstanceGroup_KIND_GPU || groups[0].Count != 1 {
				t.Errorf("instance groups are %v", groups)
			}
			accelerators := config.GetOptimization().GetExecutionAccelerators().GetGpuExecutionAccelerator()
			if len(accelerators) != 1 || accelerators[0].Name != c.accelerator {
				t.Fatalf("accelerators are %v", accelerators)
			}
			for key := range accelerators[0].Parameters {
				if !slices.Contains(acceleratorKeys[c.accelerator], key) {
					t.Errorf("%s is no documented key of %s", key, c.accelerator)
				}
			}
			for key, value := range c.want {
				if got := accelerators[0].Parameters[key]; got != value {
					t.Errorf("%s is %q, want %q", key, got, value)
				}
			}
			if !strings.Contains(strings.Join(result.Notes, "\n"), "Triton with a GPU") {
				t.Errorf("notes are %q", result.Notes)
			}
			_, err = Quantize(QuantizeOptions{
				Source: filepath.Base(result.Dir), ID: "tests/int8", Repository: filepath.Dir(result.Dir),
			})
			if err == nil || !strings.Contains(err.Error(), "KIND_GPU") {
				t.Errorf("quantize: error %v, want one about KIND_GPU", err)
			}
		})
	}
}

func TestInt8IsRefusedOnGPU(t *testing.T) {
	o := Options{Device: deviceGPU, Precision: precisionInt8, Repository: t.TempDir()}
	_, err := importTiny(t, newTiny(apiEmbedding).write(t), o)
	if err == nil || !strings.Contains(err.Error(), "precision int8 is for CPUs") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(o.Repository); len(left) > 0 {
		t.Errorf("the repository has %v", left)
	}
}
