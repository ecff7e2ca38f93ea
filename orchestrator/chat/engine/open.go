package engine

import (
	"fmt"
	"slices"
	"strings"

	"retort/orchestrator/triton"
)

// Open returns the engine that a model's entry describes. It reads the parameters sampling_parameters,
// structured_output, cumulative_text and image_size. Problems are collected by r.
func Open(client *triton.Client, r *triton.EntryReader) Engine {
	m := model{client: client, config: r.Config, supported: readSettings(r)}
	guide := r.OneOf("structured_output", guideSetting, oldGuideSetting, "none")
	cumulative := r.OneOf("cumulative_text", "false", "true") == "true"
	width, height := readImageSize(r)
	switch {
	case m.has(vllmSampling):
		if m.supported == nil {
			m.supported = m.vllmSettings()
		}
		if guide == "none" {
			m.supported = slices.DeleteFunc(m.supported, func(name string) bool { return name == guideSetting })
		}
		return &vllm{model: m, guide: guide}
	case m.has(llmapi.maxTokens):
		return newTensorRT(m, llmapi, width, height, cumulative)
	case m.has(ensemble.maxTokens) && m.has(inputText):
		return newTensorRT(m, ensemble, width, height, cumulative)
	}
	r.Check(fmt.Errorf("the inputs of model %s fit none of the contracts: vLLM's has %s, TensorRT-LLM's %s or %s",
		r.Name, vllmSampling, ensemble.maxTokens, llmapi.maxTokens))
	return nil
}

// readSettings reads the parameter sampling_parameters: names separated by commas or spaces. It returns nil, which
// means all settings of the contract, if there are none.
func readSettings(r *triton.EntryReader) []string {
	isSeparator := func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }
	names := strings.FieldsFunc(r.Text("sampling_parameters", ""), isSeparator)
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(settingNames, name) {
			r.Check(fmt.Errorf("parameter sampling_parameters names %q, which is none of %s",
				name, strings.Join(settingNames, ", ")))
		}
	}
	return names
}

// readImageSize reads the parameter image_size, such as "504x504": the size in pixels to which images are scaled.
// Without it, the size is 0.
func readImageSize(r *triton.EntryReader) (width, height int) {
	const maxSide = 8192
	text := r.Text("image_size", "")
	if text == "" {
		return 0, 0
	}
	n, err := fmt.Sscanf(text, "%dx%d", &width, &height)
	if n != 2 || err != nil || min(width, height) < 1 || max(width, height) > maxSide {
		r.Check(fmt.Errorf("parameter image_size must be a size like 504x504, at most %d on a side, not %q", maxSide, text))
		return 0, 0
	}
	return width, height
}
