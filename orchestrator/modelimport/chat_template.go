package modelimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"retort/orchestrator/chat/prompt"
	"retort/orchestrator/chat/tools"
)

// maxTemplateFile is the largest chat template in bytes: published ones have up to 20 kB.
const maxTemplateFile = 1 << 20

// chatTemplate is the chat template of a model, and how Retort renders it.
type chatTemplate struct {
	text        string
	file        string // source, for the card and errors
	format      string // content_format
	placeholder string // stands for an image in content of format text
	marker      string // appears in the prompt once for each image; "" if placeholders are numbered
	note        string // for the operator
	tools       tools.Format
}

// placeholders are the texts that stand for an image in the prompts of models whose template has no images, by
// model_type (vLLM, get_placeholder_str of its models). {n} is the image's number.
var placeholders = map[string]string{
	"gemma3":         "<start_of_image>",
	"internvl_chat":  "<image>",
	"deepseek_vl_v2": "<image>",
	"llava":          "<image>",
	"llava_next":     "<image>",
	"minicpmv":       "(<image>./</image>)",
	"mllama":         "<|image|>",
	"phi3_v":         "<|image_{n}|>",
	"phi4mm":         "<|image_{n}|>",
	"qwen2_5_vl":     "<|vision_start|><|image_pad|><|vision_end|>",
	"qwen2_vl":       "<|vision_start|><|image_pad|><|vision_end|>",
	"qwen3_vl":       "<|vision_start|><|image_pad|><|vision_end|>",
}

// readTemplate chooses the chat template and checks that it renders.
func (m *chatModel) readTemplate(o Options) (err error) {
	t := &m.template
	if t.text, t.file, err = m.findTemplate(o); err != nil {
		return err
	}
	if _, err := prompt.Parse(t.text, prompt.Options{}); err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	if err := m.chooseFormat(); err != nil {
		return err
	}
	t.tools = m.toolFormat()
	return nil
}

// toolFormat returns the format in which the template writes the call of an earlier answer, or Refused if the template
// does not render tools or no parser reads the call.
func (m *chatModel) toolFormat() tools.Format {
	const question, name = "Question one.", "sample_function"
	parsed, err := prompt.Parse(m.template.text, m.options())
	if err != nil {
		return tools.Refused
	}
	call := prompt.Call{ID: "sample123", Name: name, Arguments: `{"sample_argument":"Value two."}`}
	text := func(s string) []prompt.Part { return []prompt.Part{{Text: s}} }
	rendered, err := parsed.Render([]prompt.Message{
		{Role: "user", Parts: text(question)},
		{Role: "assistant", Calls: []prompt.Call{call}},
		{Role: "tool", Parts: text("Result three."), Of: call},
	}, true, prompt.Tool{Name: name, Description: "Description four.", Parameters: []byte(`{"type":"object"}`)})
	_, answer, found := strings.Cut(rendered, question)
	if err != nil || !found || !strings.Contains(rendered, "Description four.") ||
		!strings.Contains(answer, "Result three.") {
		return tools.Refused
	}
	return tools.DetectFormat(answer, []tools.Tool{{Name: name}}, tools.Delta{Name: name, Arguments: call.Arguments})
}

// findTemplate returns the text and the source of the template: --chat-template, else the first file that transformers
// would use.
func (m *chatModel) findTemplate(o Options) (text, file string, err error) {
	if o.ChatTemplate != "" {
		file = filepath.Base(o.ChatTemplate)
		data, err := readBounded(o.ChatTemplate, file, maxTemplateFile)
		return string(data), file, err
	}
	const jinja = "chat_template.jinja"
	data, err := readBounded(m.folder.path(jinja), jinja, maxTemplateFile)
	if data != nil || err != nil {
		return string(data), jinja, err
	}
	for _, file := range []string{"chat_template.json", "processor_config.json", "tokenizer_config.json"} {
		var config struct {
			Template json.RawMessage `json:"chat_template"`
		}
		if _, err := m.folder.readJSON(file, &config); err != nil {
			return "", "", err
		}
		if config.Template == nil || string(config.Template) == "null" {
			continue
		}
		text, err := templateText(config.Template)
		if err != nil {
			return "", "", fmt.Errorf("%s: chat_template: %w", file, err)
		}
		return text, file, nil
	}
	return "", "", fmt.Errorf("%s has no chat template: no chat_template.jinja, and no chat_template in "+
		"chat_template.json, processor_config.json or tokenizer_config.json: set --chat-template", m.folder.dir)
}

// templateText decodes a template: a text, or a list of named ones, of which "default" is used.
func templateText(raw json.RawMessage) (text string, err error) {
	if json.Unmarshal(raw, &text) == nil {
		return text, checkTemplateSize(text)
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", errors.New("it is neither a text nor a list of named templates")
	}
	for _, named := range list {
		if named.Name == "default" {
			return named.Template, checkTemplateSize(named.Template)
		}
	}
	return "", errors.New("its list has no template with the name default")
}

func checkTemplateSize(text string) error {
	if len(text) > maxTemplateFile {
		return fmt.Errorf("it has more than %d bytes", maxTemplateFile)
	}
	return nil
}

// chooseFormat finds the content format with which the template renders every text and image of sample conversations.
// Lists of parts come first, because transformers and vLLM pass lists to a template that accepts them.
func (m *chatModel) chooseFormat() error {
	t := &m.template
	var problems []error
	for _, format := range []string{"parts", "mixed", "text"} {
		placeholder := ""
		if format == "text" && m.images > 0 {
			if placeholder = placeholders[m.config.ModelType]; placeholder == "" {
				problems = append(problems, fmt.Errorf("as text: no placeholder of an image is known for model_type %q",
					m.config.ModelType))
				continue
			}
		}
		t.format, t.placeholder = format, placeholder
		err := m.checkFormat(m.markers()...)
		if err == nil {
			return nil
		}
		problems = append(problems, fmt.Errorf("as %s: %w", format, err))
	}
	return fmt.Errorf("%s: the template renders sample conversations in no supported format of content:\n%w",
		t.file, errors.Join(problems...))
}

// options are those with which the gateway renders the template. chatEntry.parameters says the same.
func (m *chatModel) options() prompt.Options {
	return prompt.Options{
		ContentFormat: m.template.format,
		Placeholder:   m.template.placeholder,
		Variables:     maps.Clone(m.tokens.named),
		StripBOS:      m.tokens.addsBOS,
		ImageFirst:    m.template.imageFirst(),
	}
}

// imageFirst reports whether images come before the text of their message, as vLLM places them for templates that have
// no images.
func (t *chatTemplate) imageFirst() bool { return t.format == "text" }

// sample is a conversation on which a template is tried. optional says that templates may reject it.
type sample struct {
	name     string
	messages []prompt.Message
	optional bool
}

func samples(maxImages int) []sample {
	image := prompt.Part{Image: true}
	text := func(s string) prompt.Part { return prompt.Part{Text: s} }
	say := func(role string, parts ...prompt.Part) prompt.Message {
		return prompt.Message{Role: role, Parts: parts}
	}
	list := []sample{
		{"a question", []prompt.Message{say("user", text("Question one."))}, false},
		{"three turns", []prompt.Message{
			say("user", text("Question one.")), say("assistant", text("Answer two.")), say("user", text("Question three.")),
		}, false},
		{"a system message", []prompt.Message{
			say("system", text("Instruction zero.")), say("user", text("Question one.")),
		}, true},
	}
	if maxImages > 0 {
		list = append(list,
			sample{"an image and a question", []prompt.Message{say("user", image, text("Question one."))}, false},
			sample{"a question and an image", []prompt.Message{say("user", text("Question one."), image)}, false},
			sample{"an image in the first of three turns", []prompt.Message{
				say("user", image, text("Question one.")), say("assistant", text("Answer two.")),
				say("user", text("Question three.")),
			}, false},
			sample{"a system message and an image", []prompt.Message{
				say("system", text("Instruction zero.")), say("user", image, text("Question one.")),
			}, true},
		)
	}
	if maxImages > 1 {
		list = append(list, sample{"two images", []prompt.Message{say("user", image, image, text("Question one."))}, false})
	}
	return list
}

// checkFormat renders the samples and finds the marker of an image among the given ones.
func (m *chatModel) checkFormat(markers ...string) error {
	t := &m.template
	parsed, err := prompt.Parse(t.text, m.options())
	if err != nil {
		return err
	}
	t.note = ""
	for _, s := range samples(m.images) {
		rendered, err := parsed.Render(s.messages, true)
		var refusal *prompt.Refusal
		if s.optional && errors.As(err, &refusal) {
			t.note = fmt.Sprintf("%s: the template rejects %s: %s", t.file, s.name, refusal.Message)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		images, err := checkSample(s, rendered)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		markers = slices.DeleteFunc(markers, func(marker string) bool {
			return strings.Count(rendered, marker) != images
		})
		if m.images > 0 && len(markers) == 0 && !strings.Contains(t.placeholder, "{n}") {
			return fmt.Errorf("%s: no special token is in the prompt once for each image", s.name)
		}
	}
	t.marker = ""
	if m.images == 0 || len(markers) == 0 {
		return nil
	}
	t.marker = markers[0]
	if m.tokens.named["image_token"] == t.marker {
		return nil
	}
	// The gateway passes the marker to the template, which may change what it renders.
	before := m.tokens.named["image_token"]
	m.tokens.named["image_token"] = t.marker
	if err := m.checkFormat(t.marker); err != nil {
		m.tokens.named["image_token"] = before
		return fmt.Errorf("with image_token %q: %w", t.marker, err)
	}
	return nil
}

// markers are the texts that may appear once for each image.
func (m *chatModel) markers() []string {
	switch placeholder := m.template.placeholder; {
	case strings.Contains(placeholder, "{n}"):
		return nil
	case placeholder != "":
		return []string{placeholder}
	}
	return slices.Clone(m.tokens.images)
}

// checkSample checks that a prompt has every text of a conversation once, and not as the code of a list. It returns the
// number of images.
func checkSample(s sample, rendered string) (images int, err error) {
	for _, message := range s.messages {
		for _, part := range message.Parts {
			if part.Image {
				images++
			} else if n := strings.Count(rendered, part.Text); n != 1 {
				return 0, fmt.Errorf("the prompt has the text of the %s %d times", message.Role, n)
			}
		}
	}
	if strings.Contains(rendered, "'type':") || strings.Contains(rendered, `"type":`) {
		return 0, errors.New("the template prints the list of parts as it is")
	}
	return images, nil
}
