// Package tokenizers turns text into the token ids a model was trained on.
//
// [Load] reads the tokenizer.json of the Hugging Face tokenizers library (https://huggingface.co/docs/tokenizers) and
// builds its pipeline in plain Go: added tokens, normalizer, pre-tokenizer, model (WordPiece, BPE, byte-level or with
// byte fallback, or Unigram), post-processor. Ids equal those of the reference library; the golden files of
// scripts/golden/tokenizers_golden.py check it. Load refuses a component or an option that this package does not
// support, and names it in the error: a tokenizer that is nearly right is wrong.
//
// Two sections of the file are deliberately ignored: "truncation", and "padding" except its token. They record how the
// author last called the library, not what the model needs (the widely used all-MiniLM-L6-v2 truncates and pads to 128
// tokens). [Options] bound the length of an encoding per call; [Batch] pads a batch. A "decoder" that is not supported
// is an error of [Tokenizer.Decode] only.
//
// This package is for natural language. Package molecules has the tokenizers of molecule models, package template the
// prompt templates of chat models.
//
// A Tokenizer is safe for concurrent use.
//
// Terms:
//
//	stage   a step of the pipeline before the model: it rewrites the text or splits its pieces
//	piece   a part of the text, at the end a word, that stages and model process by itself
//	pass    the working memory of one call
package tokenizers
