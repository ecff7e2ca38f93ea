package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"retort/orchestrator/client"
)

// Process is what a command sees of the process that it runs in.
type Process struct {
	Context context.Context
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer

	telling sync.Mutex
}

// tell writes a message on standard error, one at a time: several requests are under way at once.
func (p *Process) tell(format string, values ...any) {
	p.telling.Lock()
	defer p.telling.Unlock()
	fmt.Fprintf(p.Stderr, format, values...)
}

// Remote is where the service is.
type Remote struct {
	URL     string `name:"url" env:"RETORT_URL" default:"http://127.0.0.1:8000" help:"Main port of the service."`
	KeyFile string `name:"api-key-file" env:"RETORT_API_KEY_FILE" type:"path" placeholder:"FILE" help:"File with the key, where the service asks for one."`
	Key     string `name:"api-key" env:"RETORT_API_KEY" placeholder:"KEY" help:"The key itself; in the environment or a file other users of the machine do not see it, on the command line they do."`
}

// Service is where the service is, and how patiently it is asked.
type Service struct {
	Remote   `embed:""`
	Attempts uint `env:"-" default:"8" help:"How often a request is made that the service has no room for, or that does not reach it."`
}

// maxKey bounds a file with a key, in bytes.
const maxKey = 64 << 10

// secret returns the key; "" for none.
func (r Remote) secret() (string, error) {
	if r.KeyFile == "" || r.Key != "" {
		return r.Key, nil
	}
	file, err := os.Open(r.KeyFile)
	if err != nil {
		return "", fmt.Errorf("api-key-file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKey))
	if err != nil {
		return "", fmt.Errorf("api-key-file: %w", err)
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	if len(bytes.TrimSpace(line)) == 0 {
		return "", errors.New("api-key-file: it is empty")
	}
	return string(bytes.TrimSpace(line)), nil
}

// service opens no connection yet.
func (r Service) service(p *Process) (*client.Service, error) {
	key, err := r.secret()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return &client.Service{
		URL: r.URL, Key: key, Attempts: max(1, r.Attempts), HTTP: &http.Client{Transport: transport},
		Waiting: func(why error, pause time.Duration) {
			p.tell("%swaiting %s: %s\n", clearLine(p), pause.Round(100*time.Millisecond), shown(why.Error()))
		},
	}, nil
}

// model is the first model of an API that lists its models as OpenAI does, unless one is named.
func model(ctx context.Context, s service, api, named string) (string, error) {
	if named != "" {
		return named, nil
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
