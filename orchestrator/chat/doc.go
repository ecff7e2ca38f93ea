// Package chat is the vision-language chat API: messages of text and images in, an answer out, whole or as it is
// written. Two documented interfaces speak to the same models, each in a package:
//
//	chat/openai    POST /v1/chat/completions, /v1/completions, /v1/responses
//	chat/stack     POST /inference/chat_completion and its other paths
//
// This package has what they share: the use case, and the endpoints
//
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// Where the API knowingly differs from the published one: DIVERGENCES.md.
//
// A request: an interface makes a [Conversation] of it. The [Service] finds the [Model], renders the prompt through its
// chat template (package prompt), counts it (length.go), loads the images (package vision), and has the model's engine
// write (package engine). The interface words what it writes.
//
// What a model's entry in the model repository says, as parameters (strings) of its config.pbtxt beside retort_api =
// "chat":
//
//	model_id             public id; the folder's name by default
//	owned_by, created    for /v1/models; created is Unix time in seconds
//	max_model_len        tokens of prompt and answer together, 4096
//	max_images           images in one conversation, 1
//	image_tokens         tokens that one image takes of max_model_len, 0
//	completions          "false" for an engine that goes on with no text but that of a conversation
//	tools                "true" for a model that may be offered tools, which it need not call
//	structured_output    how vLLM's backend is told of the form of an answer: "structured_outputs" or, for older ones,
//	                     "guided_decoding"; "none" where it cannot be
//	default_max_tokens   most tokens of an answer when none is asked for; all that fit
//	completion_overflow  "refuse" (400) or "clamp" an answer too long to fit; only known with a tokenizer
//	chat_template        file, chat_template.jinja; "server" where the engine applies the template
//	content_format       what the template takes: "text", "parts", "mixed"; "auto" finds out
//	image_placeholder    stands for an image in content of format text, "<image>"; {n} is its number
//	image_first          "true": images of a message come before its text; "false": as they are
//	image_token          the template's mark of an image: its count in the prompt is checked
//	image_size           "504x504": size of images sent as pixels; that of the largest by default
//	bos_token, eos_token for the template; by default from tokenizer_config.json beside it
//	strip_bos            "true" takes bos_token off the prompt, for engines that add it (vLLM)
//	special_tokens       JSON list of more strings that messages must not bring into the prompt
//	tokenizer            file, for usage and limits where the engine does not count
//	sampling_parameters  names of the settings the model knows; all of the contract's by default
//	cumulative_text      "true": each response of a TensorRT-LLM model holds the whole text so far
//
// Special tokens that tokenizer.json and tokenizer_config.json beside the configuration name are kept out of the prompt
// too.
//
// Retort's models answer what is wrong with a request with an error that begins with "InvalidRequest: ", which is shown
// to the client with status 400; for a prompt that is too long they may use vLLM's words (engine/refusal.go).
package chat
