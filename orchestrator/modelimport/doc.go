// Package modelimport makes an entry of the model repository of a folder in the form in which models are published:
// config.json, tokenizer.json and weights, with the files of Sentence Transformers beside them where there are any
// (modules.json, 1_Pooling/config.json, sentence_bert_config.json, config_sentence_transformers.json).
//
// Weights in safetensors become an ONNX graph that is written here: the encoder of the BERT and RoBERTa (XLM-R)
// families, with pooling and division by the L2 norm (embedding) or the classification head (ranking) inside, so that
// one row a text leaves Triton. Weights in ONNX are taken as they are; to a graph that gives token states pooling is
// added.
//
// What cannot be served as the folder's authors meant it is refused, and the error names the file and the key: an entry
// that is nearly right is wrong.
//
// Words: an entry is a folder of the model repository (model_repository/README.md); a recipe is what the folder says
// beyond its weights: pooling, prompts, lengths.
package modelimport
