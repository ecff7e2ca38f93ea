package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"retort/scripts/bench/comparison"
)

// stand is a gateway in front of replicas, as processes.
type stand struct {
	url               string // of the embedding API
	gateway, replicas comparison.Processes
	stops             []func()
}

// close ends the processes, the newest first.
func (s *stand) close() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
}

func startStand(of size) (*stand, error) {
	s := &stand{}
	err := s.start(of)
	if err != nil {
		s.close()
	}
	return s, err
}

func (s *stand) start(of size) error {
	folder, err := os.MkdirTemp("", "retort-bench-scale-")
	if err != nil {
		return err
	}
	s.stops = append(s.stops, func() { _ = os.RemoveAll(folder) })
	addresses, err := s.startReplicas(of)
	if err != nil {
		return err
	}
	if err := writeRepository(folder, of.models); err != nil {
		return err
	}
	if err := s.startGateway(addresses, folder); err != nil {
		return err
	}
	return s.wait(of.models)
}

func (s *stand) startReplicas(of size) (addresses []string, err error) {
	flags := []string{"-entry=" + *entry, "-batch=" + batchTime.String(), fmt.Sprintf("-texts=%d", *texts)}
	server := exec.Command("/proc/self/exe", append(flags,
		fmt.Sprintf("-serve-replicas=%d", of.replicas), fmt.Sprintf("-serve-models=%d", of.models))...)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	s.replicas = comparison.Processes{server.Process.Pid}
	s.stops = append(s.stops, func() {
		_ = in.Close()
		_ = server.Wait()
	})
	return addresses, json.NewDecoder(out).Decode(&addresses)
}

// writeRepository writes the files of the models that the gateway reads.
func writeRepository(folder string, models int) error {
	tokenizer, err := os.ReadFile(filepath.Join(*entry, "tokenizer.json"))
	if err != nil {
		return err
	}
	for i := range models {
		model := filepath.Join(folder, modelName(i))
		if err := os.Mkdir(model, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(model, "tokenizer.json"), tokenizer, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *stand) startGateway(addresses []string, repository string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(address)
	gateway := exec.Command(*program, "serve", "--host=127.0.0.1", "--port="+port, "--no-jobs", "--log-level=warn",
		"--latent-port=-1", "--masked-port=-1", "--embedding-port=-1", "--ranking-port=-1", "--chat-port=-1",
		"--model-repository="+repository, "--triton-url="+strings.Join(addresses, ","))
	gateway.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", *cores))
	gateway.Stderr = os.Stderr
	gateway.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // this program may be killed
	if err := gateway.Start(); err != nil {
		return err
	}
	s.url = "http://" + address + "/embedding/v1"
	s.gateway = comparison.Processes{gateway.Process.Pid}
	s.stops = append(s.stops, func() {
		_ = gateway.Process.Signal(os.Interrupt)
		_ = gateway.Wait()
	})
	return nil
}

// startTime is the upper bound on the time until the gateway serves all models.
const startTime = time.Minute

func (s *stand) wait(models int) error {
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if served, err := s.models(); err == nil && served == models {
			return nil
		}
	}
	return errors.New("the gateway does not serve all models")
}

// models returns the number of models that the gateway serves.
func (s *stand) models() (int, error) {
	res, err := http.Get(s.url + "/models")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var list struct{ Data []struct{ ID string } }
	err = json.NewDecoder(res.Body).Decode(&list)
	return len(list.Data), err
}
