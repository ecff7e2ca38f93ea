package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"retort/orchestrator/client"
)

// Remote says where the service is.
type Remote struct {
	URL     string `name:"url" env:"RETORT_URL" default:"http://127.0.0.1:8000" help:"Address of the main port of the service."`
	KeyFile string `name:"api-key-file" env:"RETORT_API_KEY_FILE" type:"path" placeholder:"FILE" help:"File with the API key, if the service requires one."`
	Key     string `name:"api-key" env:"RETORT_API_KEY" placeholder:"KEY" help:"The API key itself. Other users of the machine can see it on the command line, but not in the environment or a file."`
}

// Service says where the service is, and how often a request is retried.
type Service struct {
	Remote   `embed:""`
	Attempts uint `env:"-" default:"8" help:"How often to send a request while the service is overloaded or unreachable."`
}

// maxKey bounds a file with a key, in bytes.
const maxKey = 64 << 10

// secret returns the key; "" for none.
func (r Remote) secret() (string, error) {
	if r.KeyFile == "" || r.Key != "" {
		return r.Key, nil
	}
	text, err := readFile(r.KeyFile, maxKey)
	if err != nil {
		return "", fmt.Errorf("api-key-file: %w", err)
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	key := bytes.TrimSpace(line)
	if len(key) == 0 {
		return "", errors.New("api-key-file: it is empty")
	}
	return string(key), nil
}

// readFile reads a file, which must not have more than limit bytes.
func readFile(name string, limit int) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err == nil && len(content) > limit {
		err = fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return content, err
}

// client returns a client of the service, which connects with its first request.
func (s Service) client(p *Process) (*client.Service, error) {
	key, err := s.secret()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &client.Service{
		URL:      s.URL,
		Key:      key,
		Attempts: max(1, s.Attempts),
		HTTP:     &http.Client{Transport: transport},
		Waiting: func(reason error, pause time.Duration) {
			p.report("waiting %s: %v", pause.Round(100*time.Millisecond), reason)
		},
	}, nil
}

// modelOr returns id or, if it is "", the id of an API's first model.
func modelOr(ctx context.Context, id string, s *client.Service, api string) (string, error) {
	if id != "" {
		return id, nil
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := s.Get(ctx, "/"+api+"/v1/models", &list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 {
		return "", fmt.Errorf("the %s API of %s serves no model", api, s.URL)
	}
	return list.Data[0].ID, nil
}
