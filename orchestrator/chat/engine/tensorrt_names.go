package engine

// tensorrtNames are the names of the inputs of one contract. "" is an input that the contract does not have.
type tensorrtNames struct {
	maxTokens string
	stream    string
	stop      string
	exclude   string            // the prompt is left out of the answer
	pixels    string            // images as pixels
	url       string            // images as data: URLs
	guideType string            // kind of the form that answers are held to
	guide     string            // its text
	settings  map[string]string // of Sampling, by the names of its settings
	wants     []string          // flags that ask for outputs, sent where they are declared
}

var ensemble = tensorrtNames{
	maxTokens: "max_tokens", stream: "stream", stop: "stop_words", exclude: "exclude_input_in_output",
	pixels: "image_bytes_input", url: "image_url_input",
	guideType: "guided_decoding_guide_type", guide: "guided_decoding_guide",
	settings: map[string]string{
		"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "seed": "seed", "min_tokens": "min_tokens",
		"repetition_penalty": "repetition_penalty", "presence_penalty": "presence_penalty", "frequency_penalty": "frequency_penalty",
	},
}

var llmapi = tensorrtNames{
	maxTokens: "sampling_param_max_tokens", stream: "streaming", stop: "sampling_param_stop",
	exclude: "sampling_param_exclude_input_from_output", url: "image_url",
	settings: map[string]string{
		"temperature": "sampling_param_temperature", "top_p": "sampling_param_top_p", "top_k": "sampling_param_top_k",
		"seed": "sampling_param_seed", "min_tokens": "sampling_param_min_tokens", "ignore_eos": "sampling_param_ignore_eos",
		"repetition_penalty": "sampling_param_repetition_penalty", "presence_penalty": "sampling_param_presence_penalty",
		"frequency_penalty": "sampling_param_frequency_penalty",
	},
	wants: []string{"return_finish_reason"},
}

const (
	tensorrtText      = "text_input"
	tensorrtOutText   = "text_output"
	tensorrtOutFinish = "finish_reason"
)
