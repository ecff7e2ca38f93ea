package command

import (
	"errors"
	"os"

	"retort/orchestrator/client"
)

// service is what a command asks.
type service = *client.Service

// overService runs a job of rows that a running service answers: fill says how. molecule is the field of the records
// that an SDF draws, "" where they have none.
func overService(p *Process, in Input, out Output, at Service, k kind, arguments []string, molecule string, fill func(*job, service)) error {
	s, err := at.service(p)
	if err != nil {
		return err
	}
	return overRows(p, in, out, k, arguments, molecule, func(j *job) { fill(j, s) })
}

// overRows runs a job of rows.
func overRows(p *Process, in Input, out Output, k kind, arguments []string, molecule string, fill func(*job)) (err error) {
	from, err := in.from(p, k, arguments)
	if err != nil {
		return err
	}
	if from.file != "" && from.file != "-" { // before the output is made
		if _, err := os.Stat(from.file); err != nil {
			return err
		}
	}
	to, err := out.open(p, molecule)
	if err != nil {
		return err
	}
	j := &job{process: p, source: from, sink: to, size: 32, atOnce: 4, chem: k.what == molecules.what}
	fill(j)
	err = j.run()
	if closing := to.close(); closing != nil {
		err = errors.Join(err, closing)
	}
	return err
}

// column are the texts of some rows.
func column(rows []Row) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.Text
	}
	return all
}
