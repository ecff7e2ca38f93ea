package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"retort/orchestrator/client"
	"retort/orchestrator/provenance"
)

type replayCommand struct {
	File string `arg:"" help:"File of --manifest, or any JSON with a manifest; - is standard input."`

	serviceFlags `embed:"" group:"Service"`
}

func (replayCommand) Help() string {
	return "The exit code is 0 only if all answers are equal. Ids and times of answers are not compared.\n\n" +
		"  retort optimize CCOc1ccccc1 --manifest made.jsonl\n  retort replay made.jsonl"
}

func (c *replayCommand) Run(p *Process, s *client.Service) error {
	file := p.Stdin
	if c.File != "-" {
		opened, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer opened.Close()
		info, err := opened.Stat()
		if err != nil {
			return err
		}
		if isSameFile(info, c.Manifest) {
			return fmt.Errorf("%s: --manifest would append the new answers to the file that is replayed", c.File)
		}
		file = opened
	}
	if s.OnAnswer == nil {
		s.OnAnswer = func([]byte) error { return nil } // asks for manifests, which say why answers differ
	}
	count, equal := 0, 0
	for document, err := range provenance.ReadDocuments(file) {
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
		count++
		isEqual, err := replay(p, s, count, document)
		if err != nil {
			return err
		}
		if isEqual {
			equal++
		}
	}
	if equal < count {
		return fmt.Errorf("%d of %d answers are not equal to the recorded ones", count-equal, count)
	}
	return nil
}

// isSameFile reports whether info is of the file of a name, which may be another link to it. No file has the name "".
func isSameFile(info os.FileInfo, name string) bool {
	named, err := os.Stat(name)
	return err == nil && os.SameFile(info, named)
}

// replay sends the request of a document again, and prints whether the answer is equal to the recorded one and what
// differs in how it was made. A request that is refused and a job that fails are not equal; an error means that the
// service cannot be called.
func replay(p *Process, s *client.Service, number int, recorded provenance.Document) (isEqual bool, err error) {
	printLine := func(format string, values ...any) {
		fmt.Fprintln(p.Stdout, printable(fmt.Sprintf(format, values...), ""))
	}
	name := fmt.Sprintf("%d: %s", number, recorded.Manifest.Path)
	answer, err := resend(p.Context, s, recorded.Manifest)
	var refusal *client.Refusal
	var ended *client.JobError
	if errors.As(err, &refusal) || errors.As(err, &ended) {
		printLine("%s: refused: %v", name, err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	digest, err := provenance.Digest(answer)
	if err != nil {
		return false, fmt.Errorf("%s: unexpected answer: %w", name, err)
	}
	isEqual = digest == recorded.Manifest.AnswerSHA256
	switch place, ok := provenance.FirstDifference(recorded.Answer, answer); {
	case isEqual:
		printLine("%s: equal", name)
	case recorded.Answer != nil && ok:
		printLine("%s: different, first at %s", name, place)
	default:
		printLine("%s: different", name)
	}
	if !isEqual && recorded.Manifest.Unfinished != "" {
		printLine("  the recorded answer is incomplete (%s), which depends on time", recorded.Manifest.Unfinished)
	}
	var made struct {
		Manifest *provenance.Manifest `json:"manifest"`
	}
	if err := json.Unmarshal(answer, &made); err != nil || made.Manifest == nil {
		printLine("  this service has no manifests, so what differs in models and versions is unknown")
		return isEqual, nil
	}
	for _, difference := range provenance.Differences(recorded.Manifest, *made.Manifest) {
		printLine("  %s", difference)
	}
	return isEqual, nil
}

// resend sends the request of a manifest and returns the whole answer.
func resend(ctx context.Context, s *client.Service, m provenance.Manifest) (answer json.RawMessage, err error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(m.Request, &body); err != nil {
		return nil, err
	}
	if strings.HasSuffix(m.Path, "/jobs") {
		body[provenance.Member] = json.RawMessage("true")
		return s.RunSearch(ctx, m.Path, body)
	}
	if _, ok := body["stream"]; ok { // the last event of a stream is the whole answer
		body["stream"] = json.RawMessage("false")
	}
	return answer, s.Post(ctx, m.Path, body, &answer)
}
