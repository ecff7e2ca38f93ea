// Package engine writes answers with the engines behind Triton: a prompt and the settings of sampling in, text out,
// piece by piece.
//
// An engine is a model of Triton that speaks one of three tensor contracts. [Open] recognizes them by the names of the
// model's inputs:
//
//   - Triton's vLLM backend, and Retort's models (vllm.go);
//   - TensorRT-LLM's ensemble (tensorrt.go);
//   - TensorRT-LLM's llmapi model (tensorrt.go).
//
// [Answer] adds what the contracts leave open: stop strings are found across pieces (stopper.go), each choice is a
// separate request to the engine (answer.go), and the text of an engine's error tells whether the request is at fault
// (refusal.go).
//
// Terms:
//
//	choice    one of n answers to a request
//	piece     text that an engine has written since the previous piece
//	chunk     a piece of one choice without stop strings, ready for the client
//	setting   a member of Sampling, by vLLM's name
//	guide     a constraint on the text of an answer, such as a JSON schema
package engine
