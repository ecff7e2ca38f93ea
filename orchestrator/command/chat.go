package command

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"retort/orchestrator/client"
)

type chatCommand struct {
	Question []string `arg:"" optional:"" help:"Question to ask. Without one, it is read from standard input; on a terminal, every line is a question."`

	serviceFlags `embed:"" group:"Service"`

	Image       []string `short:"i" env:"-" type:"existingfile" placeholder:"FILE" help:"Image to ask about (PNG, JPEG, WebP or GIF). May be repeated."`
	Model       string   `env:"-" placeholder:"ID" help:"Model to use; by default the first one of the service or, with images, the first one that takes images."`
	MaxTokens   int      `env:"-" placeholder:"N" help:"Longest answer, in tokens."`
	Temperature *float64 `env:"-" placeholder:"N" help:"Sampling temperature; 0 always picks the likeliest token."`
	System      string   `env:"-" placeholder:"TEXT" help:"System message, which precedes the conversation."`
}

func (chatCommand) Help() string {
	return "Example:\n\n  retort chat 'Which molecule is this?' --image drawing.png"
}

// message is one message of a conversation.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or a list of parts
}

const chatPath = "/chat/v1/chat/completions"

// Bounds of what is read, in bytes.
const (
	maxPicture  = 32 << 20
	maxQuestion = 1 << 20
)

// Run asks one question or, on a terminal without a question, holds a conversation.
func (c *chatCommand) Run(p *Process, s *client.Service) error {
	model, err := chooseModel(p.Context, s, "chat", c.Model, len(c.Image) > 0)
	if err != nil {
		return err
	}
	var messages []message
	if c.System != "" {
		messages = append(messages, message{"system", c.System})
	}
	pictures, err := readPictures(c.Image)
	if err != nil {
		return err
	}
	question := strings.Join(c.Question, " ")
	if question == "" && isTerminal(p.Stdin) {
		return c.converse(p, s, model, messages, pictures)
	}
	if question == "" {
		text, err := io.ReadAll(io.LimitReader(p.Stdin, maxQuestion+1))
		if err != nil {
			return err
		}
		if len(text) > maxQuestion {
			return fmt.Errorf("the question has more than %d bytes", maxQuestion)
		}
		if question = strings.TrimSpace(string(text)); question == "" {
			return errors.New("no question: give one as an argument, or pipe it in")
		}
	}
	_, err = c.ask(p, s, model, append(messages, userMessage(question, pictures)))
	return err
}

// converse asks a question a line, each with the conversation so far. The pictures belong to the first question.
func (c *chatCommand) converse(p *Process, s *client.Service, model string, messages []message, pictures []any) error {
	lines := bufio.NewScanner(p.Stdin)
	for {
		fmt.Fprint(p.Stderr, "> ")
		if !lines.Scan() {
			fmt.Fprintln(p.Stderr)
			return lines.Err()
		}
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		messages = append(messages, userMessage(lines.Text(), pictures))
		pictures = nil
		answer, err := c.ask(p, s, model, messages)
		if err != nil {
			return err
		}
		messages = append(messages, message{"assistant", answer})
	}
}

func userMessage(question string, pictures []any) message {
	text := map[string]any{"type": "text", "text": question}
	return message{"user", append([]any{text}, pictures...)}
}

// readPictures returns the parts of a message that have the pictures.
func readPictures(files []string) ([]any, error) {
	var parts []any
	for _, name := range files {
		content, err := readFile(name, maxPicture)
		if err != nil {
			return nil, err
		}
		url := "data:" + http.DetectContentType(content) + ";base64," + base64.StdEncoding.EncodeToString(content)
		parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
	}
	return parts, nil
}

// ask prints the answer while it arrives, and returns it.
func (c *chatCommand) ask(p *Process, s *client.Service, model string, messages []message) (string, error) {
	body := map[string]any{"model": model, "messages": messages, "stream": c.Manifest == ""}
	if c.MaxTokens > 0 {
		body["max_tokens"] = c.MaxTokens
	}
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	if c.Manifest != "" { // which streams do not have
		return c.askWhole(p, s, body)
	}
	var answer strings.Builder
	err := s.Stream(p.Context, chatPath, body, func(data []byte) error {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil || len(chunk.Choices) == 0 {
			return err
		}
		text := chunk.Choices[0].Delta.Content
		answer.WriteString(text)
		_, err := io.WriteString(p.Stdout, printable(text, "\n\t"))
		return err
	})
	if answer.Len() > 0 {
		fmt.Fprintln(p.Stdout)
	}
	return answer.String(), err
}

// askWhole prints the answer once it is complete, and returns it.
func (c *chatCommand) askWhole(p *Process, s *client.Service, body map[string]any) (string, error) {
	var answer struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := s.Post(p.Context, chatPath, body, &answer); err != nil || len(answer.Choices) == 0 {
		return "", err
	}
	text := answer.Choices[0].Message.Content
	_, err := fmt.Fprintln(p.Stdout, printable(text, "\n\t"))
	return text, err
}
