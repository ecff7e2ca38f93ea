// Package prompt turns the messages of a chat into the text that a model was trained on, through the model's chat
// template.
//
// Words: a message has a role and parts, each a text or an image. A template is Jinja text as it lies beside a model's
// weights on Hugging Face. A placeholder is what stands for an image in the prompt; the engine that runs the model
// replaces it. A mark is a string that the model's tokenizer reads as one special token.
//
// The reference is apply_chat_template of transformers (https://huggingface.co/docs/transformers/chat_templating): the
// same whitespace settings, functions and filters. It is held by testdata, which scripts/golden/chat_templates.py
// makes.
package prompt
