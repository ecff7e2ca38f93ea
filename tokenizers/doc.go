// Package tokenizers turns text into the token ids a model was trained on, and back.
//
// [Load] reads the tokenizer.json of the Hugging Face tokenizers library (https://huggingface.co/docs/tokenizers) and
// builds its pipeline in plain Go: added tokens, normalizer, pre-tokenizer, model (WordPiece, byte-level BPE or
// Unigram), post-processor, decoder. Ids and offsets equal those of the reference library;
// scripts/golden/tokenizers_golden.py makes the golden files that show it. A component or an option that is not known
// here is refused when the file is loaded, and named in the error: a tokenizer that is nearly right is wrong.
//
// Two sections of the file are deliberately not used: "truncation" and "padding". They record how the file's author
// last called the library, not what the model needs (the widely used all-MiniLM-L6-v2 cuts at 128 tokens and pads
// everything to 128). How long an encoding may be is said per call, in [Options]; padding is done for a whole batch, by
// [Batch].
//
// This is for natural language; package molecules has the tokenizers of molecule models, and package template the
// prompts of chat models.
//
// Everything here may be used by several goroutines at once.
package tokenizers
