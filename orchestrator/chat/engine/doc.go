// Package engine writes answers with the engines behind Triton: a prompt and the settings of sampling in, text out,
// piece by piece.
//
// An engine is a model of Triton that speaks one of three tensor contracts, which [Open] finds by the names of the
// model's inputs:
//
//   - that of Triton's vLLM backend, which Retort's models speak too
//     (vllm.go);
//   - that of TensorRT-LLM's ensemble (tensorrt.go);
//   - that of TensorRT-LLM's llmapi model (tensorrt.go).
//
// What the contracts leave open is the same for all here: stop strings are found across pieces (stopper.go), each of
// several choices is a separate request to the engine (answer.go), and an engine's refusal of a request is told from a
// failure of the engine by its words (refusal.go).
//
// Terms:
//
//	choice    one of n answers to a request
//	piece     text that an engine has written since the previous piece
//	chunk     a piece of one choice without stop strings, ready for the client
//	guide     a constraint on the text of an answer, such as a JSON schema
package engine
