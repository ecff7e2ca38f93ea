package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"retort/orchestrator/client"
)

// remoteFlags are the flags of the service's address and key. A Run method that takes a client gets it from Kong, which
// calls ProvideClient.
type remoteFlags struct {
	URL     string `name:"url" env:"RETORT_URL" default:"http://127.0.0.1:8000" help:"Address of the main port of the service."`
	KeyFile string `name:"api-key-file" env:"RETORT_API_KEY_FILE" type:"path" placeholder:"FILE" help:"File with the API key, if the service requires one."`
	Key     string `name:"api-key" env:"RETORT_API_KEY" placeholder:"KEY" help:"The API key itself. Other users of the machine can see it on the command line, but not in the environment or a file."`
}

// serviceFlags are the flags of commands whose requests are retried.
type serviceFlags struct {
	remoteFlags `embed:""`
	Attempts    uint   `env:"-" default:"8" help:"How often to send a request while the service is overloaded or unreachable."`
	Manifest    string `env:"-" type:"path" placeholder:"FILE" help:"Append the answers of the service to FILE, one per line, with manifests that say how they were made: see retort replay."`
}

// maxKey bounds a file with a key, in bytes.
const maxKey = 64 << 10

// secret returns the key; "" for none.
func (r remoteFlags) secret() (string, error) {
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

// requestTimeout bounds a request of commands that do not retry.
const requestTimeout = time.Minute

// ProvideClient returns a client that sends each request once.
func (r remoteFlags) ProvideClient() (*client.Service, error) {
	key, err := r.secret()
	return &client.Service{URL: r.URL, Key: key, HTTP: &http.Client{Timeout: requestTimeout}, Attempts: 1}, err
}

// ProvideClient returns a client that retries requests and reports why it waits.
func (s serviceFlags) ProvideClient(p *Process) (*client.Service, error) {
	c, err := s.remoteFlags.ProvideClient()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	c.HTTP = &http.Client{Transport: transport}
	c.Attempts = max(1, s.Attempts)
	if s.Manifest != "" && err == nil {
		c.OnAnswer, err = appendTo(s.Manifest)
	}
	c.OnRetry = func(reason error, pause time.Duration) {
		p.report("waiting %s: %v", pause.Round(100*time.Millisecond), reason)
	}
	return c, err
}

// appendTo opens a file and returns a function that appends an answer to it as a line. The file is closed when the
// process ends.
func appendTo(name string) (func(answer []byte) error, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	var lock sync.Mutex
	return func(answer []byte) error {
		var line bytes.Buffer
		if err := json.Compact(&line, answer); err != nil {
			return fmt.Errorf("manifest: unexpected answer: %w", err)
		}
		var made struct{ Manifest json.RawMessage }
		if json.Unmarshal(answer, &made) != nil || made.Manifest == nil {
			return errors.New("manifest: this service answers without manifests")
		}
		line.WriteByte('\n')
		lock.Lock()
		defer lock.Unlock()
		_, err := file.Write(line.Bytes())
		return err
	}, nil
}

// chooseModel returns id or, if it is "", the id of the first model of an API. It prefers one that takes images if
// withImages is set.
func chooseModel(ctx context.Context, s *client.Service, api, id string, withImages bool) (string, error) {
	if id != "" {
		return id, nil
	}
	models, err := servedModels(ctx, s)
	if err != nil {
		return "", err
	}
	models = slices.DeleteFunc(models, func(m servedModel) bool { return m.API != api })
	if len(models) == 0 {
		return "", fmt.Errorf("the %s API of %s serves no model", api, s.URL)
	}
	first := max(0, slices.IndexFunc(models, func(m servedModel) bool { return m.Images || !withImages }))
	return models[first].ID, nil
}

// servedModel is a model in the list of the service.
type servedModel struct {
	ID     string `json:"id"`
	API    string `json:"api"`
	Images bool   `json:"images"`
}

// servedModels returns the models of all APIs of the service.
func servedModels(ctx context.Context, s *client.Service) ([]servedModel, error) {
	var list struct {
		Data []servedModel `json:"data"`
	}
	err := s.Get(ctx, "/v1/models", &list)
	return list.Data, err
}
