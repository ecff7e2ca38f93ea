package engine

import (
	"fmt"
	"slices"
	"strings"

	"retort/orchestrator/triton"
)

// Open returns the engine that a model's entry describes, by the names of its inputs. It reads the parameters
// sampling_parameters, structured_output, cumulative_text and image_size; what is wrong is left with the reader.
func Open(client *triton.Client, r *triton.EntryReader) Engine {
	m := model{client: client, config: r.Config, known: settingsOf(r)}
	guide := r.OneOf("structured_output", guideSetting, oldGuideSetting, "none")
	growing := r.OneOf("cumulative_text", "false", "true") == "true"
	width, height := imageSize(r)
	switch {
	case m.has(vllmSampling):
		if m.known == nil {
			m.known = m.vllmSettings()
		}
		if guide == "none" {
			m.known = slices.DeleteFunc(m.known, func(name string) bool { return name == guideSetting })
		}
		return &vllm{model: m, guide: guide}
	case m.has(llmapi.maxTokens):
		return newTensorRT(m, llmapi, width, height, growing)
	case m.has(ensemble.maxTokens) && m.has(tensorrtText):
		return newTensorRT(m, ensemble, width, height, growing)
	}
	r.Check(fmt.Errorf("the inputs of model %s fit none of the contracts: vLLM's has %s, TensorRT-LLM's %s or %s",
		r.Name, vllmSampling, ensemble.maxTokens, llmapi.maxTokens))
	return nil
}

// settingsOf reads the parameter sampling_parameters: names with commas or spaces between. nil is all that the contract
// has.
func settingsOf(r *triton.EntryReader) []string {
	names := strings.FieldsFunc(r.Text("sampling_parameters", ""), func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(settingNames, name) {
			r.Check(fmt.Errorf("parameter sampling_parameters names %q, which is none of %s", name, strings.Join(settingNames, ", ")))
		}
	}
	return names
}

// imageSize reads the parameter image_size, "504x504": the size in pixels to which images are scaled. 0 is none.
func imageSize(r *triton.EntryReader) (width, height int) {
	const most = 8192
	text := r.Text("image_size", "")
	if text == "" {
		return 0, 0
	}
	n, err := fmt.Sscanf(text, "%dx%d", &width, &height)
	if n != 2 || err != nil || min(width, height) < 1 || max(width, height) > most {
		r.Check(fmt.Errorf("parameter image_size must be a size like 504x504, at most %d on a side, not %q", most, text))
		return 0, 0
	}
	return width, height
}
