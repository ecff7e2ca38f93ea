package command

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode"
)

// Chat is retort chat.
type Chat struct {
	Question []string `arg:"" optional:"" help:"What to ask; without one it is read from standard input, on a terminal a line at a time."`

	Service `embed:"" group:"Service"`

	Image       []string `short:"i" env:"-" type:"existingfile" placeholder:"FILE" help:"Picture to ask about (PNG, JPEG, WebP, GIF); several may be given."`
	Model       string   `env:"-" placeholder:"ID" help:"Model; by default the first of the service or, with pictures, the first that takes pictures."`
	MaxTokens   int      `env:"-" placeholder:"N" help:"Longest answer, in tokens."`
	Temperature *float64 `env:"-" placeholder:"N" help:"0 for the likeliest answer."`
	System      string   `env:"-" placeholder:"TEXT" help:"What the model is told before the conversation."`
}

// Help is the longer text of --help.
func (Chat) Help() string {
	return "Asks about pictures, and prints the answer while it comes.\n\n" +
		"  retort chat 'Which molecule is this?' --image drawing.png"
}

// message is one of a conversation.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// maxPicture and maxQuestion bound what is read, in bytes.
const (
	maxPicture  = 32 << 20
	maxQuestion = 1 << 20
)

// Run asks once or, on a terminal without a question, until there is no more to ask.
func (c *Chat) Run(p *Process) error {
	s, err := c.service(p)
	if err != nil {
		return err
	}
	if c.Model, err = c.model(p.Context, s); err != nil {
		return err
	}
	var talk []message
	if c.System != "" {
		talk = append(talk, message{"system", c.System})
	}
	parts, err := pictures(c.Image)
	if err != nil {
		return err
	}
	question := strings.Join(c.Question, " ")
	if question == "" && isTerminal(p.Stdin) {
		return c.converse(p, s, talk, parts)
	}
	if question == "" {
		text, err := io.ReadAll(io.LimitReader(p.Stdin, maxQuestion))
		if err != nil {
			return err
		}
		if question = strings.TrimSpace(string(text)); question == "" {
			return errors.New("nothing to ask: give a question, or pipe one in")
		}
	}
	_, err = c.ask(p.Context, p, s, append(talk, asked(question, parts)))
	return err
}

// model returns the id of the model to ask.
func (c *Chat) model(ctx context.Context, s service) (string, error) {
	if c.Model == "" && len(c.Image) > 0 {
		var list struct {
			Data []struct {
				ID     string `json:"id"`
				Images bool   `json:"images"`
			} `json:"data"`
		}
		if err := s.Get(ctx, "/v1/models", &list); err != nil {
			return "", err
		}
		for _, m := range list.Data {
			if m.Images {
				return m.ID, nil
			}
		}
	}
	return model(ctx, s, "chat", c.Model)
}

// converse asks line after line, with what was said before. Pictures belong to the first.
func (c *Chat) converse(p *Process, s service, talk []message, parts []any) error {
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
		talk = append(talk, asked(lines.Text(), parts))
		parts = nil
		answer, err := c.ask(p.Context, p, s, talk)
		if err != nil {
			return err
		}
		talk = append(talk, message{"assistant", answer})
	}
}

// asked is a question with its pictures.
func asked(question string, parts []any) message {
	text := map[string]any{"type": "text", "text": question}
	return message{"user", append([]any{text}, parts...)}
}

// pictures are the parts of a message.
func pictures(files []string) ([]any, error) {
	var parts []any
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(file, maxPicture+1))
		file.Close()
		if err != nil {
			return nil, err
		}
		if len(content) > maxPicture {
			return nil, fmt.Errorf("%s: a picture of more than %d bytes", name, maxPicture)
		}
		url := "data:" + http.DetectContentType(content) + ";base64," + base64.StdEncoding.EncodeToString(content)
		parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
	}
	return parts, nil
}

// ask prints an answer while it comes, and returns it.
func (c *Chat) ask(ctx context.Context, p *Process, s service, talk []message) (string, error) {
	body := map[string]any{"model": c.Model, "messages": talk, "stream": true}
	if c.MaxTokens > 0 {
		body["max_tokens"] = c.MaxTokens
	}
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	var answer strings.Builder
	err := s.Stream(ctx, "/chat/v1/chat/completions", body, func(data []byte) error {
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
		answer.WriteString(chunk.Choices[0].Delta.Content)
		_, err := io.WriteString(p.Stdout, printed(chunk.Choices[0].Delta.Content))
		return err
	})
	if answer.Len() > 0 {
		fmt.Fprintln(p.Stdout)
	}
	return answer.String(), err
}

// printed leaves line ends and tabs as they are, and no other control character.
func printed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, text)
}
