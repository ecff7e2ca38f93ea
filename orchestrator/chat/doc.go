// Package chat is the vision-language chat API: messages of text and images in, an answer out, in one piece or as a
// stream. Two documented interfaces share its models, each in a package:
//
//	chat/openai    POST /v1/chat/completions, /v1/completions, /v1/responses
//	chat/stack     POST /inference/chat_completion and its other paths
//
// This package has the use case and the shared endpoints
//
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// DIVERGENCES.md lists where the API knowingly differs from the published one.
//
// An interface turns a request into a [Conversation]. The [Service] finds the [Model], renders the prompt with its chat
// template (package prompt), counts its tokens (length.go), loads the images (package vision) and runs the model's
// engine (package engine). The interface encodes the [Answer].
//
// A model's entry in the model repository has retort_api = "chat" among the parameters of its config.pbtxt. Other
// parameters, all strings:
//
//	model_id             public id; default: the folder's name
//	owned_by, created    for /v1/models; created is Unix time in seconds
//	max_model_len        maximum tokens of prompt and answer together; default 4096
//	max_images           maximum images in one conversation; default 1
//	image_tokens         tokens of max_model_len that one image takes; default 0
//	completions          "false" for an engine that accepts conversations only, no text completions
//	tools                tools that the model need not call: "false" refuses them, "true" accepts and ignores them;
//	                     "hermes", "llama3_json" or "mistral" renders them and finds calls in this format (package tools)
//	structured_output    the setting of vLLM's backend for guides: "structured_outputs" or, for older backends,
//	                     "guided_decoding"; "none" if it has no guides
//	default_max_tokens   maximum tokens of an answer if the request sets none; default: all that fit
//	default_sampling     JSON object: temperature, top_p, top_k, min_p and repetition_penalty of requests that set none
//	completion_overflow  "refuse" (400) or "clamp" a max_tokens that does not fit; applies only with a tokenizer
//	chat_template        file; default chat_template.jinja; "server" if the engine applies the template
//	content_format       content that the template expects: "text", "parts", "mixed" (prompt.Options); default "auto"
//	image_placeholder    stands for an image in content of format text; {n} is its number; default "<image>"
//	image_first          "true": images of a message come before its text; "false": in their order
//	image_token          the template's marker of an image; the prompt must have one for each image
//	image_size           "504x504": size of images sent as pixels; default: the size of the largest
//	bos_token, eos_token for the template; default: from tokenizer_config.json beside it
//	strip_bos            "true" removes bos_token from the prompt, for engines that add it (vLLM)
//	special_tokens       JSON list of further strings to escape in messages
//	tokenizer            file; counts the tokens of prompts for limits, and of answers if the engine does not. Without
//	                     it, tokenizer.json beside the configuration serves /tokenize and /detokenize only
//	sampling_parameters  names of the settings that the model supports; default: all of its contract
//	cumulative_text      "true": each response of a TensorRT-LLM model has the whole text so far
//
// Special tokens of tokenizer.json and tokenizer_config.json beside the configuration are escaped in messages too.
//
// Retort's models refuse a request with an error that begins with "InvalidRequest: ". The client receives it with
// status 400. For a prompt that is too long, models may use vLLM's wording (engine/refusal.go).
//
// Terms:
//
//	choice    one of the n answers to a request
//	chunk     new text of one choice, on its way to the client
//	clamp     reduce max_tokens to what fits instead of refusing the request
//	guide     a constraint on an answer: a JSON schema, a regular expression, a grammar or a list of texts
//	part      a text or an image within a message
package chat
