package chat_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"retort/orchestrator/triton"
)

// BenchmarkStream measures what the gateway adds to a token: the same answer of 200 tokens is read from Triton
// directly, and as server-sent events over HTTP. The difference includes the HTTP client and server. On a busy machine
// only the processor time is reliable.
func BenchmarkStream(b *testing.B) {
	const tokens = 200
	url, repository := fakeTriton(b)
	plan := `script {"say": ["` + strings.Repeat(`a", "`, tokens-1) + `z"]}`
	b.Run("triton", func(b *testing.B) {
		client, err := triton.Dial(triton.Config{URLs: []string{url}})
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		request := &triton.Request{Model: "scripted_vllm", Inputs: []triton.Tensor{
			triton.Strings("text_input", []int64{1}, []string{plan}),
			triton.Strings("sampling_parameters", []int64{1}, []string{`{"max_tokens": 512}`}),
			triton.Bools("stream", []int64{1}, []bool{true}),
			triton.Bools("return_finish_reason", []int64{1}, []bool{true}),
			triton.Bools("return_num_input_tokens", []int64{1}, []bool{true}),
			triton.Bools("return_num_output_tokens", []int64{1}, []bool{true}),
		}}
		meter := startMeter()
		for b.Loop() {
			responses, err := client.Stream(b.Context(), request)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for _, err := range responses {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != tokens {
				b.Fatal(n)
			}
		}
		meter.report(b, b.N*tokens)
	})
	s := serve(b, url, repository, nil)
	for _, clients := range []int{1, 8} {
		b.Run(fmt.Sprintf("gateway-%d", clients), func(b *testing.B) {
			s.t = b
			b.SetParallelism(clients)
			var buf bytes.Buffer
			_, _ = buf.ReadFrom(jsonBody(b, newRequest(vllmModel, plan, object{"stream": true})))
			body := buf.String()
			read := func() {
				res, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				defer res.Body.Close()
				n := 0
				for lines := bufio.NewScanner(res.Body); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "data: ") {
						n++
					}
				}
				if n != tokens+2 {
					b.Errorf("%d events", n)
				}
			}
			meter := startMeter()
			if clients == 1 {
				for b.Loop() {
					read()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						read()
					}
				})
			}
			meter.report(b, b.N*tokens)
		})
	}
}

// meter measures elapsed and processor time.
type meter struct {
	start time.Time
	cpu   time.Duration // of this process, at start
}

func startMeter() meter { return meter{time.Now(), processorTime()} }

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (m meter) report(b *testing.B, tokens int) {
	b.ReportMetric(float64(time.Since(m.start).Microseconds())/float64(tokens), "µs/token")
	b.ReportMetric(float64((processorTime()-m.cpu).Microseconds())/float64(tokens), "cpu-µs/token")
}
