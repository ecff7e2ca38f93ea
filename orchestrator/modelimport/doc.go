// Package modelimport creates entries of the model repository.
//
// [Import] reads the folder of a published model: config.json, tokenizer.json, weights, and the files of Sentence
// Transformers if it has them (modules.json and its folders, sentence_bert_config.json,
// config_sentence_transformers.json). From weights in safetensors it builds the ONNX graph of an encoder of one of the
// families (BERT, RoBERTa, DistilBERT, MPNet, NomicBERT, ModernBERT, JinaBERT, GTE) or decoder (Qwen2, Qwen3, Gemma 3,
// Mistral, Llama), with pooling, dense layers and L2 normalization (embedding) or the classification head (ranking) in
// the graph, so Triton returns one row per text. Weights in ONNX are used as they are; if the graph returns token
// states, pooling is appended. A masked language model of molecules (BertForMaskedLM in safetensors, or a checkpoint of
// GenMol) becomes the graph of its whole sampler. [Quantize] copies an entry and computes its matrix products in int8.
//
// The folder of a chat model becomes an entry for Triton's vLLM backend: arguments of the engine, which reads the
// weights where they are, the chat template, and the parameters of orchestrator/chat (chat.go).
//
// A folder that cannot be served as its authors intended is refused, with an error that names the file and the key: an
// entry that is nearly right is wrong. The folder is not trusted: impossible sizes, offsets and paths are refused too.
//
// Terms:
//
//	family  the model types with the same architecture and names of tensors
//	entry   a folder of the model repository, see orchestrator/docs/operate/MODELS.md
//	recipe  what turns the encoder's states into the model's answer: pooling, dense layers, prefixes, longest row
//	states  the hidden states of tokens: [batch, tokens, hidden]
//	turn    a step of the loop that samples a masked row, and replaces step_size masks
//	cell    an element of the padded batch [batch, tokens]: a token or padding
package modelimport
