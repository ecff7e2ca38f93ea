package command

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"retort/orchestrator/client"
)

type startJob struct {
	remoteFlags `embed:"" group:"Service"`

	API  string `arg:"" enum:"latent,masked" help:"API of the search: latent or masked."`
	Body string `arg:"" help:"JSON file with the body of /generate; - is standard input."`
}

func (c startJob) Run(p *Process, s *client.Service) error {
	body, err := readAll(p, c.Body)
	if err != nil {
		return err
	}
	if !json.Valid(body) {
		return fmt.Errorf("%s is not JSON", c.Body)
	}
	job, err := s.StartSearch(p.Context, c.API, body)
	if err != nil {
		return err
	}
	return p.printJob(job)
}

// toldColumns are the columns of the candidates that are written, and of the scores that are read.
var toldColumns = []string{"id", "smiles", "score", "error"}

type askJob struct {
	jobFlags `embed:""`
}

func (askJob) Help() string {
	return "Writes CSV with the columns id, smiles, score and error. Fill in score, or error for a molecule without one, " +
		"and hand the file to retort jobs tell.\n\n" +
		"  retort jobs ask job_… > batch.csv\n" +
		"  retort jobs tell job_… batch.csv"
}

func (c askJob) Run(p *Process, s *client.Service) error {
	candidates, status, err := s.Candidates(p.Context, c.ID)
	if err != nil {
		return err
	}
	if len(candidates) == 0 {
		p.report("no molecule waits for a score; the job is %s", status)
	}
	rows := csv.NewWriter(p.Stdout)
	_ = rows.Write(toldColumns) // Error returns the error
	for _, candidate := range candidates {
		_ = rows.Write([]string{candidate.ID, candidate.SMILES, "", ""})
	}
	rows.Flush()
	return rows.Error()
}

type tellJob struct {
	jobFlags `embed:""`

	Scores string `arg:"" help:"CSV file with the columns id, score and, for molecules without a score, error; rows with neither are left out. - is standard input."`
}

func (c tellJob) Run(p *Process, s *client.Service) error {
	text, err := readAll(p, c.Scores)
	if err != nil {
		return err
	}
	scores, err := parseScores(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Scores, err)
	}
	answer, err := s.Tell(p.Context, c.ID, scores)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s\n", answer)
	return err
}

// parseScores reads CSV with some of toldColumns, in any order. Other columns are ignored.
func parseScores(text string) (scores []client.Score, err error) {
	rows := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("the line with the names of the columns: %w", err)
	}
	at := map[string]int{}
	for i, name := range header {
		at[strings.TrimSpace(name)] = i
	}
	for _, name := range []string{"id", "score"} {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("there is no column %s", name)
		}
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return scores, nil
		}
		if err != nil {
			return nil, err
		}
		column := func(name string) string {
			if i, ok := at[name]; ok {
				return strings.TrimSpace(row[i])
			}
			return ""
		}
		score := client.Score{ID: column("id"), SMILES: column("smiles"), Error: column("error")}
		if value := column("score"); value != "" {
			number, err := strconv.ParseFloat(value, 64)
			if err != nil {
				line, _ := rows.FieldPos(at["score"])
				return nil, fmt.Errorf("line %d: the score %q is not a number; a failure has its reason in the column error",
					line, value)
			}
			score.Score = &number
		}
		if score.Score != nil || score.Error != "" {
			scores = append(scores, score)
		}
	}
}

type evaluatedJob struct {
	jobFlags `embed:""`

	Format string `short:"f" enum:"csv,json" default:"csv" env:"-" help:"csv or json. The list in the JSON is what the member known of /generate takes."`
}

func (c evaluatedJob) Run(p *Process, s *client.Service) error {
	text, err := s.Evaluated(p.Context, c.ID, c.Format)
	if err != nil {
		return err
	}
	_, err = p.Stdout.Write(text)
	return err
}

// readAll reads a file, or standard input for -.
func readAll(p *Process, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(p.Stdin)
	}
	return os.ReadFile(file)
}
