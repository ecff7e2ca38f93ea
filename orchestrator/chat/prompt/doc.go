// Package prompt renders the messages of a chat as the text that a model was trained on, with the model's chat
// template.
//
// The reference is apply_chat_template of transformers (https://huggingface.co/docs/transformers/chat_templating): the
// same whitespace settings, functions and filters. scripts/golden/chat_templates.py writes the golden files in
// testdata.
//
// Terms:
//
//	part             a text or an image of a message
//	content          the value of a message in the template: a string, or a list of parts
//	template         Jinja text, published beside a model's weights on Hugging Face
//	placeholder      the text that stands for an image in the prompt, which the engine replaces
//	special token    a text that the model's tokenizer encodes as one control token
package prompt
