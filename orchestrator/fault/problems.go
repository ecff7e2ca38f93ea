package fault

// MaxProblems is how many problems of one request are reported: a body with a million wrong values gets a short answer,
// and costs no memory for the rest.
const MaxProblems = 20

// Problems collects what is wrong with one request, the first MaxProblems of it. The zero value is ready for use.
type Problems struct{ found []*Error }

// Add records problems; nils, which are rules that were kept, are left out.
func (p *Problems) Add(problems ...*Error) {
	for _, problem := range problems {
		if problem != nil && !p.Full() {
			p.found = append(p.found, problem)
		}
	}
}

// AddEach checks n rows in order and stops when no more problems are recorded.
func (p *Problems) AddEach(n int, check func(i int) *Error) {
	for i := 0; i < n && !p.Full(); i++ {
		p.Add(check(i))
	}
}

// Full reports whether no more problems are recorded.
func (p *Problems) Full() bool { return len(p.found) >= MaxProblems }

// Len is the number of recorded problems.
func (p *Problems) Len() int { return len(p.found) }

// Err returns the recorded problems as one error (see Join), nil when there are none.
func (p *Problems) Err() error { return Join(p.found...) }
